# SPDX-License-Identifier: Apache-2.0
"""The closing line counts what ran, and a suite that did not run is a failure."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from support import ROOT

GOOGLETEST = """<testsuites><testsuite name="A">
<testcase name="Good" status="run" result="completed" classname="A"/>
<testcase name="Bad" status="run" result="completed" classname="A"><failure message="1 != 2"/></testcase>
<testcase name="Off" status="notrun" result="suppressed" classname="A"/>
<testcase name="Left" status="run" result="skipped" classname="A"><skipped message="at&#x0A;no AVX2 here"/></testcase>
</testsuite></testsuites>"""
PYTEST = '<testsuites><testsuite><testcase classname="t" name="good"/></testsuite></testsuites>'


def summary(*arguments: str | Path) -> tuple[int, list[str]]:
    result = subprocess.run(
        [sys.executable, ROOT / "tests/summary.py", *arguments], capture_output=True, text=True, check=False
    )
    return result.returncode, result.stdout.splitlines()


def test_counts_both_forms(tmp_path: Path) -> None:
    (tmp_path / "a.xml").write_text(GOOGLETEST)
    (tmp_path / "b.xml").write_text(PYTEST)
    status, lines = summary("--xml", tmp_path / "a.xml", "--xml", tmp_path / "b.xml")
    assert status == 1
    assert lines[-1] == "2 passed, 1 failed, 2 skipped"
    assert "FAILED  a: A.Bad" in lines
    assert "skipped a: A.Left: no AVX2 here" in lines


@pytest.mark.parametrize("text", [None, "", "<testsuites>", "<testsuites/>"], ids=["none", "empty", "cut", "no tests"])
def test_suite_that_did_not_run_has_failed(text: str | None, tmp_path: Path) -> None:
    if text is not None:
        (tmp_path / "a.xml").write_text(text)
    status, lines = summary("--xml", tmp_path / "a.xml")
    assert status == 1
    assert lines[-1] == "0 passed, 1 failed, 0 skipped"


def test_nothing_at_all_has_failed() -> None:
    assert summary()[0] == 1


def test_part_leaves_the_closing_line_out(tmp_path: Path) -> None:
    (tmp_path / "b.xml").write_text(PYTEST)
    status, lines = summary("--part", "--xml", tmp_path / "b.xml")
    assert status == 0
    assert not [line for line in lines if line.endswith("skipped")][1:]
