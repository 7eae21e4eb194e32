# SPDX-License-Identifier: Apache-2.0
"""examples/async_trap: right by luck at one size, wrong at another, found at both; what its page says is what runs say.

NPULAB_UPDATE=1 in the environment writes the figures of the page first.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest
from support import BUILD, ROOT

FOLDER = ROOT / "examples/async_trap"
PAGE = FOLDER / "README.md"
LUCKY, UNLUCKY = (256, 16), (512, 64)  # M, N
SIZES = [LUCKY, UNLUCKY, (192, 64), (64, 16)]


@dataclass(frozen=True)
class Outcome:
    status: int
    cycles: int
    elements: int
    mismatches: int
    findings: tuple[str, ...]


@cache
def run(kernel: str, size: tuple[int, int], level: str = "full") -> Outcome:
    m, n = size
    words: list[str | Path] = [
        BUILD / "npulab",
        "run",
        f"{kernel}.npu",
        "--machine",
        "xdna_64x64",
        "-D",
        f"M={m}",
        "-D",
        f"N={n}",
    ]
    words += ["--check", f"--sanitize={level}", "--json", "-"]
    result = subprocess.run(words, cwd=FOLDER, capture_output=True, text=True, check=False)
    assert result.stdout, result.stderr
    report = json.loads(result.stdout)
    findings = tuple(
        f"{one['severity']}[{one['code']}] {one['where']}: {one['message']}" for one in report["diagnostics"]
    )
    return Outcome(result.returncode, report["cycles"], m * n, report["check"]["mismatches"], findings)


def test_the_trap_is_right_by_luck_and_wrong_at_another_size() -> None:
    assert run("trap", LUCKY).mismatches == 0
    assert run("trap", UNLUCKY).mismatches > run("trap", UNLUCKY).elements // 2
    assert run("trap", LUCKY, "fast").status == 0


@pytest.mark.parametrize("size", [LUCKY, UNLUCKY])
def test_the_trap_is_found_at_both_sizes(size: tuple[int, int]) -> None:
    outcome = run("trap", size)
    assert outcome.status == 1
    assert outcome.findings
    assert all(found.startswith("error[race] trap.npu:") for found in outcome.findings)


@pytest.mark.parametrize("size", SIZES)
def test_the_fixed_kernel_is_right_and_silent(size: tuple[int, int]) -> None:
    outcome = run("fixed", size)
    assert (outcome.status, outcome.mismatches, outcome.findings) == (0, 0, ())
    assert outcome.cycles <= run("trap", size).cycles


def test_the_fix_is_what_the_message_asks_for() -> None:
    lines = {
        kernel: (FOLDER / f"{kernel}.npu").read_text(encoding="utf-8").splitlines() for kernel in ("trap", "fixed")
    }
    added = [line for line in lines["fixed"][3:] if line not in lines["trap"]]
    assert added
    assert all(re.search(r"\b(set|wait)_flag matrix, mem_in, ", line) for line in added)


def figures() -> str:
    rows = ["| M | N | wrong elements | cycles | with the flags |", "|---|---|---|---|---|"]
    for size in (LUCKY, UNLUCKY):
        trap, fixed = run("trap", size), run("fixed", size)
        rows.append(
            f"| {size[0]} | {size[1]} | {trap.mismatches:,} of {trap.elements:,} | {trap.cycles:,} | {fixed.cycles:,} |"
        )
    return "\n".join(rows)


def test_the_page_says_what_runs_say() -> None:
    parts = {"said": "```\n" + "\n".join(run("trap", LUCKY).findings) + "\n```", "figures": figures()}
    page = PAGE.read_text(encoding="utf-8")
    expected = page
    for name, text in parts.items():
        head, rest = expected.split(f"<!-- {name}: ", 1)
        mark, rest = rest.split("\n", 1)
        expected = f"{head}<!-- {name}: {mark}\n{text}\n<!-- end -->" + rest.split("<!-- end -->", 1)[1]
    if os.environ.get("NPULAB_UPDATE"):
        PAGE.write_text(expected, encoding="utf-8")
        page = expected
    assert page == expected, "run this test with NPULAB_UPDATE=1"
