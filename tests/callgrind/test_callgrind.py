# SPDX-License-Identifier: Apache-2.0
"""Host instructions per simulated instruction, counted by callgrind, stay within 5 % of the baseline.

A case runs twice with different sizes, so that start-up cancels out. Counts depend on the compiler, so baseline.json
keeps one set of them per compiler; under another compiler the figure is shown and gates nothing. After a change that
is meant to be slower or faster: `python tests/callgrind/test_callgrind.py --update`.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import pytest
from support import BUILD

BASELINE = Path(__file__).with_name("baseline.json")
TOLERANCE = 0.05
SIMD = "avx2"  # the path is forced, as the choice by CPUID would differ between hosts

# Constant inputs, so that making them costs next to nothing beside the run.
GEMV = ["run", "gemv/register_blocked", "--machine", "ascend910_opsblas", "--in", "A=const:0.5", "--in", "x=const:0.25"]
SMALL, LARGE = ["-D", "M=256", "-D", "K=512"], ["-D", "M=1024", "-D", "K=512"]
CASES: dict[str, tuple[list[str], list[str], list[str]]] = {
    "gemv": (GEMV, SMALL, LARGE),
    "gemv-timing-only": ([*GEMV, "--timing-only"], SMALL, LARGE),
}


def compiler() -> str:
    """Name, version and flags of the build, as CMake wrote them down."""
    cache = (BUILD / "CMakeCache.txt").read_text(encoding="utf-8")

    def entry(name: str) -> str:
        match = re.search(rf"^{name}:\w+=(.*)$", cache, re.MULTILINE)
        return match.group(1) if match else ""

    program = entry("CMAKE_CXX_COMPILER")
    version = subprocess.run([program, "-dumpfullversion"], capture_output=True, text=True, check=True).stdout.strip()
    flags = entry(f"CMAKE_CXX_FLAGS_{entry('CMAKE_BUILD_TYPE').upper()}")
    return f"{Path(program).name} {version} {flags}".strip()


def counts(arguments: list[str]) -> tuple[int, int]:
    """Host instructions and simulated instructions of one run."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "callgrind.out"
        result = subprocess.run(
            [
                "valgrind",
                "--tool=callgrind",
                f"--callgrind-out-file={out}",
                BUILD / "npulab",
                *arguments,
                "--json",
                "-",
            ],
            env={**os.environ, "NPULAB_SIMD": SIMD},
            capture_output=True,
            text=True,
            check=False,
        )
        assert result.returncode == 0, result.stderr
        total = re.search(r"^(?:totals|summary): (\d+)", out.read_text(encoding="utf-8"), re.MULTILINE)
        assert total, "callgrind wrote no total"
        return int(total.group(1)), int(json.loads(result.stdout)["instructions"])


def host_per_simulated(case: str) -> float:
    arguments, small, large = CASES[case]
    host_small, simulated_small = counts([*arguments, *small])
    host_large, simulated_large = counts([*arguments, *large])
    assert simulated_large > simulated_small
    return (host_large - host_small) / (simulated_large - simulated_small)


@pytest.mark.parametrize("case", CASES)
def test_instructions_per_simulated_instruction(case: str) -> None:
    measured = host_per_simulated(case)
    baseline = json.loads(BASELINE.read_text(encoding="utf-8")).get(compiler(), {}).get(case)
    if baseline is None:
        pytest.skip(f"{measured:.2f} host instructions per simulated one; no baseline for '{compiler()}'")
    assert baseline * (1 - TOLERANCE) <= measured <= baseline * (1 + TOLERANCE), (
        f"{case}: {measured:.2f} host instructions per simulated one, baseline {baseline:.2f}"
    )


def update() -> None:
    data = json.loads(BASELINE.read_text(encoding="utf-8"))
    data[compiler()] = {case: round(host_per_simulated(case), 2) for case in CASES}
    BASELINE.write_text(json.dumps(data, indent=2, sort_keys=True) + "\n", encoding="utf-8")
    print(json.dumps(data[compiler()], indent=2))


if __name__ == "__main__":
    if sys.argv[1:] != ["--update"]:
        sys.exit("usage: test_callgrind.py --update")
    update()
