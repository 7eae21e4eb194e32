# SPDX-License-Identifier: Apache-2.0
"""What bf16 operands cost the largest product of a GPT-2 step, over all rows: the figures of README.md. Nightly."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from support import PROGRAMS, ROOT, RUNS, run_program

M, N, K = 50304, 256, 768
GENERATORS = {
    "normally distributed": lambda rng, shape: rng.standard_normal(shape),
    "between 0 and 1": lambda rng, shape: rng.random(shape),
}


def as_bf16(values: np.ndarray) -> np.ndarray:
    """Rounded to nearest even; two bytes without a type, as NumPy has none for them."""
    bits = values.astype(np.float32).view(np.uint32)
    return ((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16).astype(np.uint16).view("V2")


@pytest.mark.skipif(RUNS <= 1, reason="a minute of simulation each; nightly runs set NPULAB_RUNS")
@pytest.mark.parametrize("kind", GENERATORS)
def test_mean_error_is_that_of_the_readme(kind: str, tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    a, b = (GENERATORS[kind](rng, shape).astype(np.float32) for shape in ((M, K), (K, N)))
    command: list[str | Path] = ["run", "gemm/systolic", "--machine", "xdna_64x64"]
    command += ["-D", f"M={M}", "-D", f"N={N}", "-D", f"K={K}", "--out", f"C={tmp_path / 'C.npy'}"]
    for name, values in (("A", a), ("B", b)):
        np.save(tmp_path / f"{name}.npy", as_bf16(values))
        command += ["--in", f"{name}={tmp_path / name}.npy"]
    run_program(*command, program=PROGRAMS[0])
    exact = a.astype(np.float64) @ b.astype(np.float64)
    error = np.abs(np.load(tmp_path / "C.npy") - exact).mean() / np.abs(exact).mean()
    [said] = re.findall(rf"([\d.]+) %[^%]*? {kind}", (ROOT / "README.md").read_text(encoding="utf-8"))
    digits = len(said.partition(".")[2])
    assert f"{100 * error:.{digits}f}" == said
