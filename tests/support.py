# SPDX-License-Identifier: Apache-2.0
"""What the pytest suites share: the shipped files and the program under test."""

from __future__ import annotations

import os
import re
import subprocess
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
# The build folder under test; ctest sets it.
BUILD = Path(os.environ.get("NPULAB_BUILD", ROOT / "build/dev")).resolve()

# Of nightly comparisons: programs, of which the first is the reference, and how often each is made; 1 is not nightly.
PROGRAMS = [Path(name) for name in os.environ.get("NPULAB_PROGRAMS", str(BUILD / "npulab")).split(":")]
RUNS = int(os.environ.get("NPULAB_RUNS", "1"))


# Sizes with tails, by the kernels' own words for them; a kernel that refuses them runs at its defaults.
SMALL = {"M": 37, "N": 67, "K": 77, "T": 13, "V": 41, "D": 67, "width": 1}
SMALL |= {"H": 3, "heads": 6, "kv_heads": 3, "S": 45, "L": 203, "d": 71, "section": 48}
EVEN = {"norm_act/rope": {"D": 66}}  # a kernel's own, where only even ones are legal
# Inputs that are not free: places in a table, and in a group of columns of which one slot is taken.
INPUTS = {"index": "arange", "places": "zeros"}
# What differs in its type alone, as NAME_f32 beside NAME, ends like this.
TYPED = re.compile(r"(_(f32|f16|bf16|i8|master))+$")


def shipped(*patterns: str) -> list[Path]:
    """Files that git ships or would ship, relative to the root."""
    listing = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", "--", *patterns],
        cwd=ROOT,
        check=True,
        capture_output=True,
        text=True,
    )
    return sorted(Path(name) for name in set(listing.stdout.split("\0")) if name and (ROOT / name).is_file())


def run_program(*arguments: str | Path, program: Path = BUILD / "npulab", **options: object) -> str:
    """Standard output of the program; anything but exit status 0 fails with what it said."""
    result = subprocess.run([program, *arguments], capture_output=True, text=True, check=False, **options)  # type: ignore[call-overload]
    assert result.returncode == 0, f"{program} {' '.join(map(str, arguments))}: {result.returncode}\n{result.stderr}"
    return str(result.stdout)


def kernel_names() -> list[str]:
    return [path.relative_to("kernels").with_suffix("").as_posix() for path in shipped("kernels/*.npu")]


def machine_names() -> list[str]:
    return [path.stem for path in shipped("configs/*.yaml")]


def one_of_each_family(names: list[str]) -> list[str]:
    """Kernels without those that differ from another one in their type alone."""
    return [name for name in names if TYPED.sub("", name) == name or TYPED.sub("", name) not in names]


@cache
def described(kernel: str, section: str, program: Path = BUILD / "npulab") -> list[str]:
    """The lines of a section of `kernel show`."""
    page = run_program("kernel", "show", kernel, program=program)
    match = re.search(rf"^{section}\b.*\n((?:  .*\n)+)", page, re.MULTILINE)
    return [line.strip() for line in match[1].splitlines()] if match else []


def run_words(kernel: str, machine: str, *, small: bool, program: Path = BUILD / "npulab") -> list[str]:
    """The command that runs a kernel with its report to standard output, small or at its own sizes."""
    params = [line.split("=")[0] for line in described(kernel, "parameters", program)]
    tensors = [line.split()[0] for line in described(kernel, "tensors", program)]
    words = ["run", kernel, "--machine", machine, "--json", "-"]
    sizes = {**SMALL, **EVEN.get(kernel, {})} if small else {}
    words += [word for name in params if name in sizes for word in ("-D", f"{name}={sizes[name]}")]
    return words + [word for name in tensors if name in INPUTS for word in ("--in", f"{name}={INPUTS[name]}")]
