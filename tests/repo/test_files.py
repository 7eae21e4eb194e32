# SPDX-License-Identifier: Apache-2.0
"""What holds of every shipped file: licence line, size, nothing left open, no names of package hosts."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from support import ROOT, shipped

SOURCES = shipped("*.cpp", "*.hpp", "*.def", "*.py", "*.sh", "dev", ".ci/run")
LINES_AT_MOST = 600
LEFT_OPEN = re.compile(r"\b(?:TO" r"DO|FIX" r"ME|XX" r"X)\b")
PACKAGE_HOST = re.compile(r"\b(?:deb|security|ftp)\.debian\.org|\barchive\.ubuntu\.com|\bpypi\.org|\bpythonhosted\.org")


def text_of(path: Path) -> str:
    return (ROOT / path).read_text(encoding="utf-8", errors="replace")  # some files are binary


@pytest.mark.parametrize("path", SOURCES, ids=str)
def test_source_begins_with_licence_and_is_short(path: Path) -> None:
    lines = text_of(path).splitlines()
    first = lines[1] if lines and lines[0].startswith("#!") else lines[0]
    assert re.fullmatch(r"(//|#) SPDX-License-Identifier: Apache-2\.0", first), f"{path}: first line is {first!r}"
    assert len(lines) <= LINES_AT_MOST, f"{path} has {len(lines)} lines: split it"


def test_nothing_is_left_open() -> None:
    found = [f"{path}: {match.group()}" for path in shipped() for match in LEFT_OPEN.finditer(text_of(path))]
    assert not found


def test_no_package_host_is_named() -> None:
    """Mirrors and registries are the business of the machine, not of the repository."""
    found = [f"{path}: {match.group()}" for path in shipped() for match in PACKAGE_HOST.finditer(text_of(path))]
    assert not found


def test_changelog_has_its_headings() -> None:
    changelog = text_of(Path("CHANGELOG.md"))
    version = re.search(r"project\(npulab VERSION ([0-9.]+)", text_of(Path("CMakeLists.txt")))
    assert version
    assert "## [Unreleased]" in changelog or f"## [{version.group(1)}]" in changelog
    assert "### Timing" in changelog
