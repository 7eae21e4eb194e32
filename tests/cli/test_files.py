# SPDX-License-Identifier: Apache-2.0
"""Outputs are written whole or not at all, and a run that could not write them does not begin."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import tempfile
import time
from pathlib import Path

import pytest
from cli.cli_support import LONG, PROGRAM, TINY, good, npulab, refused, write_copy


@pytest.fixture
def kernel(tmp_path: Path) -> Path:
    folder = tmp_path / "kernel"
    folder.mkdir()
    return write_copy(folder)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "out"
    made.mkdir()
    return made


@pytest.fixture
def long(tmp_path: Path) -> Path:
    path = tmp_path / "long.npu"
    path.write_text(LONG, encoding="utf-8")
    return path


def test_missing_folder_is_said_before_the_run(long: Path, tmp_path: Path) -> None:
    message = refused("run", long, *TINY, "--json", tmp_path / "none/report.json")
    assert "does not exist" in message


def test_folder_in_place_of_a_file(long: Path, folder: Path) -> None:
    assert "it is a directory" in refused("run", long, *TINY, "--json", folder)


def test_folder_that_takes_no_files(long: Path) -> None:
    assert "cannot write /proc/report.json" in refused("run", long, *TINY, "--json", "/proc/report.json")


def test_read_only_folder_and_file() -> None:
    """As somebody whom the modes of files bind: root is none."""
    user = 65534 if os.geteuid() == 0 else None
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        target, inside = folder / "report.json", folder / "inside"
        target.write_text("old", encoding="utf-8")
        target.chmod(0o444)
        inside.mkdir(mode=0o555)
        folder.chmod(0o777)
        words = ("run", "gemv/naive", "-D", "M=1", "-D", "K=1", "--json")
        for path in (target, inside / "new.json"):
            result = subprocess.run(
                [PROGRAM, *words, path], capture_output=True, text=True, check=False, user=user, cwd="/"
            )
            assert result.returncode == 2
            assert f"cannot write {path}: Permission denied" in result.stderr
        inside.chmod(0o755)
        assert target.read_text(encoding="utf-8") == "old"


def test_two_outputs_to_one_file(kernel: Path, folder: Path) -> None:
    path = folder / "y.npy"
    assert "two outputs go to one file" in refused("run", kernel, *TINY, "--out", f"y={path}", "--json", path)


def test_nothing_but_the_outputs_is_left(kernel: Path, folder: Path) -> None:
    good("run", kernel, *TINY, "--out", f"y={folder / 'y.npy'}", "--json", folder / "report.json")
    assert sorted(path.name for path in folder.iterdir()) == ["report.json", "y.npy"]
    assert json.loads((folder / "report.json").read_text(encoding="utf-8"))["kernel"] == "copy"
    assert (folder / "y.npy").stat().st_mode & 0o777 == 0o666 & ~current_umask()


def current_umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


# The limit stands for a full disk: a write fails in the middle.
def test_disk_full_leaves_what_was(kernel: Path, folder: Path) -> None:
    target, tensor = folder / "report.json", folder / "y.npy"
    target.write_text("old", encoding="utf-8")
    words = ("run", kernel, *TINY, "--json", target, "--out", f"y={tensor}")
    result = npulab(*words, limits="ulimit -f 1")
    assert result.status == 2
    assert "cannot-write" in result.err
    assert "File too large" in result.err
    assert result.out == ""
    assert target.read_text(encoding="utf-8") == "old"
    assert list(folder.iterdir()) == [target]


def test_full_device(kernel: Path) -> None:
    message = npulab("run", kernel, *TINY, "--json", "/dev/full")
    assert message.status == 2
    assert "No space left" in message.err
    assert Path("/dev/full").is_char_device()


def test_standard_output_that_cannot_be_written(kernel: Path) -> None:
    with Path("/dev/full").open("w", encoding="utf-8") as full:
        result = subprocess.run(
            [PROGRAM, "run", kernel, *TINY], stdout=full, stderr=subprocess.PIPE, text=True, check=False
        )
    assert result.returncode == 2
    assert "cannot write to standard output: No space left" in result.stderr


def test_devices_and_links_stay_what_they_are(kernel: Path, folder: Path) -> None:
    good("run", kernel, *TINY, "--json", "/dev/null")
    assert Path("/dev/null").is_char_device()
    real, link = folder / "real.json", folder / "link.json"
    real.write_text("old", encoding="utf-8")
    real.chmod(0o640)
    link.symlink_to("real.json")
    good("run", kernel, *TINY, "--json", link)
    assert link.is_symlink()
    assert json.loads(real.read_text(encoding="utf-8"))["kernel"] == "copy"
    assert real.stat().st_mode & 0o777 == 0o640


def test_stall_and_refusal_leave_no_file(kernel: Path, folder: Path) -> None:
    refused("run", kernel, *TINY, "--in", "x=nonsense", "--json", folder / "report.json")
    assert list(folder.iterdir()) == []


def test_two_runs_at_once(kernel: Path, folder: Path) -> None:
    target = folder / "report.json"
    command: list[str | Path] = [PROGRAM, "run", kernel, *TINY, "--json", target, "--out", f"y={folder / 'y.npy'}"]
    processes = [subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) for _ in range(6)]
    for process in processes:
        _, err = process.communicate()
        assert process.returncode == 0, err
    assert json.loads(target.read_text(encoding="utf-8"))["kernel"] == "copy"
    assert sorted(path.name for path in folder.iterdir()) == ["report.json", "y.npy"]


# --- every command that writes ---------------------------------------------------------------------

SUITE = "cases:\n  - {name: one, kernel: KERNEL, machine: tiny}\n"


@pytest.fixture
def writers(kernel: Path, tmp_path: Path) -> dict[str, list[str | Path]]:
    """Commands that write one file, without its name, by what they write."""
    suite, binary = tmp_path / "suite.yaml", tmp_path / "k.npub"
    suite.write_text(SUITE.replace("KERNEL", str(kernel)), encoding="utf-8")
    good("asm", kernel, *TINY, "-o", binary)
    return {
        "binary": ["asm", kernel, *TINY, "-o"],
        "text": ["disasm", binary, *TINY, "-o"],
        "report": ["run", kernel, *TINY, "--json"],
        "results": ["bench", suite, "--json"],
        "baseline": ["bench", suite, "--update", "--baseline"],
    }


@pytest.mark.parametrize("what", ["binary", "text", "report", "results", "baseline"])
def test_every_writer_keeps_the_old_file_on_a_full_disk(
    what: str, writers: dict[str, list[str | Path]], folder: Path
) -> None:
    target = folder / "target"
    target.write_text("old", encoding="utf-8")
    result = npulab(*writers[what], target, limits="ulimit -f 0")
    assert result.status == 2
    assert "cannot-write" in result.err
    assert target.read_text(encoding="utf-8") == "old"
    assert [path.name for path in folder.iterdir()] == ["target"]
    full = npulab(*writers[what], "/dev/full")
    assert full.status == 2
    assert "No space left" in full.err
    good(*writers[what], target)
    assert target.read_text(encoding="utf-8", errors="replace") != "old"
    assert [path.name for path in folder.iterdir()] == ["target"]


def test_killed_half_way_leaves_the_old_file(tmp_path: Path, folder: Path) -> None:
    """SIGKILL while the content is on its way to the disk: a large tensor, killed as soon as some of it is there."""
    elements = 16 << 20
    kernel = tmp_path / "none.npu"
    kernel.write_text(f".kernel none\n.tensor y f32 [{elements}] out\n  end\n", encoding="utf-8")
    target = folder / "y.npy"
    target.write_text("old", encoding="utf-8")
    words: list[str | Path] = ["run", kernel, *TINY, "--set", "gm.bytes=1073741824", "--sanitize=off", "--out"]
    for _ in range(20):
        process = subprocess.Popen([PROGRAM, *words, f"y={target}"], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        while process.poll() is None and not any(sizes(folder)):
            time.sleep(0.0005)
        process.send_signal(signal.SIGKILL)
        process.communicate()
        left = [path for path in folder.iterdir() if path != target]
        if process.returncode == -signal.SIGKILL and left and left[0].stat().st_size < 4 * elements:
            break
    else:
        pytest.fail("no run was caught while it wrote")
    assert target.read_text(encoding="utf-8") == "old"
    # What was left behind is in nobody's way.
    result = npulab(*words, f"y={target}")
    assert result.status == 0, result.err
    assert target.stat().st_size > 4 * elements


def sizes(folder: Path) -> list[int]:
    """Of the unfinished files in a folder."""
    found = []
    for path in folder.iterdir():
        if path.name.startswith("."):
            try:
                found.append(path.stat().st_size)
            except FileNotFoundError:
                continue
    return found
