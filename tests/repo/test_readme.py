# SPDX-License-Identifier: Apache-2.0
"""Every command that README.md and docs/ show works: ./dev commands exist, npulab commands are run."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
from pathlib import Path

import pytest
from support import BUILD, ROOT, shipped

PAGES = shipped("README.md", "CONTRIBUTING.md", "docs/*.md")
FENCE = re.compile(r"^```(?:sh|bash|console|shell)\n(.*?)^```", re.MULTILINE | re.DOTALL)


def commands(start: str) -> list[str]:
    """Command lines that begin with `start`, from the shell blocks; continued lines are joined, comments dropped."""
    found = []
    for page in PAGES:
        for block in FENCE.findall((ROOT / page).read_text(encoding="utf-8")):
            for line in block.replace("\\\n", " ").splitlines():
                words = line.removeprefix("$ ").strip()
                if words.startswith(start):
                    found.append(words)
    return sorted(set(found))


def readme() -> str:
    return (ROOT / "README.md").read_text(encoding="utf-8")


def tutorial() -> str:
    """The kernel that the tutorial has its reader write."""
    [kernel] = re.findall(r"^```\n(\.kernel add\n.*?)^```", readme(), re.MULTILINE | re.DOTALL)
    return str(kernel)


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder that looks like the checkout, so that files which the commands write do not land in it."""
    folder = tmp_path_factory.mktemp("checkout")
    for entry in {path.parts[0] for path in shipped()} - {"build"}:
        (folder / entry).symlink_to(ROOT / entry)
    (folder / "build").mkdir()
    (folder / "build/npulab").symlink_to(BUILD / "npulab")
    (folder / "add.npu").write_text(tutorial(), encoding="utf-8")
    return folder


def test_dev_commands_exist() -> None:
    usage = subprocess.run(["./dev", "--help"], cwd=ROOT, check=True, capture_output=True, text=True).stdout
    known = set(re.findall(r"^  ([a-z]+)\b", usage, re.MULTILINE))
    shown = {shlex.split(line, comments=True)[1] for line in commands("./dev ")}
    assert shown, "no page shows ./dev"
    assert shown <= known | {"--help"}


@pytest.mark.parametrize("line", commands("build/npulab "))
def test_npulab_command_runs(line: str, checkout: Path) -> None:
    result = subprocess.run(["sh", "-ec", line], cwd=checkout, capture_output=True, text=True, check=False)
    assert result.returncode == 0, f"{line}\n{result.stdout}{result.stderr}"


def run_tutorial(checkout: Path, kernel: str) -> subprocess.CompletedProcess[str]:
    assert kernel != tutorial()
    (checkout / "broken").mkdir(exist_ok=True)
    (checkout / "broken/add.npu").write_text(kernel, encoding="utf-8")
    command = ["../build/npulab", "run", "add.npu", "--machine", "tiny"]
    return subprocess.run(command, cwd=checkout / "broken", capture_output=True, text=True, check=False)


@pytest.mark.parametrize(("without", "status"), [("wait_flag mte2, vector, 0", 1), ("set_flag mte2, vector, 0", 3)])
def test_tutorial_breaks_as_it_says(without: str, status: int, checkout: Path) -> None:
    result = run_tutorial(checkout, tutorial().replace(without, "nop", 1))
    assert result.returncode == status
    said = [line for line in (result.stdout + result.stderr).splitlines() if re.search(r"add\.npu:\d+:", line)]
    assert said
    for line in said:
        assert line.strip() in readme()


def test_tutorial_cycles(checkout: Path) -> None:
    command = ["build/npulab", "run", "add.npu", "--machine", "tiny", "--json", "-"]
    result = subprocess.run(command, cwd=checkout, capture_output=True, text=True, check=True)
    assert f"\n{json.loads(result.stdout)['cycles']} cycles, and the report" in readme()


