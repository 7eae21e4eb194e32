# SPDX-License-Identifier: Apache-2.0
"""Faults that users of other tools met, tried on whole runs of the program; docs/field_cases.md lists them by id."""

from __future__ import annotations

import itertools
import json
import os
import re
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from cli.cli_support import PROGRAM, TINY, good, npulab, on_terminal, refused, write_copy
from support import shipped

GEMV = ("run", "gemv/pipelined", *TINY, "-D", "Bm=2", "-D", "M=9", "-D", "K=50")
CORE = "core_types.core"


def settings(*given: str) -> list[str]:
    return [word for setting in given for word in ("--set", setting)]


def report(*words: str | Path) -> dict[str, Any]:
    data = json.loads(good(*words, "--json", "-"))
    assert isinstance(data, dict)
    return data


@pytest.mark.parametrize("sizes", [sizes for sizes in itertools.product((0, 3), (0, 5), (0, 7)) if 0 in sizes])
def test_sh_08_every_combination_of_empty_dimensions(sizes: tuple[int, int, int], tmp_path: Path) -> None:
    m, n, k = sizes
    path = tmp_path / "c.npy"
    words = ("run", "gemm/double_buffered", "-D", f"M={m}", "-D", f"N={n}", "-D", f"K={k}")
    data = report(*words, "--check", "--out", f"C={path}")
    assert data["check"]["passed"]
    assert data["memory"]["gm"]["read_bytes"] == 0
    result = np.load(path)
    assert result.shape == (m, n)
    assert not result.any()
    if m * n == 0:
        assert data["cycles"] < 50


@pytest.mark.parametrize("bits", [32, 64, 128, 2048])
def test_bf_04_registers_of_any_width(bits: int) -> None:
    width = settings(f"{CORE}.vector.register_bits={bits}", f"{CORE}.vector.operation_bits={bits}")
    assert report(*GEMV, *width, *settings(f"{CORE}.buffers.ub.bytes=65536"), "--check")["check"]["passed"]


def test_bf_04_buffers_halved_until_no_tile_fits() -> None:
    cycles = []
    for power in range(20, -1, -1):
        words = (*GEMV, *settings(f"{CORE}.buffers.ub.bytes={2**power}"))
        result = npulab(*words, "--check", "--json", "-")
        if result.status != 0:
            break
        data = json.loads(result.out)
        assert data["check"]["passed"]
        cycles.append(data["cycles"])
    assert len(cycles) > 5
    assert re.search(rf"do not fit ub, {2**power} bytes", refused(*words))


def test_bf_05_an_overflow_among_ten_kernels_says_which_and_by_how_much(tmp_path: Path) -> None:
    for i in range(10):
        size = 5000 if i == 6 else 100
        text = f".kernel k{i}\n.buffer first ub 16\n.buffer tile ub {size}\n        end\n"
        (tmp_path / f"k{i}.npu").write_text(text, encoding="utf-8")
    suite = tmp_path / "suite.yaml"
    cases = "".join(f"  - {{name: case{i}, kernel: k{i}.npu, machine: tiny}}\n" for i in range(10))
    suite.write_text("cases:\n" + cases, encoding="utf-8")
    message = refused("bench", suite)
    assert "case case6: " in message
    assert "k6.npu:3:" in message
    assert "the buffers in 'ub' need 5016 bytes, machine 'tiny' has 4096" in message
    assert "first at 0 (16 bytes), tile at 16 (5000 bytes)" in message


@pytest.mark.parametrize(("rows", "columns"), [(1, 1), (4, 4), (3, 5), (64, 64), (128, 32)])
def test_sy_18_arrays_of_any_size_end(rows: int, columns: int) -> None:
    array = settings(f"{CORE}.matrix.rows={rows}", f"{CORE}.matrix.columns={columns}")
    sizes = ("-D", "M=130", "-D", "N=70", "-D", "K=40")
    data = report("run", "gemm/systolic", "--machine", "xdna_64x64", *array, *sizes, "--check")
    assert data["check"]["passed"]
    assert data["cycles"] >= 130 * 70 * 40 / (rows * columns)


