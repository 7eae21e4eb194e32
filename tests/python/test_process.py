# SPDX-License-Identifier: Apache-2.0
"""Many runs in one process: memory, time, threads, Ctrl-C."""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import sys
import textwrap
import threading
import time
from pathlib import Path

import numpy as np
import pysim
import pytest

RUNS = 10_000
EDGE = 1_000
MOST_GROWTH_KIB = 1024
MOST_SLOWDOWN = 1.3


def resident_kib() -> int:
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return pages * resource.getpagesize() // 1024


def seconds_of_a_fixed_work() -> float:
    """What a run is compared with: other programs on the machine slow both down."""
    begin = time.process_time()
    sum(i * i for i in range(2000))
    return time.process_time() - begin


def test_ten_thousand_runs_neither_grow_nor_slow_down(twice: str) -> None:
    simulation = pysim.Simulation(pysim.assemble(twice, "tiny", N=4))
    x = np.arange(4, dtype=np.float16)
    times = np.empty(RUNS)
    fixed = np.empty(RUNS)
    before = 0
    for i in range(RUNS):
        if i == EDGE:
            before = resident_kib()
        begin = time.process_time()
        result = simulation.run(x=x)
        times[i] = time.process_time() - begin
        fixed[i] = seconds_of_a_fixed_work()
    growth = resident_kib() - before
    assert result.y[3] == 6
    assert growth <= MOST_GROWTH_KIB, f"{growth} KiB more after {RUNS - EDGE} runs"
    first, last = (float(np.median(times[part] / fixed[part])) for part in (slice(EDGE), slice(-EDGE, None)))
    assert last <= MOST_SLOWDOWN * first, f"from {first:.2f} to {last:.2f} times the fixed work"


def test_whole_calls_do_not_grow(twice: str, tmp_path: Path) -> None:
    path = tmp_path / "twice.npu"
    path.write_text(twice)
    x = np.arange(4, dtype=np.float16)

    def calls(count: int) -> int:
        for _ in range(count):
            assert pysim.run(path, "tiny", x=x).report["cycles"] > 0
            with pytest.raises(pysim.InputError):
                pysim.run(path, "tiny", x=x[:0], N=3)
        return resident_kib()

    before = calls(200)
    assert calls(600) - before <= MOST_GROWTH_KIB


def test_three_threads_in_turn(twice: str) -> None:
    """Each with a simulation of its own, and all of them with a common one."""
    kernel = pysim.assemble(twice, "tiny")
    common = pysim.Simulation(kernel)
    wrong: list[object] = []

    def work(number: int) -> None:
        own = pysim.Simulation(kernel)
        for i in range(200):
            x = np.full(8, number + i % 7, np.float16)
            for simulation in (own, common):
                y = simulation.run(x=x).y
                if not np.array_equal(y, 2 * x):
                    wrong.append((number, i, y))

    threads = [threading.Thread(target=work, args=(number,)) for number in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert not any(thread.is_alive() for thread in threads)
    assert wrong == []


def test_other_threads_go_on_while_one_simulates(endless: str) -> None:
    """And an exception of `progress` ends the run."""
    ticks = 0
    seen: list[tuple[int, float]] = []

    def tick() -> None:
        nonlocal ticks
        while ticks < 1000:
            ticks += 1
            time.sleep(0)

    other = threading.Thread(target=tick)

    def progress(cycle: int, share: float) -> None:
        seen.append((cycle, share))
        if len(seen) == 1:
            other.start()
        if len(seen) >= 3 and not other.is_alive():
            raise ValueError("enough")

    simulation = pysim.Simulation(pysim.assemble(endless, "tiny"), progress=progress)
    with pytest.raises(ValueError, match="enough"):
        simulation.run()
    assert ticks == 1000
    cycles = [cycle for cycle, _ in seen]
    assert cycles == sorted(set(cycles))


def test_progress_cannot_run_its_own_simulation(endless: str) -> None:
    def progress(_cycle: int, _share: float) -> None:
        simulation.run()

    simulation = pysim.Simulation(pysim.assemble(endless, "tiny"), progress=progress)
    with pytest.raises(pysim.InputError, match="cannot run it again"):
        simulation.run()


def test_progress_may_run_another_simulation(twice: str, endless: str) -> None:
    inner = pysim.Simulation(pysim.assemble(twice, "tiny"))
    x = np.arange(8, dtype=np.float16)
    sums: list[float] = []

    def progress(_cycle: int, _share: float) -> None:
        sums.append(float(inner.run(x=x).y.sum()))
        if len(sums) == 3:
            raise ValueError("enough")

    with pytest.raises(ValueError, match="enough"):
        pysim.assemble(endless, "tiny").run(progress=progress)
    assert sums == [56.0] * 3


def test_ctrl_c_ends_waiting_for_another_thread(twice: str, endless: str) -> None:
    stop = threading.Event()
    started = threading.Event()

    def progress(_cycle: int, _share: float) -> None:
        started.set()
        if stop.is_set():
            raise ValueError("enough")

    def simulate() -> None:
        with pytest.raises(ValueError, match="enough"):
            pysim.assemble(endless, "tiny").run(progress=progress)

    def interrupt() -> None:
        time.sleep(0.2)
        os.kill(os.getpid(), signal.SIGINT)

    kernel = pysim.assemble(twice, "tiny")
    threads = [threading.Thread(target=simulate), threading.Thread(target=interrupt)]
    threads[0].start()
    assert started.wait(30)
    threads[1].start()
    with pytest.raises(KeyboardInterrupt):
        kernel.run(x=np.zeros(8, np.float16))
    stop.set()
    for thread in threads:
        thread.join(30)
    np.testing.assert_array_equal(kernel.run(x=np.ones(8, np.float16)).y, 2)


def test_progress_line(endless: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """It ends with a line break, however the run ended."""
    show = pysim._simulation.ProgressLine.__call__

    def stop_after(line: pysim._simulation.ProgressLine, cycle: int, share: float) -> None:
        show(line, cycle, share)
        raise KeyboardInterrupt

    monkeypatch.setattr(pysim._simulation.ProgressLine, "__call__", stop_after)
    with pytest.raises(KeyboardInterrupt):
        pysim.assemble(endless, "tiny").run(progress=True)
    error = capsys.readouterr().err
    assert error.startswith("\rcycle ")
    assert error.endswith("\n")


INTERRUPTED = """
    import numpy as np
    import pysim
    import sys

    endless, twice = (pysim.assemble(text, "tiny") for text in sys.argv[1:])
    for _ in range(2):
        print("running", flush=True)
        try:
            endless.run()
        except KeyboardInterrupt:
            print("interrupted", flush=True)
    y = twice.run(x=np.arange(8, dtype=np.float16)).y
    print("alive" if np.array_equal(y, 2 * np.arange(8)) else y, flush=True)
"""


def test_ctrl_c_ends_the_run_and_not_the_process(endless: str, twice: str) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(INTERRUPTED), endless, twice],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        for _ in range(2):
            assert process.stdout.readline() == "running\n", process.stderr.read()
            time.sleep(0.2)
            begin = time.monotonic()
            process.send_signal(signal.SIGINT)
            assert process.stdout.readline() == "interrupted\n"
            assert time.monotonic() - begin < 2
        assert process.stdout.readline() == "alive\n"
        assert process.wait(30) == 0