def test_ladder_is_that_of_the_cycle_gate() -> None:
    cases = json.loads((ROOT / "tests/cycles/baseline.json").read_text(encoding="utf-8"))["cases"]
    rows = re.findall(r"^\| `gemv/(\w+)`[^|]*\| ([\d,]+) \| ([\d.]+) \|", readme(), re.MULTILINE)
    assert len(rows) == 6
    for kernel, cycles, microseconds in rows:
        case = cases[f"{kernel.replace('_', '-')}-4096"]
        assert case["cycles"] == int(cycles.replace(",", ""))
        assert round(case["time_us"], 1) == float(microseconds)


def test_kernel_table_is_that_of_the_cycle_gate() -> None:
    cases = json.loads((ROOT / "tests/cycles/baseline.json").read_text(encoding="utf-8"))["cases"]
    table = readme().partition("<!-- kernels -->")[2].partition("<!-- kernels end -->")[0]
    rows = re.findall(r"^\| `([\w/]+)` \|.*\| `([\w-]+)` \| ([\d,]+) \| (\d+) % \|$", table, re.MULTILINE)
    assert len(rows) == table.count("\n") - 1
    suite = (ROOT / "tests/cycles/suite.yaml").read_text(encoding="utf-8")
    for kernel, name, cycles, share in rows:
        assert f"name: {name}, kernel: {kernel}," in suite
        assert cases[name]["cycles"] == int(cycles.replace(",", ""))
        assert abs(100 * cases[name]["lower_bound_us"] / cases[name]["time_us"] - int(share)) <= 0.51


def hbm_share(case: dict[str, float]) -> float:
    return 100 * (case["gm_read_bytes"] + case["gm_write_bytes"]) / (case["time_us"] * 1.2e6)


def test_units_are_those_of_the_cycle_gate() -> None:
    cases = json.loads((ROOT / "tests/cycles/baseline.json").read_text(encoding="utf-8"))["cases"]
    table = readme().partition("<!-- units -->\n")[2].partition("<!-- units end -->")[0]
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in table.splitlines()]
    assert [row[0] for row in rows] == ["1024", "2048", "4096", "8192"]
    for size, *cells in rows:
        vector, cube, naive = (cases[f"{name}-{size}"] for name in ("pipelined", "gemv-cube", "gemm-naive-column"))
        for case, [cycles, microseconds, share, least] in ((vector, cells[:4]), (cube, cells[4:8])):
            assert cycles == f"{case['cycles']:,}"
            assert microseconds == f"{case['time_us']:.1f}"
            assert share == f"{hbm_share(case):.1f} %"
            assert least == case["limited_by"]
        assert cells[8] == f"{cube['cycles'] / vector['cycles']:.2f}"
        assert cells[9:11] == [f"{naive['cycles']:,}", f"{naive['cycles'] / vector['cycles']:.1f}"]


def test_sentences_on_products_are_those_of_the_cycle_gate() -> None:
    cases = json.loads((ROOT / "tests/cycles/baseline.json").read_text(encoding="utf-8"))["cases"]
    text = " ".join(readme().split())
    moved = {name: (case["gm_read_bytes"] + case["gm_write_bytes"]) / 1e6 for name, case in cases.items()}
    fused, first, second = (f"{name}-4096x1024" for name in ("layernorm-gelu-linear", "layernorm-gelu", "linear"))
    chain = cases[first]["cycles"] + cases[second]["cycles"]
    assert f"{moved[fused]:.1f} MB instead of {moved[first] + moved[second]:.1f} MB" in text
    assert f"{cases[fused]['cycles']:,} cycles instead of {chain:,}" in text
    eight, four, half = (f"gemm-{name}-16x4096" for name in ("w8a16", "w4a16", "f16"))
    assert f"{moved[eight]:.1f} or {moved[four]:.1f} MB instead of {moved[half]:.1f} MB" in text
    took = [f"{cases[name]['cycles']:,}" for name in (eight, four, half)]
    assert f"{took[0]} or {took[1]} cycles instead of {took[2]}" in text
    row, vector = cases["gemm-naive-row-2048"]["cycles"], cases["pipelined-2048"]["cycles"]
    assert f"takes {row:,} cycles, {row / vector:.1f} times" in text
