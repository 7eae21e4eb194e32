# SPDX-License-Identifier: Apache-2.0
"""Every command that README.md and docs/ show works: ./dev commands exist, npulab commands are run."""

from __future__ import annotations

import re
import shlex
import subprocess
from pathlib import Path

import pytest
from support import BUILD, ROOT, shipped

PAGES = shipped("README.md", "CONTRIBUTING.md", "docs/*.md")
FENCE = re.compile(r"^```(?:sh|bash|console|shell)\n(.*?)^```", re.MULTILINE | re.DOTALL)


def commands(start: str) -> list[str]:
    """Command lines that begin with `start`, from the shell blocks; continued lines are joined, comments dropped."""
    found = []
    for page in PAGES:
        for block in FENCE.findall((ROOT / page).read_text(encoding="utf-8")):
            for line in block.replace("\\\n", " ").splitlines():
                words = line.removeprefix("$ ").strip()
                if words.startswith(start):
                    found.append(words)
    return sorted(set(found))


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder that looks like the checkout, so that files which the commands write do not land in it."""
    folder = tmp_path_factory.mktemp("checkout")
    for entry in {path.parts[0] for path in shipped()} - {"build"}:
        (folder / entry).symlink_to(ROOT / entry)
    (folder / "build").mkdir()
    (folder / "build/npulab").symlink_to(BUILD / "npulab")
    return folder


def test_dev_commands_exist() -> None:
    usage = subprocess.run(["./dev", "--help"], cwd=ROOT, check=True, capture_output=True, text=True).stdout
    known = set(re.findall(r"^  ([a-z]+)\b", usage, re.MULTILINE))
    shown = {shlex.split(line, comments=True)[1] for line in commands("./dev ")}
    assert shown, "no page shows ./dev"
    assert shown <= known | {"--help"}


@pytest.mark.parametrize("line", commands("build/npulab "))
def test_npulab_command_runs(line: str, checkout: Path) -> None:
    result = subprocess.run(["sh", "-ec", line], cwd=checkout, capture_output=True, text=True, check=False)
    assert result.returncode == 0, f"{line}\n{result.stdout}{result.stderr}"
