# SPDX-License-Identifier: Apache-2.0
"""docs/checks.md names every code that a run can give, its level as runs show it, and messages as they are.

NPULAB_UPDATE=1 in the environment writes the messages first.
"""

from __future__ import annotations

import os
import re

import pytest
from faults.fault_support import FAULTS, LEVELS, UNREACHABLE, source_codes, told
from support import ROOT

PAGE = ROOT / "docs/checks.md"
TEXT = PAGE.read_text(encoding="utf-8")
ROWS = re.findall(r"^\| \[([a-z0-9-]+)\]\(#([a-z0-9-]+)\) \| ([^|]+) \| ([^|]+) \|$", TEXT, re.MULTILINE)
HEADINGS = re.findall(r"^### (\S+)$", TEXT, re.MULTILINE)
EXAMPLE = re.compile(r"^<!-- (\w+) -->\n```\n(.*?)```$", re.MULTILINE | re.DOTALL)
LEVEL_TEXT = {"off": "always", "fast": "`fast`", "full": "`full`", "some": "`fast` in part, `full`"}
LONGEST_LINE = 118


def section(code: str, text: str) -> str:
    return text.split(f"\n### {code}\n", 1)[1].split("\n### ", 1)[0].split("\n## ", 1)[0]


def example(fault: str, code: str) -> str:
    """What a fault is told as under this code, as a terminal shows it, in lines of the page's width."""
    head, message = next(item for item in told(fault).items if f"[{code}]" in item[0])
    words = f"{head.strip()}: {message}".split("\n")
    lines = []
    for part in words:
        line = ""
        for word in part.split(" "):
            if len(line) + len(word) >= LONGEST_LINE:
                lines.append(line.rstrip())
                line = "    "
            line += word + " "
        lines.append(line.rstrip())
    return "\n".join(lines) + "\n"


def test_page_names_every_code() -> None:
    findings, refusals = source_codes()
    assert [row[0] for row in ROWS] == HEADINGS
    assert all(name == target for name, target, _, _ in ROWS)
    assert len(set(HEADINGS)) == len(HEADINGS)
    assert set(HEADINGS) == findings | refusals


def test_page_tells_findings_from_refusals() -> None:
    findings = source_codes()[0]
    stalls = {code for fault in FAULTS if told(fault).status == 3 for code in told(fault).codes()}
    for code, _, kind, _ in ROWS:
        if code in findings:
            assert kind in {"error", "warning"}, code
        else:
            assert kind == ("a stall, exit status 3" if code in stalls else "a refusal, exit status 1"), code


@pytest.mark.parametrize("code", [code for code in HEADINGS if code not in UNREACHABLE])
def test_example_is_what_a_run_says(code: str) -> None:
    match = EXAMPLE.search(section(code, TEXT))
    assert match, "no example"
    fault, said = match.groups()
    expected = example(fault, code)
    if os.environ.get("NPULAB_UPDATE"):
        page = PAGE.read_text(encoding="utf-8")
        old = section(code, page)
        new = old.replace(f"<!-- {fault} -->\n```\n{said}```", f"<!-- {fault} -->\n```\n{expected}```")
        PAGE.write_text(page.replace(old, new), encoding="utf-8")
        said = expected
    assert said == expected


@pytest.mark.parametrize("code", [row[0] for row in ROWS if row[0] not in UNREACHABLE])
def test_level_and_severity_are_as_runs_show(code: str) -> None:
    match = EXAMPLE.search(section(code, TEXT))
    assert match
    fault = match[1]
    kind, level = next(row[2:] for row in ROWS if row[0] == code)
    head = next(head for head, _ in told(fault).items if f"[{code}]" in head)
    if kind in {"error", "warning"}:
        assert head.startswith(kind)
    if code == "endless-stream":  # takes long; it is a stall like the others
        assert level == LEVEL_TEXT["off"]
        return
    first = next(name for name in LEVELS if code in told(fault, name).codes())
    if code == "race":
        assert "race" not in told("race_hidden", "fast").codes()
        first = "some"
    if code == "more-findings":  # of whatever level the findings are
        first = "off"
    assert level == LEVEL_TEXT[first]


def test_page_is_linked() -> None:
    assert "](docs/checks.md)" in (ROOT / "README.md").read_text(encoding="utf-8")