@pytest.mark.parametrize("latency", [2, 60])
def test_sy_22_the_later_write_of_a_register_wins(latency: int, tmp_path: Path) -> None:
    """Registers are interlocked: what overwrites a register waits for the load that is on its way to it."""
    kernel = tmp_path / "twice.npu"
    kernel.write_text(
        ".kernel twice\n.tensor y f32 [2] out\n        core_id s0\n        bne s0, 0, done\n"
        "        vdup.f32 v0, 1\n        vst.f32 ub[], v0\n"
        "        vld.f32 v5, ub[]\n        vdup.f32 v5, 3\n        vst.f32 ub[8], v5\n"
        "        set_flag vector, mte3, 0\n        wait_flag vector, mte3, 0\n"
        "        copy y[], ub[8], 8\ndone:   end\n",
        encoding="utf-8",
    )
    path = tmp_path / "y.npy"
    slow = settings(f"{CORE}.vector.latency.load={latency}")
    data = report("run", kernel, *TINY, "--out", f"y={path}", *slow)
    assert (np.load(path) == 3).all()
    assert data["diagnostics"] == []
    assert data["engines"]["vector"]["stall_cycles"].get("dependency", 0) >= latency - 2


def test_tm_06_a_larger_buffer_never_moves_more_and_the_tile_is_named() -> None:
    traffic = []
    for kib in (64, 128, 256, 512, 1024):
        size = settings(f"{CORE}.buffers.l1.bytes={kib * 1024}")
        words = ("run", "gemm/systolic", "--machine", "xdna_64x64", "-D", "M=192", "-D", "N=256", "-D", "K=512")
        data = report(*words, "--timing-only", *size)
        assert "tile_k" in data["params"]
        traffic.append(data["memory"]["gm"]["read_bytes"])
    assert traffic == sorted(traffic, reverse=True)
    assert traffic[0] > traffic[-1] >= 2 * (192 * 512 + 512 * 256)


def integers(data: Any) -> list[int]:
    if isinstance(data, dict):
        return [one for value in data.values() for one in integers(value)]
    if isinstance(data, list):
        return [one for value in data for one in integers(value)]
    return [data] if isinstance(data, int) else []


def test_tm_14_counts_of_a_small_run_are_small_and_never_negative(tmp_path: Path) -> None:
    for words in ((*GEMV,), ("run", write_copy(tmp_path), *TINY, "-D", "N=0")):
        data = report(*words)
        for section in ("engines", "memory", "hot_spots", "cycles", "instructions", "flops"):
            assert all(0 <= count < 10**7 for count in integers(data[section])), section


def test_de_06_what_watches_a_run_does_not_change_it(tmp_path: Path) -> None:
    def figures(*more: str | Path) -> dict[str, Any]:
        path = tmp_path / "report.json"
        assert npulab(*GEMV, *more, "--json", path).status == 0
        data = json.loads(path.read_text(encoding="utf-8"))
        return {key: value for key, value in data.items() if key not in ("host", "options", "check")}

    plain = figures()
    for more in (
        ("--check",),
        ("--progress",),
        ("--sanitize=off",),
        ("--sanitize=fast",),
        ("--no-block-cache",),
        ("--timing-only",),
    ):
        assert figures(*more) == plain, more


@pytest.mark.parametrize("count", [1, 3, 16, 32])
def test_cf_07_any_number_of_cores(count: int) -> None:
    data = report(*GEMV, *settings(f"{CORE}.count={count}"), "--check")
    assert data["cores"] == count
    assert data["check"]["passed"]
    assert f"has {count} of type core" in refused(*GEMV, *settings(f"{CORE}.count={count}"), "--cores", f"{count + 1}")


@pytest.mark.parametrize("machine", [path.stem for path in shipped("configs/*.yaml")])
def test_cf_09_every_shipped_machine_runs(machine: str, tmp_path: Path) -> None:
    kernel = tmp_path / "arithmetic.npu"
    kernel.write_text(
        ".kernel arithmetic\n.tensor y u8 [64] out\n        core_id s0\n        bne s0, 0, done\n"
        "        mov s1, 6\n        mul s1, s1, 7\n        assert s1, 42\ndone:   end\n",
        encoding="utf-8",
    )
    data = report("run", kernel, "--machine", machine, "--sanitize=off")
    assert data["machine"] == machine
    assert data["cycles"] > 0


