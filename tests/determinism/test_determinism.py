# SPDX-License-Identifier: Apache-2.0
"""The same command gives the same report and the same tensors: on every compiler, SIMD path, folder and locale.

NPULAB_PROGRAMS names the programs to compare, separated by ':' (the first is the reference); .ci/run builds them.
"""

from __future__ import annotations

import json
import os
import subprocess
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

import pytest
from support import BUILD, ROOT

PROGRAMS = [Path(name) for name in os.environ.get("NPULAB_PROGRAMS", str(BUILD / "npulab")).split(":")]
WALL_CLOCK = "host"  # the section of the report that may differ


@dataclass(frozen=True)
class Case:
    kernel: str
    machine: str
    params: tuple[str, ...]
    inputs: tuple[str, ...]
    output: str

    def arguments(self, out: Path) -> list[str]:
        words = ["run", self.kernel, "--machine", self.machine, "--json", "-", "--out", f"{self.output}={out}"]
        words += [word for param in self.params for word in ("-D", param)]
        return words + [word for tensor in self.inputs for word in ("--in", tensor)]


GEMV_INPUTS = ("A=random:1", "x=random:2")
CASES = {
    "gemv": Case("gemv/register_blocked", "ascend910_opsblas", ("M=256", "K=256"), GEMV_INPUTS, "y"),
    "gemv-tails": Case("gemv/register_blocked", "ascend910_opsblas", ("M=33", "K=77"), GEMV_INPUTS, "y"),
}


@dataclass(frozen=True)
class Variant:
    program: Path = PROGRAMS[0]
    environment: tuple[tuple[str, str], ...] = field(default=())
    folder: Path = ROOT


VARIANTS = {
    "again": Variant(),
    "simd-baseline": Variant(environment=(("NPULAB_SIMD", "baseline"),)),
    "simd-avx2": Variant(environment=(("NPULAB_SIMD", "avx2"),)),
    "other-folder": Variant(folder=Path("/")),
    "other-locale": Variant(environment=(("LC_ALL", "de_DE.UTF-8"), ("LANG", "tr_TR.UTF-8"), ("TZ", "Pacific/Apia"))),
    **{f"program-{path.parent.name}": Variant(program=path) for path in PROGRAMS[1:]},
}


def stable(report: str) -> str:
    """The report without wall-clock figures; numbers stay as they were written, not as they are read."""
    data = json.loads(report, parse_float=str, parse_int=str)
    data.pop(WALL_CLOCK, None)
    return json.dumps(data, indent=1)


def run(case: Case, variant: Variant, out: Path) -> tuple[str, bytes]:
    result = subprocess.run(
        [variant.program, *case.arguments(out)],
        cwd=variant.folder,
        env={**os.environ, **dict(variant.environment)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode == 0, f"{variant}: exit status {result.returncode}\n{result.stderr}"
    return stable(result.stdout), out.read_bytes()


@cache
def reference(name: str, out: Path) -> tuple[str, bytes]:
    return run(CASES[name], Variant(), out)


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("case", CASES)
def test_de_01_de_03_same_report_and_tensors(case: str, variant: str, tmp_path_factory: pytest.TempPathFactory) -> None:
    out = tmp_path_factory.getbasetemp() / f"{case}.npy"
    report, tensor = reference(case, out)
    other_report, other_tensor = run(CASES[case], VARIANTS[variant], out)
    assert other_report == report
    assert other_tensor == tensor
