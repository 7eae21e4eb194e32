# SPDX-License-Identifier: Apache-2.0
"""The program as it is built for users leaks nothing and reads nothing that it has not written, however a run ends.

Memory that is merely reachable at the end belongs to the pools of SystemC. The unit tests run under AddressSanitizer
and UndefinedBehaviorSanitizer besides.
"""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from support import BUILD

BAD = 99  # exit status of valgrind when it found something
TINY = ("--machine", "tiny")
STALL = ".kernel stall\n  wait_flag mte2, mte3, 0\n  end\n"
OUTSIDE = ".kernel outside\n  mov s1, -1\n  lds.u8 s0, ub[s1]\n  end\n"
CASES: dict[str, tuple[str, tuple[str, ...], int]] = {
    "values": ("gemv/pipelined", ("-D", "Bm=2", "-D", "M=9", "-D", "K=50", "--check", "--warmup", "1"), 0),
    "matrix": ("gemm/systolic_f32", ("-D", "M=9", "-D", "N=10", "-D", "K=11", "--check"), 0),
    "timing": ("gemv/pipelined", ("-D", "Bm=2", "-D", "M=9", "-D", "K=50", "--timing-only"), 0),
    "refusal": ("gemv/pipelined", ("-D", "Bm=99999"), 2),
    "verdict": (OUTSIDE, (), 1),
    "stall": (STALL, (), 3),
}


@pytest.mark.parametrize("case", CASES)
def test_bf_15_no_leak_and_no_bad_access(case: str, tmp_path: Path) -> None:
    kernel, options, status = CASES[case]
    if kernel.startswith("."):
        (tmp_path / "k.npu").write_text(kernel, encoding="utf-8")
        kernel = str(tmp_path / "k.npu")
    kinds = ("--show-leak-kinds=definite", "--errors-for-leak-kinds=definite")
    checks = ("--leak-check=full", *kinds, f"--error-exitcode={BAD}")
    result = subprocess.run(
        ["valgrind", "-q", *checks, BUILD / "npulab", "run", kernel, *TINY, *options],
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode == status, result.stderr
    assert "==" not in result.stderr