@pytest.mark.parametrize(("mode", "sum_"), [("inf", np.inf), ("saturate", 65504)])
def test_cf_13_the_machine_asked_for_is_the_one_that_computes(mode: str, sum_: float, tmp_path: Path) -> None:
    kernel, path = tmp_path / "sum.npu", tmp_path / "y.npy"
    kernel.write_text(
        ".kernel sum\n.tensor y f16 [4] out\n        core_id s0\n        bne s0, 0, done\n"
        "        vdup.f16 v0, 65504\n        vadd.f16 v0, v0, v0\n        vst.f16 ub[], v0\n"
        "        set_flag vector, mte3, 0\n        wait_flag vector, mte3, 0\n        copy y[], ub[], 8\ndone:   end\n",
        encoding="utf-8",
    )
    mine = tmp_path / "mine.yaml"
    mine.write_text(f"extends: tiny\nname: mine_{mode}\nnumerics: {{overflow: {mode}}}\n", encoding="utf-8")
    data = report("run", kernel, "--machine", mine, "--out", f"y={path}")
    assert (np.load(path) == sum_).all()
    assert data["machine"] == f"mine_{mode}"
    assert data["overflow_mode"] == mode
    assert data["resolved_machine"]["numerics"]["overflow"] == mode
    assert f"mine_{mode}" in good("run", kernel, "--machine", mine)


# A convolution as a product, on an array far smaller than it: once, watched on a terminal, with little memory.
@pytest.fixture(scope="module")
def long_run() -> str:
    array = settings(f"{CORE}.matrix.rows=8", f"{CORE}.matrix.columns=8")
    sizes = ("-D", "M=392", "-D", "N=512", "-D", "K=6272")
    words = ("run", "gemm/systolic", "--machine", "xdna_64x64", "--timing-only", "--progress", *sizes, *array)
    limits = f"ulimit -v {2 * 1024 * 1024}"  # KiB
    return on_terminal(*words, limits=limits, env={"NO_COLOR": "1"})


def test_tr_06_a_long_product_on_a_small_array_needs_little_memory(long_run: str) -> None:
    found = re.search(r"  ([\d,]+) cycles\r?\n", long_run)
    assert found
    cycles = int(found[1].replace(",", ""))
    assert 392 * 512 * 6272 // 64 <= cycles < 1.1 * 392 * 512 * 6272 / 64


def test_sy_17_a_long_run_says_cycle_share_and_rate(long_run: str) -> None:
    progress = re.findall(r"\r\x1b\[Kcycle (\d+), (\d+\.\d\d) Mcycles/s, (\d+) % of the outputs stored", long_run)
    assert len(progress) > 3
    for column in (0, 2):
        values = [int(line[column]) for line in progress]
        assert values == sorted(values)
        assert values[-1] > values[0]
    assert all(float(rate) > 0 for _, rate, _ in progress)


def test_tr_07_time_and_memory_of_a_small_array_grow_no_faster_than_the_work() -> None:
    array = settings(f"{CORE}.matrix.rows=4", f"{CORE}.matrix.columns=4")
    spent = []
    for m in (1024, 4096):
        words = ("run", "gemm/systolic", "--machine", "xdna_64x64", "--timing-only", *array)
        sizes = ("-D", f"M={m}", "-D", "N=64", "-D", "K=64", "--json", "-")
        with subprocess.Popen([PROGRAM, *words, *sizes], stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout
            data = json.loads(process.stdout.read())
            _, status, usage = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
        assert process.returncode == 0
        spent.append((data["cycles"], usage.ru_utime, usage.ru_maxrss))
    (cycles, seconds, kib), (more_cycles, more_seconds, more_kib) = spent
    assert 3.5 < more_cycles / cycles < 4.5
    assert more_seconds < 8 * seconds  # four times the work, on a host that may be busy
    assert more_kib < kib + 8 * 1024
