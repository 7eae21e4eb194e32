# SPDX-License-Identifier: Apache-2.0
"""Small kernels, as text, that the tests share."""

from __future__ import annotations

import pytest

TWICE = """
.kernel twice
.doc "y = x + x on one core."
.param N = 8 in 0..512 "elements"
.tensor x f16 [N] in
.tensor y f16 [N] out
.buffer t ub align(2 * max(N, 1), OPBYTES)
        core_id s0
        bne s0, 0, done
.if N > 0
        copy t[], x[], 2 * N {pad_to=align(2 * N, OPBYTES)}
        set_flag mte2, vector, 0
        wait_flag mte2, vector, 0
        mov s1, 0
        loop ceildiv(2 * N, OPBYTES)
          vld.f16 v0, t[s1]
          vadd.f16 v0, v0, v0
          vst.f16 t[s1], v0 {inc=OPBYTES}
        endloop
        set_flag vector, mte3, 0
        wait_flag vector, mte3, 0
        copy y[], t[], 2 * N
.endif
done:   end
"""

PASS_ON = """
.kernel pass_on
.param N = 6 in 1..512
.tensor x TYPE [N] in
.tensor y TYPE [N] out
.buffer t ub align(ceildiv(N * bits(TYPE), 8), 8)
        core_id s0
        bne s0, 0, done
        copy t[], x[], ceildiv(N * bits(TYPE), 8)
        set_flag mte2, mte3, 0
        wait_flag mte2, mte3, 0
        copy y[], t[], ceildiv(N * bits(TYPE), 8)
done:   end
"""

ENDLESS = """
.kernel endless
again:  add s1, s1, 1
        jmp again
        end
"""

# On one core of `tiny`: never set, out of bounds, failed by its own word.
STALLS = ".kernel stalls\n        wait_flag mte2, vector, 0\n        end\n"
OUT_OF_BOUNDS = """
.kernel out_of_bounds
.tensor x f16 [4] in
.buffer t ub 64
        copy t[], x[], 64
        end
"""


@pytest.fixture
def twice() -> str:
    return TWICE


@pytest.fixture
def pass_on() -> str:
    """Copies x to y; TYPE stands for the element type."""
    return PASS_ON


@pytest.fixture
def endless() -> str:
    return ENDLESS


@pytest.fixture
def stalls() -> str:
    return STALLS


@pytest.fixture
def out_of_bounds() -> str:
    return OUT_OF_BOUNDS
