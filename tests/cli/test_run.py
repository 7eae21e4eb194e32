# SPDX-License-Identifier: Apache-2.0
"""npulab run: every option is seen to do what its help says; exit statuses; what goes to which stream."""

from __future__ import annotations

import json
import re
import shlex
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from cli.cli_support import LONG, PROGRAM, STALL, TINY, good, npulab, on_terminal, refused, write_copy
from support import ROOT

GEMV = ("run", "gemv/register_blocked", "-D", "M=24", "-D", "K=40")


def report(*words: str | Path) -> dict[str, Any]:
    data = json.loads(good(*words, "--json", "-"))
    assert isinstance(data, dict)
    return data


def stable(data: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in data.items() if key != "host"}


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    return write_copy(tmp_path)


# --- reports -------------------------------------------------------------------------------------


def test_text_goes_to_standard_output_and_nothing_else_to_the_other() -> None:
    text = good(*GEMV)
    assert text.startswith("gemv/register_blocked on ascend910_opsblas, 32 cores\n")
    for expected in ("K=40", "time ", "cycles", "bound by", "GB/s", "mte2", "hot spots"):
        assert expected in text
    assert "\x1b" not in text


def test_json_has_the_keys_that_others_rely_on() -> None:
    data = report(*GEMV, "--check")
    assert data["schema"] == "npulab-report-1"
    assert data["kernel"] == "gemv/register_blocked"
    assert data["machine"] == "ascend910_opsblas"
    assert data["params"]["M"] == 24
    assert data["cycles"] > 0
    assert data["time_us"] == pytest.approx(data["cycles"] / 1100)
    gm = data["memory"]["gm"]
    assert gm["bandwidth_gbps"] == pytest.approx((gm["read_bytes"] + gm["write_bytes"]) / data["time_us"] / 1e3)
    assert gm["peak_gbps"] == 1200
    assert gm["read_bytes"] >= 24 * 40 * 2
    vector = data["engines"]["vector"]
    assert vector["busy_cycles"] + vector["idle_cycles"] + sum(vector["stall_cycles"].values()) == 32 * data["cycles"]
    assert data["bound"]["limited_by"]
    assert data["check"]["passed"] is True
    assert data["check"]["mismatches"] == 0
    assert data["diagnostics"] == []
    assert list(data)[-1] == "host"


def test_hot_spots_are_the_lines_that_hold_the_instructions() -> None:
    spots = report("run", "gemv/pipelined", "-D", "M=64", "-D", "K=256")["hot_spots"]
    assert any(spot["file"].endswith(".inc") for spot in spots)
    for spot in spots:
        lines = (ROOT / "kernels/gemv" / spot["file"]).read_text(encoding="utf-8").splitlines()
        assert lines[spot["line"] - 1] == spot["text"]
        assert ".include" not in spot["text"]


def test_places_survive_the_binary_form(tmp_path: Path) -> None:
    words = ("--machine", "tiny", "-D", "M=8", "-D", "K=64")
    binary = tmp_path / "k.npub"
    good("asm", "gemv/vectorized", *words, "-o", binary)
    places = [(spot["file"], spot["line"]) for spot in report("run", "gemv/vectorized", *words)["hot_spots"]]
    assert places
    spots = report("run", binary, *TINY)["hot_spots"]
    assert [(spot["file"], spot["line"]) for spot in spots] == places
    assert {spot["text"] for spot in spots} == {""}


def test_stalls_name_the_included_line_and_what_included_it(tmp_path: Path) -> None:
    (tmp_path / "wait.inc").write_text(".macro take id\n  wait_flag mte2, mte3, id\n.endm\n", encoding="utf-8")
    kernel = tmp_path / "k.npu"
    kernel.write_text('.kernel k\n.include "wait.inc"\n  take 0\n  end\n', encoding="utf-8")
    message = refused("run", kernel, *TINY, status=3)
    assert f"{tmp_path}/wait.inc:2 (from {kernel}:3)" in message


def test_every_figure_and_counter_of_a_real_report_is_defined() -> None:
    page = (ROOT / "docs/report.md").read_text(encoding="utf-8")
    defined = set(re.findall(r"^\| `([^`]+)` \|", page, re.MULTILINE))
    data = report(*GEMV, "--check")
    for section in ("engines", "memory"):
        for name, part in data[section].items():
            assert set(part["counters"]) <= defined, name
            assert {f"{section}.NAME.{key}" for key, value in part.items() if not isinstance(value, dict)} <= defined
    assert {key for key, value in data.items() if not isinstance(value, dict | list)} <= defined
    assert set(data["engines"]["vector"]["stall_cycles"]) <= defined


