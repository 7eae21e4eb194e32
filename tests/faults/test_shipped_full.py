# SPDX-License-Identifier: Apache-2.0
"""Every shipped kernel is silent under the full sanitizer on every machine that takes it, at sizes with tails."""

from __future__ import annotations

import json
import subprocess

import pytest
from support import BUILD, kernel_names, machine_names, run_words

# Inputs whose results leave f16: random scales of integer sums.
SMALLER = {name: ["--in", "scale=const:0.001"] for name in ("gemv/int8", "quant/gemm_w8a8")}


def takes(kernel: str, machine: str, *, small: bool) -> bool:
    """Whether the machine takes the kernel; then it is silent."""
    words = [*run_words(kernel, machine, small=small), "--sanitize=full", *SMALLER.get(kernel, [])]
    result = subprocess.run([BUILD / "npulab", *words], capture_output=True, text=True, check=False)
    if result.returncode == 2:
        return False
    assert result.returncode == 0, f"{machine}: {result.stderr}"
    assert json.loads(result.stdout)["diagnostics"] == [], machine
    return True


@pytest.mark.parametrize("kernel", kernel_names())
def test_shipped_kernel_is_silent_on_every_machine(kernel: str) -> None:
    ran = [
        machine for machine in machine_names() if any(takes(kernel, machine, small=small) for small in (True, False))
    ]
    assert ran, f"no machine takes {kernel}"
