# SPDX-License-Identifier: Apache-2.0
"""Projects outside the tree: npulab is installed, found with find_package, linked and run."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from support import BUILD, ROOT, run_program, shipped

PROJECTS = [path.parent for path in shipped("tests/consumer/CMakeLists.txt", "examples/*/CMakeLists.txt")]


def call(*words: str | Path) -> str:
    result = subprocess.run(words, capture_output=True, text=True, check=False)
    assert result.returncode == 0, f"{' '.join(map(str, words))}\n{result.stdout}{result.stderr}"
    return result.stdout


@pytest.fixture(scope="module")
def prefix(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("prefix")
    for component in ("development", "data", "program"):
        call("cmake", "--install", BUILD, "--prefix", folder, "--component", component)
    return folder


@pytest.mark.parametrize("project", PROJECTS, ids=str)
def test_project_builds_and_its_tests_pass(project: Path, prefix: Path, tmp_path: Path) -> None:
    """Such a project declares with add_test what is to be run."""
    call("cmake", "-S", ROOT / project, "-B", tmp_path, "-G", "Ninja", f"-DCMAKE_PREFIX_PATH={prefix}",
         "-DCMAKE_BUILD_TYPE=Release")  # fmt: skip
    call("cmake", "--build", tmp_path, "-j", str(os.cpu_count()))
    output = call("ctest", "--test-dir", tmp_path, "--output-on-failure", "--no-tests=error")
    assert "100% tests passed" in output


def test_installed_program_finds_its_data(prefix: Path, tmp_path: Path) -> None:
    listing = run_program("machine", "list", program=prefix / "bin/npulab", cwd=tmp_path)
    machines = {path.stem for path in shipped("configs/*.yaml")}
    assert machines, "no machine is shipped"
    assert {name for name in machines if name in listing} == machines
