# SPDX-License-Identifier: Apache-2.0
"""Every notebook runs from a clean start, and is committed without what running it left."""

from __future__ import annotations

from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient
from support import ROOT, shipped

NOTEBOOKS = shipped("examples/*.ipynb")
SECONDS_PER_CELL = 120


def read(path: Path) -> nbformat.NotebookNode:
    return nbformat.read(ROOT / path, as_version=4)  # type: ignore[no-any-return,no-untyped-call]


def test_there_is_a_notebook() -> None:
    assert NOTEBOOKS


@pytest.mark.parametrize("path", NOTEBOOKS, ids=str)
def test_notebook_is_clean(path: Path) -> None:
    notebook = read(path)
    nbformat.validate(notebook)
    cells = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert cells
    assert [cell for cell in cells if cell.outputs or cell.execution_count is not None] == []


@pytest.mark.filterwarnings("default::DeprecationWarning")
@pytest.mark.parametrize("path", NOTEBOOKS, ids=str)
def test_notebook_runs(path: Path, tmp_path: Path) -> None:
    notebook = read(path)
    resources = {"metadata": {"path": str(tmp_path)}}
    NotebookClient(notebook, timeout=SECONDS_PER_CELL, kernel_name="python3", resources=resources).execute()
    shown = [output for cell in notebook.cells if cell.cell_type == "code" for output in cell.outputs]
    assert [output for output in shown if output.output_type == "stream" and output.name == "stderr"] == []
    assert any("text/html" in output.get("data", {}) for output in shown)
