# SPDX-License-Identifier: Apache-2.0
"""Every option that a help page lists changes what its command does, and what each one changes is seen here."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from cli.cli_support import TINY, good, npulab, write_copy

COPY = ("copy_f32.npu", *TINY)
RUN = ("run", *COPY)
SUITE = "cases:\n  - {name: one, kernel: copy_f32.npu, machine: tiny}\n"
# Reads what nobody wrote, and says which core it is on.
POISON = (
    ".kernel poison\n.tensor y f32 [2] out\n  core_id s0\n  print s0\n  vld.f32 v0, ub[64]\n  vst.f32 ub[], v0\n"
    "  set_flag vector, mte3, 0\n  wait_flag vector, mte3, 0\n  copy y[], ub[], 8\n  end\n"
)
PRODUCT = ("run", "gemv/vectorized", *TINY, "-D", "M=2", "-D", "K=8")

# Command and option: the call without it, and the words that it takes beside its name.
EFFECTS: dict[tuple[str, str], tuple[tuple[str, ...], tuple[str, ...]]] = {
    ("run", "machine"): (("run", "copy_f32.npu"), ("tiny",)),
    ("run", "set"): (RUN, ("gm.latency_ns=500",)),
    ("run", "param"): (RUN, ("N=64",)),
    ("run", "in"): ((*RUN, "--out", "y=y.npy"), ("x=zeros",)),
    ("run", "out"): (RUN, ("y=y.npy",)),
    ("run", "check"): (PRODUCT, ()),
    ("run", "sanitize"): (("run", "poison.npu", *TINY), ("=off",)),
    ("run", "timing-only"): ((*RUN, "--json", "-"), ()),
    ("run", "cores"): (RUN, ("1",)),
    ("run", "warmup"): (("run", "poison.npu", *TINY), ("1",)),
    ("run", "max-cycles"): (RUN, ("5",)),
    ("run", "json"): (RUN, ("-",)),
    ("run", "save-case"): (RUN, ("case",)),
    ("run", "case"): (("run",), ("saved",)),
    ("run", "progress"): (RUN, ()),
    ("asm", "machine"): (("asm", "copy_f32.npu"), ("edge",)),
    ("asm", "set"): (("asm", *COPY), ("core_types.core.buffers.ub.bytes=32",)),
    ("asm", "param"): (("asm", *COPY), ("N=64",)),
    ("asm", "output"): (("asm", *COPY), ("other.npub",)),
    ("disasm", "machine"): (("disasm", "copy.npub"), ("tiny",)),
    ("disasm", "set"): (("disasm", "copy.npub", *TINY), ("core_types.core.dma.mte3=null",)),
    ("disasm", "output"): (("disasm", "copy.npub", *TINY), ("copy.txt",)),
    ("machine show", "set"): (("machine", "show", "tiny"), ("gm.latency_ns=500",)),
    ("machine show", "json"): (("machine", "show", "tiny"), ()),
    ("machine check", "set"): (("machine", "check", "tiny"), ("gm.channels=0",)),
    ("kernel show", "param"): (("kernel", "show", "gemv/vectorized"), ("M=3",)),
    ("kernel show", "source"): (("kernel", "show", "gemv/vectorized"), ()),
    ("bench", "baseline"): (("bench", "suite.yaml"), ("baseline.json",)),
    ("bench", "update"): (("bench", "suite.yaml", "--baseline", "baseline.json"), ()),
    ("bench", "json"): (("bench", "suite.yaml"), ("-",)),
}
# Seen elsewhere: the help pages by their own tests, speed below.
APART = {"help", "version", "no-block-cache"}


def options_of(page: str) -> list[str]:
    block = page.split("\nOptions:\n")[1].split("\n\n")[0]
    return [name for line in block.splitlines() for name in re.findall(r"^ {2}(?:-\w, | {4})--([a-z-]+)", line)]


def pages(path: tuple[str, ...] = ()) -> Iterator[tuple[str, str]]:
    """The help page of every command, by the words that call it."""
    page = good(*path, "--help")
    yield " ".join(path), page
    if "\nCommands:\n" in page:
        block = page.split("\nCommands:\n")[1].split("\n\n")[0]
        for line in block.splitlines():
            if re.match(r"  [a-z]", line):
                yield from pages((*path, line.split()[0]))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write_copy(tmp_path)
    (tmp_path / "poison.npu").write_text(POISON, encoding="utf-8")
    (tmp_path / "suite.yaml").write_text(SUITE, encoding="utf-8")
    (tmp_path / "baseline.json").write_text(good("bench", tmp_path / "suite.yaml", "--json", "-"), encoding="utf-8")
    changed = (tmp_path / "baseline.json").read_text(encoding="utf-8")
    (tmp_path / "baseline.json").write_text(re.sub(r'("cycles": )\d', r"\g<1>9", changed), encoding="utf-8")
    good("asm", tmp_path / "copy_f32.npu", *TINY, "-o", tmp_path / "copy.npub")
    good("run", tmp_path / "copy_f32.npu", *TINY, "--save-case", tmp_path / "saved")
    return tmp_path


def seen(folder: Path, *words: str) -> tuple[int, str, str, dict[str, bytes]]:
    """What a call says, prints and writes, without wall-clock figures and without the words that it was given."""
    before = {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    result = npulab(*words, cwd=folder)
    after = {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    written = {name: content for name, content in after.items() if before.get(name) != content}
    out = re.sub(r'simulated in .*|"seconds": .*|^ *npulab run .*|"command": .*', "", result.out, flags=re.MULTILINE)
    return result.status, out, result.err, written


def test_cf_16_every_option_has_its_effect_here() -> None:
    listed = {(command, name) for command, page in pages() for name in options_of(page) if name not in APART}
    assert listed == set(EFFECTS), "an option without a row in EFFECTS, or a row without an option"


@pytest.mark.parametrize(("command", "option"), EFFECTS, ids="-".join)
def test_cf_16_an_option_changes_what_its_command_does(command: str, option: str, folder: Path) -> None:
    base, values = EFFECTS[command, option]
    assert " ".join(base).startswith(command)
    joined = values and values[0].startswith("=")
    more = (f"--{option}{values[0]}",) if joined else (f"--{option}", *values)
    without, with_it = seen(folder, *base), seen(folder, *base, *more)
    assert "unknown-option" not in with_it[2]
    assert with_it != without


def test_cf_16_the_block_cache_is_faster(tmp_path: Path) -> None:
    kernel = tmp_path / "loop.npu"
    kernel.write_text(
        ".kernel loop\n  loop 1000000\n  vdup.f32 v0, 1\n  vadd.f32 v1, v0, v0\n  vadd.f32 v2, v1, v1\n"
        "  vmul.f32 v3, v1, v1\n  endloop\n  end\n",
        encoding="utf-8",
    )
    words = ("run", kernel, *TINY, "--cores", "1", "--timing-only", "--json", "-")
    fast, slow = (json.loads(good(*words, *more)) for more in ((), ("--no-block-cache",)))
    assert fast["cycles"] == slow["cycles"]
    assert 2 * fast["host"]["seconds"] < slow["host"]["seconds"]
