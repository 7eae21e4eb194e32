# SPDX-License-Identifier: Apache-2.0
"""Saved runs: what the folder holds, that it replays anywhere, and that it is there whole or not at all."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from cli.cli_support import PROGRAM, STALL, TINY, good, npulab, refused, write_copy

GEMV = ("run", "gemv/pipelined", "-D", "M=24", "-D", "K=40", "--cores", "3")
# A kernel that stores zeros under the name of a product.
LIAR = (
    ".kernel liar\n.tensor A f16 [4, 4] in\n.tensor x f16 [4] in\n.tensor y f16 [4] out\n"
    ".reference gemv A=A, x=x, y=y, accumulate=f16\n"
    "  core_id s0\n  bne s0, 0, done\n  vdup.f16 v0, 0\n  vst.f16 ub[], v0\n"
    "  set_flag vector, mte3, 0\n  wait_flag vector, mte3, 0\n  copy y[], ub[], 8\ndone: end\n"
)


def replay(case: Path, *more: str) -> subprocess.CompletedProcess[str]:
    """By the program that lies in the case, from another folder."""
    environment = {**os.environ, "NPULAB": str(PROGRAM)}
    command: list[str | Path] = [case / "replay", *more]
    return subprocess.run(command, cwd="/", env=environment, capture_output=True, text=True, check=False)


def facts(case: Path) -> dict[str, Any]:
    data = json.loads((case / "case.json").read_text(encoding="utf-8"))
    assert isinstance(data, dict)
    return data


def files(case: Path) -> set[str]:
    return {path.relative_to(case).as_posix() for path in case.rglob("*") if path.is_file()}


def test_a_case_holds_all_that_the_run_depends_on(tmp_path: Path) -> None:
    case = tmp_path / "case"
    good(*GEMV, "--set", "gm.latency_ns=33", "--in", "x=arange", "--save-case", case)
    data = facts(case)
    assert data["params"]["M"] == 24
    assert data["options"] == {"cores": "3"}
    assert data["expected_from"] == "reference"
    assert data["outcome"]["status"] == 0
    assert "latency_ns: 33" in (case / "machine.yaml").read_text(encoding="utf-8")
    tensors = ["inputs/A.npy", "inputs/x.npy", "outputs/y.npy", "expected/y.npy"]
    assert {"case.json", "machine.yaml", "replay", data["kernel"], *tensors} < files(case)
    assert any(name.endswith(".inc") for name in files(case))
    assert (np.load(case / "inputs/x.npy") == np.arange(40)).all()
    assert np.load(case / "expected/y.npy") == pytest.approx(np.load(case / "outputs/y.npy"), rel=0.01)
    assert (case / "replay").stat().st_mode & 0o111


def test_a_case_replays_after_it_was_moved(tmp_path: Path) -> None:
    first = json.loads(good(*GEMV, "--save-case", tmp_path / "case", "--json", "-"))
    shutil.move(tmp_path / "case", tmp_path / "other place")
    again = replay(tmp_path / "other place", "--json", "-")
    assert again.returncode == 0, again.stderr
    report = json.loads(again.stdout)
    assert report["cycles"] == first["cycles"]
    assert report["kernel_hash"] == first["kernel_hash"]
    assert report["cores"] == 3
    assert report["check"]["passed"] is True
    assert report["check"]["reference"].startswith("gemv ")
    assert "note: the run ended as the saved one, with status 0" in again.stderr
    assert "note: output y is bit for bit that of the saved run" in again.stderr
    assert "cycles" not in again.stderr


def test_the_command_of_a_replay_gives_its_report_again(tmp_path: Path) -> None:
    case = tmp_path / "case"
    good(*GEMV, "--save-case", case)
    report = json.loads(npulab("run", "--case", case, "--json", "-").out)
    assert report["options"]["command"] == f"npulab run --case {case}"


def test_a_mismatch_is_a_case(tmp_path: Path) -> None:
    kernel, case = tmp_path / "liar.npu", tmp_path / "case"
    kernel.write_text(LIAR, encoding="utf-8")
    assert npulab("run", kernel, *TINY, "--check", "--save-case", case).status == 1
    assert facts(case)["outcome"]["code"] == "mismatch"
    again = replay(case)
    assert again.returncode == 1
    assert "FAILED: 4 of 4 elements out of bounds" in again.stdout
    assert "status 1 (mismatch)" in again.stderr
    # The kernel of the case may be mended there.
    copy = case / facts(case)["kernel"]
    copy.write_text(copy.read_text(encoding="utf-8").replace("vdup.f16 v0, 0", "vdup.f16 v0, 1"), encoding="utf-8")
    assert "output y differs from that of the saved run" in replay(case).stderr


def test_a_stall_is_a_case(tmp_path: Path) -> None:
    kernel, case = tmp_path / "stall.npu", tmp_path / "case"
    kernel.write_text(STALL, encoding="utf-8")
    assert npulab("run", kernel, *TINY, "--save-case", case).status == 3
    assert facts(case)["expected_from"] == "nothing"
    assert facts(case)["outcome"]["cycles"] is None
    again = replay(case)
    assert again.returncode == 3
    assert "note: the run ended as the saved one, with status 3 (stall)" in again.stderr


def test_a_finding_is_a_case(tmp_path: Path) -> None:
    kernel, case = tmp_path / "poison.npu", tmp_path / "case"
    kernel.write_text(
        ".kernel poison\n.tensor y f32 [2] out\n"
        "  vld.f32 v0, ub[64]\n  vst.f32 ub[], v0\n  set_flag vector, mte3, 0\n  wait_flag vector, mte3, 0\n"
        "  copy y[], ub[], 8\n  end\n",
        encoding="utf-8",
    )
    assert npulab("run", kernel, *TINY, "--save-case", case).status == 1
    assert replay(case).returncode == 1


def test_without_a_reference_the_outputs_of_the_run_are_expected(tmp_path: Path) -> None:
    case = tmp_path / "case"
    good("run", write_copy(tmp_path, "i4"), *TINY, "--save-case", case)
    data = facts(case)
    assert data["expected_from"] == "run"
    assert "these are the outputs of this run" in data["expected_note"]
    good_again = replay(case)
    assert good_again.returncode == 0
    assert "bit for bit" in good_again.stdout
    np.save(case / "expected/y.npy", np.load(case / "expected/y.npy") ^ 1)
    assert replay(case).returncode == 1


@pytest.mark.parametrize("kind", ["f32", "f16", "bf16", "i32", "i8", "u8", "f8e4m3"])
def test_every_type_is_compared_bit_for_bit(kind: str, tmp_path: Path) -> None:
    case = tmp_path / "case"
    npulab("run", write_copy(tmp_path, kind), *TINY, "--save-case", case)
    assert replay(case).returncode == 0
    raw = bytearray((case / "expected/y.npy").read_bytes())
    raw[-1] ^= 1
    (case / "expected/y.npy").write_bytes(raw)
    assert replay(case).returncode == 1


def test_a_binary_is_kept_as_it_is(tmp_path: Path) -> None:
    binary, case = tmp_path / "k.npub", tmp_path / "case"
    good("asm", write_copy(tmp_path), *TINY, "-o", binary)
    good("run", binary, *TINY, "--save-case", case)
    assert facts(case)["kernel"] == "kernel.npub"
    assert replay(case).returncode == 0


def test_what_is_included_by_an_absolute_path_stays_in_the_case(tmp_path: Path) -> None:
    part, kernel, case = tmp_path / "part.inc", tmp_path / "k.npu", tmp_path / "case"
    part.write_text("  nop\n", encoding="utf-8")
    kernel.write_text(f'.kernel k\n.include "{part}"\n  end\n', encoding="utf-8")
    good("run", kernel, *TINY, "--save-case", case)
    part.unlink()
    assert replay(case).returncode == 0


def test_timing_only(tmp_path: Path) -> None:
    case = tmp_path / "case"
    good(*GEMV, "--timing-only", "--save-case", case)
    assert facts(case)["expected_from"] == "nothing"
    assert not any(name.endswith(".npy") for name in files(case))
    again = replay(case)
    assert again.returncode == 0
    assert "ended as the saved one" in again.stderr


def test_options_may_be_added_and_what_the_case_holds_may_not(tmp_path: Path) -> None:
    case = tmp_path / "case"
    good(*GEMV, "--save-case", case)
    slow = replay(case, "--set", "gm.latency_ns=900", "--cores", "1")
    assert slow.returncode == 0
    assert "the saved run took" in slow.stderr
    for words in (["gemv/naive"], ["--machine", "tiny"], ["-D", "M=1"], ["--in", "x=ones"]):
        assert "leave" in refused("run", "--case", case, *words)
    assert "KERNEL is missing" in refused("run")


def test_a_broken_case_is_refused(tmp_path: Path) -> None:
    assert "cannot open" in refused("run", "--case", tmp_path / "none")
    case = tmp_path / "case"
    good(*GEMV, "--save-case", case)
    data = facts(case)
    for text in ("{", json.dumps({**data, "schema": "npulab-case-9"}), json.dumps({**data, "params": None})):
        (case / "case.json").write_text(text, encoding="utf-8")
        assert "bad-case" in refused("run", "--case", case)


# --- whole or not at all -------------------------------------------------------------------------


def test_an_existing_folder_must_be_empty(tmp_path: Path) -> None:
    (tmp_path / "full").mkdir()
    (tmp_path / "full/mine").write_text("", encoding="utf-8")
    (tmp_path / "file").write_text("", encoding="utf-8")
    assert "is not empty" in refused(*GEMV, "--save-case", tmp_path / "full")
    assert "is no folder" in refused(*GEMV, "--save-case", tmp_path / "file")
    assert "does not exist" in refused(*GEMV, "--save-case", tmp_path / "none/case")
    assert files(tmp_path / "full") == {"mine"}
    (tmp_path / "empty").mkdir()
    (tmp_path / "link").symlink_to("empty")
    good(*GEMV, "--save-case", f"{tmp_path / 'link'}/")
    assert "case.json" in files(tmp_path / "empty")


def test_a_full_disk_leaves_no_case(tmp_path: Path) -> None:
    folder = tmp_path / "out"
    folder.mkdir()
    result = npulab(*GEMV, "--save-case", folder / "case", limits="ulimit -f 1")
    assert result.status == 2
    assert "cannot write" in result.err
    assert list(folder.iterdir()) == []
    # What a run failed with counts, also when it cannot be kept.
    kernel = tmp_path / "stall.npu"
    kernel.write_text(STALL + "; " + "x" * 4096 + "\n", encoding="utf-8")
    stalled = npulab("run", kernel, *TINY, "--save-case", folder / "case", limits="ulimit -f 1")
    assert stalled.status == 3
    assert "the run is not saved" in stalled.err
    assert list(folder.iterdir()) == []


def test_two_runs_into_one_folder(tmp_path: Path) -> None:
    folder = tmp_path / "out"
    folder.mkdir()
    command: list[str | Path] = [PROGRAM, *GEMV, "--save-case", folder / "case"]
    processes = [subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) for _ in range(4)]
    statuses = []
    for process in processes:
        process.communicate()
        statuses.append(process.returncode)
    assert statuses.count(0) == 1
    assert set(statuses) <= {0, 2}
    assert [path.name for path in folder.iterdir()] == ["case"]
    assert replay(folder / "case").returncode == 0
