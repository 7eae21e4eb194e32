# SPDX-License-Identifier: Apache-2.0
"""Seeded faults: kernels with one fault each, what a run says about it, and the codes that the sources hold.

NAME.npu has the fault, NAME.clean.npu is the same without it, NAME.txt is what a run says. Both kernels begin with a
comment `; run: OPTIONS`; the level is full unless the options give another.
"""

from __future__ import annotations

import json
import re
import shlex
import subprocess
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from support import BUILD, ROOT, shipped

FOLDER = Path(__file__).resolve().parent
CLEAN = ".clean"
FAULTS = sorted(path.stem for path in FOLDER.glob("*.npu") if not path.stem.endswith(CLEAN))
LEVELS = ("off", "fast", "full")
MOST_ITEMS = 12  # of one run, in a golden

# Codes that no kernel can bring about, and why.
UNREACHABLE = {
    "memory-error-response": "only a memory model of the user's own answers with an error (tests/simulator)",
    "no-multicast": "the assembler knows the path and refuses `cores=` on it, with the same code",
}

# Where a run finds or refuses something; the second pattern looks at files whose refusals pass their code on.
SOURCES = shipped("sim/simulation.cpp", "sim/core/*.cpp", "sim/systemc/*.cpp", "sim/values/*.cpp")
CODE = r'"([a-z0-9]+(?:-[a-z0-9]+)*)"'
FINDING = re.compile(rf'Severity::\w+,\s*(?:[\w.]+ \? "([a-z-]+)"\s*: )?{CODE}|\{{"warning", {CODE}')
REFUSAL = re.compile(rf"(?:Category::(?:verdict|stall),|\bgive_up\()\s*{CODE}")
PASSED_ON = re.compile(r"Category::verdict,\s*code\b")
REFUSED = re.compile(rf"\brefuse\(\s*{CODE}")


def found_in(pattern: re.Pattern[str], text: str) -> set[str]:
    return {code for match in pattern.finditer(text) for code in match.groups() if code}


def codes_in(text: str) -> tuple[set[str], set[str]]:
    """Codes of findings, and of refusals and stalls, that a source can give."""
    refusals = found_in(REFUSAL, text)
    if PASSED_ON.search(text):
        refusals |= found_in(REFUSED, text)
    return found_in(FINDING, text), refusals


@cache
def source_codes() -> tuple[frozenset[str], frozenset[str]]:
    each = [codes_in((ROOT / path).read_text(encoding="utf-8")) for path in SOURCES]
    return frozenset().union(*(one for one, _ in each)), frozenset().union(*(other for _, other in each))


@dataclass(frozen=True)
class Told:
    """What a run said: its exit status, and its findings or refusal, each as `severity[code] place` and message."""

    status: int
    items: tuple[tuple[str, str], ...]

    def codes(self) -> set[str]:
        return {re.search(r"\[(.+?)\]", head)[1] for head, _ in self.items}  # type: ignore[index]

    def text(self) -> str:
        """All of it, or what it begins and ends with."""
        lines = [f"{head.strip()}\n    {message}\n" for head, message in self.items]
        if len(lines) > MOST_ITEMS:
            lines[MOST_ITEMS // 2 : -1] = [f"… {len(lines) - MOST_ITEMS // 2 - 1} more …\n"]
        return "".join([f"exit status {self.status}\n", *lines])


def stable(message: str) -> str:
    """A message without what a change of timing moves."""
    return re.sub(r"\bcycle \d+", "cycle N", message)


def options_of(kernel: str) -> list[str]:
    match = re.search(r"^; run: (.+)$", (FOLDER / f"{kernel}.npu").read_text(encoding="utf-8"), re.MULTILINE)
    assert match, f"{kernel}.npu does not say how it is run"
    return shlex.split(match[1])


@cache
def told(kernel: str, level: str = "full", *options: str) -> Told:
    words: list[str | Path] = [BUILD / "npulab", "run", f"{kernel}.npu", *options_of(kernel), "--json", "-"]
    result = subprocess.run(
        [*words, f"--sanitize={level}", *options], cwd=FOLDER, capture_output=True, text=True, check=False, timeout=60
    )
    report: dict[str, Any] = json.loads(result.stdout) if result.stdout else {}
    if report.get("ended"):
        findings = report["diagnostics"]
        return Told(
            result.returncode,
            tuple(
                (
                    f"{one['severity']}[{one['code']}] {one['where']}"
                    + (f" ({one['count']} times)" if one["count"] > 1 else ""),
                    stable(one["message"]),
                )
                for one in findings
            ),
        )
    refusal = re.fullmatch(r"npulab: (\w+\[[a-z0-9-]+\]): (\S+:\d+): (.+)\n", result.stderr, re.DOTALL)
    assert refusal, f"{kernel}.npu: exit status {result.returncode}\n{result.stderr}"
    return Told(result.returncode, ((f"{refusal[1]} {refusal[2]}", stable(refusal[3].replace("\n", "\n    "))),))


def golden(fault: str) -> str:
    return (FOLDER / f"{fault}.txt").read_text(encoding="utf-8")