def test_json_to_a_file_beside_the_text(tmp_path: Path) -> None:
    path = tmp_path / "report.json"
    text = good(*GEMV, "--json", path)
    assert text.startswith("gemv/register_blocked")
    assert stable(json.loads(path.read_text(encoding="utf-8"))) == stable(report(*GEMV))


def test_the_command_of_a_report_gives_it_again(tmp_path: Path) -> None:
    path = tmp_path / "x y.npy"
    np.save(path, np.arange(16, dtype=np.float32))
    options = ("--set", "gm.latency_ns=30", "--in", f"x={path}", "--cores", "1", "--warmup", "1", "--sanitize=off")
    first = report("run", write_copy(tmp_path), *TINY, *options)
    command = shlex.split(first["options"]["command"])
    assert command[0] == "npulab"
    assert stable(report(*command[1:])) == stable(first)


# SH-09: rates stay finite when there is next to nothing to do.
@pytest.mark.parametrize("k", [0, 1, 3, 133])
@pytest.mark.parametrize("m", [0, 1, 5])
def test_sh_09_sh_08_rates_are_finite(m: int, k: int) -> None:
    words = ("run", "gemv/register_blocked", "-D", f"M={m}", "-D", f"K={k}", "--check")
    text = good(*words)
    assert not re.search(r"\b(nan|inf|null)\b", text)

    def refuse(constant: str) -> None:
        raise AssertionError(f"{constant} in the report")

    json.loads(good(*words, "--json", "-"), parse_constant=refuse)


# --- options -------------------------------------------------------------------------------------


def test_machine_may_be_a_file_and_set_overrides_it(copy: Path, tmp_path: Path) -> None:
    mine = tmp_path / "mine.yaml"
    mine.write_text("extends: tiny\nname: mine\ngm: {model: ideal}\n", encoding="utf-8")
    base = report("run", copy, *TINY)
    assert base["machine"] == "tiny"
    other = report("run", copy, "--machine", mine)
    assert other["machine"] == "mine"
    assert other["cycles"] != base["cycles"]
    slow = report("run", copy, *TINY, "--set", "gm.latency_ns=500")
    assert slow["cycles"] > base["cycles"] + 400
    assert slow["resolved_machine"]["gm"]["latency_ns"] == 500


def test_overflow_mode_stands_in_the_report(copy: Path) -> None:
    assert report("run", copy, *TINY)["overflow_mode"] == "inf"
    assert report("run", copy, *TINY, "--set", "numerics.overflow=saturate")["overflow_mode"] == "saturate"


def test_param_sets_and_refuses(copy: Path) -> None:
    assert report("run", copy, *TINY, "-D", "N=64")["memory"]["gm"]["read_bytes"] == 2 * 64 * 4
    assert "has no parameter 'n'; did you mean 'N'?" in refused("run", copy, *TINY, "-D", "n=4")
    assert "'4k' is no decimal integer" in refused("run", copy, *TINY, "-D", "N=4k")
    assert "write PARAM=VALUE" in refused("run", copy, *TINY, "-D", "N")
    assert "given twice, first as 4" in refused("run", copy, *TINY, "-D", "N=4", "-D", "N=5")
    assert "4096" in refused("run", copy, *TINY, "-D", "N=5000")


def output(copy: Path, tmp_path: Path, *words: str) -> np.ndarray[Any, Any]:
    path = tmp_path / "y.npy"
    good("run", copy, *TINY, "--out", f"y={path}", *words)
    array: np.ndarray[Any, Any] = np.load(path)
    return array


def test_in_fills_tensors(copy: Path, tmp_path: Path) -> None:
    assert (output(copy, tmp_path, "--in", "x=zeros") == 0).all()
    assert (output(copy, tmp_path, "--in", "x=ones") == 1).all()
    assert (output(copy, tmp_path, "--in", "x=arange") == np.arange(16)).all()
    assert (output(copy, tmp_path, "--in", "x=const:2.5") == 2.5).all()
    seven = output(copy, tmp_path, "--in", "x=random:7")
    assert (seven == output(copy, tmp_path, "--in", "x=random:7")).all()
    assert (seven != output(copy, tmp_path, "--in", "x=random:8")).any()


