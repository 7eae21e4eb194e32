# SPDX-License-Identifier: Apache-2.0
"""Formatters, linters and type checks over everything shipped; one test per tool."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from support import ROOT, shipped

TOOLS = Path(sys.executable).parent
PYTHON = shipped("*.py", "*.pyi")
CHECKS: dict[str, list[str | Path]] = {
    "clang-format": [TOOLS / "clang-format", "--dry-run", "-Werror", *shipped("*.cpp", "*.hpp")],
    "ruff": [TOOLS / "ruff", "check", "--no-cache", "--quiet", *PYTHON],
    "ruff-format": [TOOLS / "ruff", "format", "--no-cache", "--check", "--quiet", "--diff", *PYTHON],
    "mypy": [TOOLS / "mypy", "--cache-dir=build/mypy", *PYTHON],
    "shellcheck": ["shellcheck", *shipped("dev", ".ci/run", "*.sh")],
}


@pytest.mark.parametrize("name", CHECKS)
def test_tool_finds_nothing(name: str) -> None:
    result = subprocess.run(CHECKS[name], cwd=ROOT, capture_output=True, text=True, check=False)
    assert result.returncode == 0, f"{result.stdout}{result.stderr}"
