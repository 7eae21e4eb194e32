# SPDX-License-Identifier: Apache-2.0
"""Perturbs the sources one place at a time and expects the tests to notice.

A copy of the sources is built in build/mutation. Each point (a meaning, a cost, a default, a check; see points.py) is
put in, what it changes is built, and the suites that should notice run until one is red. What no suite notices is
printed: a survivor is a test that is missing. Exit status 1 when there is one.
"""

from __future__ import annotations

import argparse
import os
import random
import shutil
import subprocess
import sys
import time
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from mutation.points import ROOT, Point, all_points

FUZZ = ("fuzz", "-*Replay*:*Sensitivity*")
# What is expected to notice, the quickest first: suite and gtest filter.
SUITES: dict[str, list[tuple[str, str]]] = {
    "isa": [("isa", "*"), FUZZ, ("simulator", "-Coverage.*")],
    "sim/config": [("config", "*"), ("model", "*")],
    "sim/values": [("values", "*"), FUZZ],
    "sim/memory": [("model", "*"), FUZZ, ("simulator", "-Coverage.*")],
    "sim/dram": [("model", "*"), ("simulator", "-Coverage.*")],
    "sim/report": [("model", "*"), ("simulator", "-Coverage.*")],
    "sim/core": [FUZZ, ("simulator", "*")],
    "sim/systemc": [FUZZ, ("simulator", "-Coverage.*")],
    "sim": [("simulator", "-Coverage.*"), FUZZ],
    "kernels": [("kernels", "Library*:Reference*")],
}
# A cost or a meaning of the table is felt in runs.
FELT_IN_RUNS = [FUZZ, ("simulator", "-Coverage.*"), ("fuzz", "*Sensitivity*"), ("kernels", "*Time*")]


@dataclass
class Tree:
    source: Path
    build: Path
    jobs: int

    def prepare(self, options: list[str]) -> None:
        self.build.mkdir(parents=True, exist_ok=True)
        launcher = ["-DCMAKE_CXX_COMPILER_LAUNCHER=ccache"] if shutil.which("ccache") else []
        command: list[str | Path] = [
            "cmake",
            "-S",
            self.source,
            "-B",
            self.build,
            "-DCMAKE_CXX_FLAGS_RELEASE=-O1",
            *launcher,
            *options,
        ]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)

    def make(self, targets: list[str]) -> bool:
        command: list[str | Path] = ["cmake", "--build", self.build, "-j", str(self.jobs), "--target", *targets]
        return subprocess.run(command, capture_output=True, check=False).returncode == 0

    def notices(self, suite: str, tests: str, seconds: float) -> bool:
        programs = [*self.build.glob(f"tests/npulab_test_{suite}"), *self.build.glob(f"tests/*/npulab_test_{suite}")]
        command: list[str | Path] = [programs[0], "--gtest_brief=1", "--gtest_fail_fast", f"--gtest_filter={tests}"]
        try:
            result = subprocess.run(command, capture_output=True, check=False, timeout=seconds, cwd=self.build)
        except subprocess.TimeoutExpired:
            return True
        return result.returncode != 0


def suites_of(point: Point) -> list[tuple[str, str]]:
    if point.kind in ("meaning", "cost"):
        return FELT_IN_RUNS
    return SUITES[Path(point.path).parent.as_posix()]


def copy_sources(to: Path) -> None:
    """What git ships, as it stands in the checkout; files that have not changed keep their times."""
    listing = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        check=True,
        capture_output=True,
        text=True,
    )
    for name in filter(None, listing.stdout.split("\0")):
        source, target = ROOT / name, to / name
        if not source.is_file() or (target.is_file() and target.read_bytes() == source.read_bytes()):
            continue
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source, target)


def verdict(tree: Tree, point: Point, seconds: float) -> str:
    """The suite that noticed, "build" when it does not compile, or nothing."""
    path = tree.source / point.path
    text = path.read_text(encoding="utf-8")
    path.write_text(point.apply(text), encoding="utf-8")
    try:
        for suite, tests in suites_of(point):
            if not tree.make([f"npulab_test_{suite}"]):
                return "build"
            if tree.notices(suite, tests, seconds):
                return suite
        return ""
    finally:
        path.write_text(text, encoding="utf-8")


def main() -> int:
    parser = argparse.ArgumentParser(prog="./dev mutate", description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("pattern", nargs="?", default="*", help="points by name, as 'cost:*' or '*:isa/check.cpp:*'")
    parser.add_argument("--list", action="store_true", help="print the names of the points and stop")
    parser.add_argument("--sample", type=int, metavar="N", help="take N of them, chosen by --seed")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--work", type=Path, default=ROOT / "build/mutation", help="folder of the copy and its build")
    parser.add_argument(
        "--cmake", action="append", default=[], metavar="OPTION", help="further option for cmake; repeatable"
    )
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 2)
    parser.add_argument("--seconds", type=float, default=600, help="a suite that takes longer has noticed")
    options = parser.parse_args()

    points = [point for point in all_points() if fnmatch(point.name, options.pattern) or options.pattern in point.name]
    if options.list:
        print(*(point.name for point in points), sep="\n")
        return 0
    if options.sample is not None:
        points = random.Random(options.seed).sample(points, min(options.sample, len(points)))
    if not points:
        print(f"mutate: no point matches '{options.pattern}'", file=sys.stderr)
        return 2
    tree = Tree(options.work / "source", options.work / "source/build/rel", options.jobs)
    copy_sources(tree.source)
    tree.prepare(["-DCMAKE_BUILD_TYPE=Release", "-DNPULAB_DEVELOPER=OFF", "-DNPULAB_TESTS=ON", *options.cmake])
    suites = sorted({suite for point in points for suite, _ in suites_of(point)})
    if not tree.make([f"npulab_test_{suite}" for suite in suites]):
        print("mutate: the sources do not build as they are", file=sys.stderr)
        return 2
    survivors = []
    for number, point in enumerate(points, 1):
        begin = time.monotonic()
        noticed = verdict(tree, point, options.seconds)
        print(
            f"[{number}/{len(points)}] {noticed or 'SURVIVED':<10} {point.name}  ({time.monotonic() - begin:.0f} s)",
            flush=True,
        )
        if not noticed:
            survivors.append(point)
    print(f"{len(points)} points, {len(survivors)} survivors")
    for point in survivors:
        print(f"  {point.path}:{point.line}: {point.kind}: {point.what}")
    return 1 if survivors else 0


if __name__ == "__main__":
    sys.exit(main())
