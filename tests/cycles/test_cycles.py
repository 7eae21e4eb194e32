# SPDX-License-Identifier: Apache-2.0
"""The gate on simulated cycles: exact, and red when one figure of one case moves (field case TR-10)."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

from support import BUILD, ROOT

SUITE = ROOT / "tests/cycles/suite.yaml"
BASELINE = ROOT / "tests/cycles/baseline.json"


def bench(baseline: Path) -> subprocess.CompletedProcess[str]:
    command: list[str | Path] = [BUILD / "npulab", "bench", SUITE, "--baseline", baseline]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_cycles_are_those_of_the_baseline() -> None:
    result = bench(BASELINE)
    assert result.returncode == 0, f"{result.stdout}{result.stderr}"


def test_tr_10_one_cycle_turns_the_gate_red(tmp_path: Path) -> None:
    changed = json.loads(BASELINE.read_text(encoding="utf-8"))
    name = next(iter(changed["cases"]))
    changed["cases"][name]["cycles"] += 1
    (tmp_path / "baseline.json").write_text(json.dumps(changed), encoding="utf-8")
    result = bench(tmp_path / "baseline.json")
    assert result.returncode == 1
    assert name in result.stderr
