# SPDX-License-Identifier: Apache-2.0
"""The same command gives the same report and the same tensors: on every compiler, SIMD path, folder and locale.

NPULAB_PROGRAMS names the programs to compare, separated by ':' (the first is the reference), NPULAB_RUNS how often each
comparison is made (default 1). .ci/run, tests/determinism/nightly.sh and tests/nightly/debian.sh build the programs.
"""

from __future__ import annotations

import itertools
import json
import os
import subprocess
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

import pytest
from support import PROGRAMS, ROOT, RUNS, described, kernel_names, machine_names, one_of_each_family, run_words

WALL_CLOCK = "host"  # the section of the report that may differ

# One run takes one kernel of each family; what differs in its type alone is for nightly runs.
KERNELS = kernel_names() if RUNS > 1 else one_of_each_family(kernel_names())


@dataclass(frozen=True)
class Variant:
    program: Path = PROGRAMS[0]
    simd: str = ""
    environment: tuple[tuple[str, str], ...] = field(default=())
    folder: Path = ROOT


VARIANTS = {
    "again": Variant(),
    "other-folder": Variant(folder=Path("/")),
    "other-locale": Variant(environment=(("LC_ALL", "de_DE.UTF-8"), ("LANG", "tr_TR.UTF-8"), ("TZ", "Pacific/Apia"))),
    **{
        f"{simd}-{path.parent.name}": Variant(program=path, simd=simd)
        for path in PROGRAMS
        for simd in ("baseline", "avx2")
        if RUNS > 1 or simd == "avx2" or path == PROGRAMS[0]  # the slow builds once, but for nightly runs
    },
}


def execute(arguments: list[str], variant: Variant) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, **dict(variant.environment)}
    if variant.simd:
        environment["NPULAB_SIMD"] = variant.simd
    command: list[str | Path] = [variant.program, *arguments]
    return subprocess.run(command, cwd=variant.folder, env=environment, capture_output=True, text=True, check=False)


@cache
def arguments_of(kernel: str, folder: Path) -> list[str]:
    """The command of a kernel: small if it takes that, on the first machine that takes it; outputs go to `folder`."""
    tensors = [line.split()[:2] for line in described(kernel, "tensors", PROGRAMS[0])]
    outputs = [name for name, direction in tensors if "out" in direction]
    assert outputs, f"{kernel} writes nothing"
    refusals = []
    for small, machine in itertools.product((True, False), machine_names()):
        words = run_words(kernel, machine, small=small, program=PROGRAMS[0])
        words += [word for name in outputs for word in ("--out", f"{name}={folder / name}.npy")]
        result = execute(words, Variant())
        if result.returncode == 0:
            return words
        assert result.returncode == 2, f"{words}: exit status {result.returncode}\n{result.stderr}"
        refusals.append(result.stderr)
    raise AssertionError("".join(refusals))


def stable(report: str) -> str:
    """The report without wall-clock figures; numbers stay as they were written, not as they are read."""
    data = json.loads(report, parse_float=str, parse_int=str)
    data.pop(WALL_CLOCK, None)
    return json.dumps(data, indent=1)


def run(kernel: str, variant: Variant, folder: Path) -> dict[str, str | bytes]:
    """The report and the bytes of every tensor that the kernel wrote."""
    words = arguments_of(kernel, folder)
    for path in folder.iterdir():
        path.unlink()
    result = execute(words, variant)
    assert result.returncode == 0, f"{variant}: exit status {result.returncode}\n{result.stderr}"
    tensors = {path.name: path.read_bytes() for path in sorted(folder.iterdir())}
    assert len(tensors) == words.count("--out")
    return {"report": stable(result.stdout), **tensors}


@cache
def reference(kernel: str, folder: Path) -> dict[str, str | bytes]:
    return run(kernel, Variant(), folder)


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("kernel", [pytest.param(name, marks=pytest.mark.xdist_group(name)) for name in KERNELS])
def test_de_01_de_03_same_report_and_tensors(
    kernel: str, variant: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.getbasetemp() / kernel.replace("/", "-")
    folder.mkdir(exist_ok=True)
    expected = reference(kernel, folder)
    for _ in range(RUNS):
        assert run(kernel, VARIANTS[variant], folder) == expected
