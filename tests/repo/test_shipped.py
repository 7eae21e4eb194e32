# SPDX-License-Identifier: Apache-2.0
"""Every shipped machine and kernel is known by its name, loads and describes itself."""

from __future__ import annotations

from pathlib import Path

import pytest
from support import run_program, shipped

MACHINES = shipped("configs/*.yaml")
KERNELS = shipped("kernels/*.npu")


def kernel_name(path: Path) -> str:
    return path.relative_to("kernels").with_suffix("").as_posix()


@pytest.mark.parametrize("path", MACHINES, ids=str)
def test_machine_is_sound(path: Path) -> None:
    run_program("machine", "check", path.stem)


@pytest.mark.parametrize("path", KERNELS, ids=str)
def test_kernel_describes_itself(path: Path) -> None:
    name = kernel_name(path)
    assert name in run_program("kernel", "show", name)


def test_lists_name_everything_shipped() -> None:
    assert MACHINES
    assert KERNELS
    machines = run_program("machine", "list")
    assert [path.stem for path in MACHINES if path.stem not in machines] == []
    kernels = run_program("kernel", "list")
    assert [kernel_name(path) for path in KERNELS if kernel_name(path) not in kernels] == []