def test_inputs_that_are_not_named_are_random_by_position(copy: Path, tmp_path: Path) -> None:
    assert (output(copy, tmp_path) == output(copy, tmp_path, "--in", "x=random:1")).all()
    options = report(*GEMV)["options"]
    assert options["in.A"] == "random:1"
    assert options["in.x"] == "random:2"
    assert "--in A=random:1 --in x=random:2" in good(*GEMV)


def test_in_and_out_of_wrong_names(copy: Path, tmp_path: Path) -> None:
    assert "has no tensor 'z'" in refused("run", copy, *TINY, "--in", "z=zeros")
    assert "only writes tensor y" in refused("run", copy, *TINY, "--in", "y=zeros")
    assert "only reads tensor x" in refused("run", copy, *TINY, "--out", f"x={tmp_path / 'x.npy'}")
    twice = refused("run", copy, *TINY, "--in", "x=zeros", "--in", "x=ones")
    assert "tensor x is given twice, first as zeros" in twice
    unknown = refused("run", copy, *TINY, "--in", "x=zeroes")
    assert "did you mean 'zeros'?" in unknown
    assert "a file ends in .npy" in unknown
    assert "must end in .npy" in refused("run", copy, *TINY, "--out", f"y={tmp_path / 'y.txt'}")


def test_check_passes_and_fails(tmp_path: Path) -> None:
    assert "\ncheck  gemv" in good(*GEMV, "--check")
    assert report(*GEMV)["check"]["passed"] is None
    assert report(*GEMV)["check"]["effective_bits"] is None
    # A kernel that stores zeros under the name of a product.
    liar = tmp_path / "liar.npu"
    liar.write_text(
        ".kernel liar\n.tensor A f16 [4, 4] in\n.tensor x f16 [4] in\n.tensor y f16 [4] out\n"
        ".reference gemv A=A, x=x, y=y, accumulate=f16\n"
        "  core_id s0\n  bne s0, 0, done\n  vdup.f16 v0, 0\n  vst.f16 ub[], v0\n"
        "  set_flag vector, mte3, 0\n  wait_flag vector, mte3, 0\n  copy y[], ub[], 8\ndone: end\n",
        encoding="utf-8",
    )
    result = npulab("run", liar, *TINY, "--check", "--json", "-")
    assert result.status == 1
    data = json.loads(result.out)
    assert data["check"]["passed"] is False
    assert data["check"]["mismatches"] == 4
    assert len(data["check"]["worst"]) == 4
    for worst in data["check"]["worst"]:
        assert worst["tensor"] == "y"
        assert len(worst["index"]) == 1
        assert worst["got"] == 0
        assert worst["relative"] == 1
        assert worst["ulp"] > worst["bound"]
    assert data["check"]["effective_bits"] == 0
    assert data["check"]["max_relative_error"] == 1
    assert data["check"]["outputs"]["y"]["mismatches"] == 4
    assert data["check"]["outputs"]["y"]["unwritten_bytes"] == 0
    text = npulab("run", liar, *TINY, "--check")
    assert text.status == 1
    assert "FAILED: 4 of 4 elements out of bounds" in text.out
    assert npulab("run", liar, *TINY).status == 0


def test_sh_15_check_says_what_was_never_written(tmp_path: Path) -> None:
    kernel = tmp_path / "half.npu"
    kernel.write_text(
        ".kernel half\n.tensor A f16 [4, 4] in\n.tensor x f16 [4] in\n.tensor y f16 [4] out\n"
        ".reference gemv A=A, x=x, y=y, accumulate=f16\n  end\n",
        encoding="utf-8",
    )
    words = ("run", kernel, *TINY, "--check", "--in", "A=const:nan", "--sanitize=off")
    data = json.loads(npulab(*words, "--json", "-").out)
    assert data["check"]["passed"] is False
    assert data["check"]["outputs"]["y"]["unwritten_bytes"] == 8
    assert "y: 8 bytes were never written" in npulab(*words).out


def test_check_without_a_reference_is_refused_before_the_run(copy: Path) -> None:
    assert "names no operation to compare it with" in refused("run", copy, *TINY, "--check")


def test_sanitize_levels(tmp_path: Path) -> None:
    # Reads a part of the buffer that nobody wrote.
    kernel = tmp_path / "poison.npu"
    kernel.write_text(
        ".kernel poison\n.tensor y f32 [2] out\n"
        "  vld.f32 v0, ub[64]\n  vst.f32 ub[], v0\n  set_flag vector, mte3, 0\n  wait_flag vector, mte3, 0\n"
        "  copy y[], ub[], 8\n  end\n",
        encoding="utf-8",
    )
    for level in ((), ("--sanitize",), ("--sanitize=fast",)):
        found = npulab("run", kernel, *TINY, *level, "--json", "-")
        assert json.loads(found.out)["diagnostics"], found.err
        assert json.loads(found.out)["options"]["sanitize"] == "fast"
    off = npulab("run", kernel, *TINY, "--sanitize=off", "--json", "-")
    assert off.status == 0
    assert json.loads(off.out)["diagnostics"] == []
    full = npulab("run", kernel, *TINY, "--sanitize=full", "--json", "-")
    assert json.loads(full.out)["options"]["sanitize"] == "full"
    assert "needs values" in refused("run", kernel, *TINY, "--sanitize=full", "--timing-only")
    assert "did you mean 'fast'?" in refused("run", kernel, *TINY, "--sanitize=fats")


def test_timing_only_has_the_same_cycles_and_no_values(tmp_path: Path) -> None:
    full, timing = report(*GEMV), report(*GEMV, "--timing-only")
    assert timing["cycles"] == full["cycles"]
    assert timing["engines"] == full["engines"]
    assert timing["options"]["values"] == "not computed"
    assert "computes none" in refused(*GEMV, "--timing-only", "--check")
    assert "computes none" in refused(*GEMV, "--timing-only", "--out", f"y={tmp_path / 'y.npy'}")


def test_cores(copy: Path) -> None:
    assert report("run", copy, *TINY)["cores"] == 2
    assert report("run", copy, *TINY, "--cores", "1")["cores"] == 1
    assert "has 2 of type core" in refused("run", copy, *TINY, "--cores", "3")
    for wrong in ("0", "-1", "two", "1.5", ""):
        assert "an integer from 1 to" in refused("run", copy, *TINY, f"--cores={wrong}") or wrong == ""


def test_warmup_is_not_part_of_the_figures(copy: Path) -> None:
    cold, warm = report("run", copy, *TINY), report("run", copy, *TINY, "--warmup", "2")
    assert warm["options"]["warmup"] == "2"
    assert warm["instructions"] == cold["instructions"]
    assert warm["memory"]["gm"]["read_bytes"] == cold["memory"]["gm"]["read_bytes"]


def test_an_endless_loop_ends_at_the_limit(tmp_path: Path) -> None:
    kernel = tmp_path / "endless.npu"
    text = ".kernel endless\n.tensor a f16 [64] in\n.buffer ab ub 128\nx: copy ab[], a[], 128\n  jmp x\n  end\n"
    kernel.write_text(text, encoding="utf-8")
    message = refused("run", kernel, *TINY, "--max-cycles", "10000", status=3)
    assert "cycle 10000, the limit" in message
    assert "endless.npu:" in message


def test_warmup_really_runs(tmp_path: Path) -> None:
    kernel = tmp_path / "print.npu"
    kernel.write_text(".kernel print\n  mov s0, 7\n  print s0\n  end\n", encoding="utf-8")
    once = npulab("run", kernel, *TINY, "--cores", "1").err.splitlines()
    thrice = npulab("run", kernel, *TINY, "--cores", "1", "--warmup", "2").err.splitlines()
    assert len(once) == 1
    assert "7" in once[0]
    assert len(thrice) == 3


def test_no_block_cache_gives_the_same_report() -> None:
    words = ("run", "gemv/pipelined", "-D", "M=64", "-D", "K=512")
    assert stable(report(*words, "--no-block-cache")) == stable(report(*words))


def test_progress_off_a_terminal_is_plain_lines(tmp_path: Path) -> None:
    kernel = tmp_path / "long.npu"
    kernel.write_text(LONG, encoding="utf-8")
    result = npulab("run", kernel, *TINY, "-D", "N=1000", "--progress")
    assert result.status == 0
    assert re.fullmatch(r"npulab: cycle \d+, \d+\.\d\d Mcycles/s, done\n", result.err)
    assert npulab("run", kernel, *TINY, "-D", "N=1000").err == ""


def test_colour_only_on_a_terminal_and_not_with_no_color() -> None:
    environment = {"NO_COLOR": ""}
    assert "\x1b[1m" in on_terminal(*GEMV, env=environment)
    assert "\x1b[" not in on_terminal(*GEMV, env={"NO_COLOR": "1"})
    assert "\x1b[" not in on_terminal(*GEMV, env={**environment, "TERM": "dumb"})


def test_progress_on_a_terminal_is_one_line(tmp_path: Path) -> None:
    kernel = tmp_path / "long.npu"
    kernel.write_text(LONG, encoding="utf-8")
    text = on_terminal("run", kernel, *TINY, "-D", "N=2000000", "--progress", env={"NO_COLOR": "1"})
    before = text.split("long on tiny")[0]
    assert before.startswith("\r\x1b[K")
    assert before.count("\n") == 1
    assert re.search(r"cycle \d+, \d+\.\d\d Mcycles/s, done", before)


# --- exit statuses -------------------------------------------------------------------------------


def test_stall_is_status_3_and_says_where(tmp_path: Path) -> None:
    kernel = tmp_path / "stall.npu"
    kernel.write_text(STALL, encoding="utf-8")
    path = tmp_path / "report.json"
    message = refused("run", kernel, *TINY, "--json", path, status=3)
    assert message.startswith("npulab: stalled[")
    assert "stall.npu:2" in message
    assert json.loads(path.read_text(encoding="utf-8"))["ended"] is False


def test_failed_assertion_is_status_1(tmp_path: Path) -> None:
    kernel = tmp_path / "assert.npu"
    kernel.write_text(".kernel assert\n  mov s0, 1\n  assert s0, 2\n  end\n", encoding="utf-8")
    message = refused("run", kernel, *TINY, status=1)
    assert "assert.npu:3" in message


def test_tensors_that_no_host_can_hold(tmp_path: Path) -> None:
    kernel = tmp_path / "big.npu"
    kernel.write_text(
        ".kernel big\n.tensor x f32 [1099511627776] in\n  end\n",
        encoding="utf-8",
    )
    message = refused("run", kernel, *TINY, "--set", "gm.bytes=8796093022208")
    assert "not-enough-memory" in message
    assert "need 4398046511104 bytes of host memory, and this computer has " in message
    assert "--timing-only" in message


def test_memory_limit_is_said_with_the_size() -> None:
    words = ("run", "gemv/naive", "-D", "M=16384", "-D", "K=16384")
    result = npulab(*words, limits="ulimit -v 300000")
    assert result.status == 2
    assert "the 536870912 bytes of tensor A" in result.err
    assert (
        npulab(*words, "--timing-only", "--cores", "1", "--set", "gm.model=ideal", limits="ulimit -v 300000").status
        == 0
    )


def test_interrupt_ends_with_a_clear_line(tmp_path: Path) -> None:
    kernel = tmp_path / "long.npu"
    kernel.write_text(LONG, encoding="utf-8")
    path = tmp_path / "report.json"
    process = subprocess.Popen(
        [PROGRAM, "run", kernel, *TINY, "--json", path], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    time.sleep(0.5)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=20)
    assert process.returncode == 130
    assert out == ""
    assert err == "npulab: interrupted; the run was not finished and nothing was written\n"
    assert list(tmp_path.iterdir()) == [kernel]


# SY-13: the end of a stalled run is no time.
@pytest.mark.parametrize("limit", [(), ("--max-cycles", "5000")])
def test_sy_13_a_stalled_run_as_data(limit: tuple[str, ...], tmp_path: Path) -> None:
    kernel, path = tmp_path / "stall.npu", tmp_path / "report.json"
    kernel.write_text(LONG if limit else STALL, encoding="utf-8")
    words: tuple[str | Path, ...] = ("run", kernel, *TINY, *limit)
    result = npulab(*words, "--json", "-")
    assert result.status == 3
    data = json.loads(result.out)
    assert data["ended"] is False
    assert data["cycles"] is None
    assert data["time_us"] is None
    assert data["kernel"] == ("long" if limit else "stall")
    assert data["options"]["command"].startswith("npulab run ")
    (finding,) = data["diagnostics"]
    assert finding["code"] == ("cycle-limit" if limit else "stall")
    assert finding["message"].splitlines()[0] in result.err
    assert finding["where"].startswith(f"{kernel}:")
    refused(*words, "--json", path, status=3)
    assert stable(json.loads(path.read_text(encoding="utf-8"))) == stable(data)
    assert report(*GEMV)["ended"] is True


def test_a_run_that_an_assertion_ended_as_data(tmp_path: Path) -> None:
    kernel = tmp_path / "no.npu"
    kernel.write_text(".kernel no\n  assert 1, 2\n  end\n", encoding="utf-8")
    result = npulab("run", kernel, *TINY, "--json", "-")
    assert result.status == 1
    data = json.loads(result.out)
    assert data["ended"] is False
    assert data["diagnostics"][0]["code"] == "assertion"
