# SPDX-License-Identifier: Apache-2.0
"""Counts what the suites reported and prints the closing line `N passed, N failed, N skipped`.

Every ctest entry must have left its XML file (GoogleTest or JUnit form), with at least one test in it: a program that
crashed, or that ran nothing, counts as one failure and is named.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from dataclasses import dataclass, field
from pathlib import Path

REPORT_OPTION = re.compile(r"--(?:gtest_output=xml:|junitxml=)(.+)")


@dataclass
class Counts:
    passed: int = 0
    failed: int = 0
    skipped: int = 0
    notes: list[str] = field(default_factory=list)

    def add(self, other: Counts) -> None:
        self.passed += other.passed
        self.failed += other.failed
        self.skipped += other.skipped
        self.notes += other.notes


def reports_of(build: Path, suite: str | None) -> list[tuple[str, Path | None]]:
    """Name and report file of each ctest entry; None where there is no report."""
    listing = subprocess.run(
        ["ctest", "--test-dir", str(build), "--show-only=json-v1"], check=False, capture_output=True, text=True
    )
    if listing.returncode != 0:
        return [(build.name, None)]
    found: list[tuple[str, Path | None]] = []
    for test in json.loads(listing.stdout)["tests"]:
        if suite is not None and test["name"] != suite:
            continue
        matches = [match for word in test.get("command", []) if (match := REPORT_OPTION.fullmatch(word))]
        found.append((f"{build.name}/{test['name']}", Path(matches[0].group(1)) if matches else None))
    return found


def count(name: str, report: Path | None) -> Counts:
    def broken(reason: str) -> Counts:
        return Counts(failed=1, notes=[f"FAILED  {name}: {reason}"])

    if report is None or not report.is_file():
        return broken("left no report: it crashed or was never built")
    try:
        root = ElementTree.parse(report).getroot()
    except ElementTree.ParseError as error:
        return broken(f"left an unreadable report: {error}")
    counts = Counts()
    for case in root.iter("testcase"):
        title = f"{name}: {case.get('classname')}.{case.get('name')}"
        if case.find("failure") is not None or case.find("error") is not None:
            counts.failed += 1
            counts.notes.append(f"FAILED  {title}")
        elif (skipped := case.find("skipped")) is not None or case.get("status") == "notrun":
            counts.skipped += 1
            reason = skipped.get("message", "") if skipped is not None else "disabled"
            # GoogleTest puts the place on a line of its own before the reason.
            counts.notes.append(
                f"skipped {title}: {reason.strip().splitlines()[-1] if reason.strip() else 'no reason'}"
            )
        else:
            counts.passed += 1
    if counts.passed + counts.failed + counts.skipped == 0:
        return broken("reported 0 tests")
    return counts


def exit_statuses(build: Path, suites: list[tuple[str, Counts]]) -> Counts:
    """Programs that ended badly although all their tests passed, as under a leak checker."""
    log = build / "results" / "ctest.xml"
    if not log.is_file():
        return Counts(failed=1, notes=[f"FAILED  {build.name}: ctest left no log"])
    passed = {case.get("name") for case in ElementTree.parse(log).iter("testcase") if case.get("status") == "run"}
    bad = [name for name, counts in suites if counts.failed == 0 and name.split("/")[-1] not in passed]
    return Counts(
        failed=len(bad), notes=[f"FAILED  {name}: its tests passed, its exit status is not 0" for name in bad]
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--ctest", type=Path, action="append", default=[], help="build folder whose ctest entries count"
    )
    parser.add_argument("--xml", type=Path, action="append", default=[], help="further report that must exist")
    parser.add_argument("--suite", help="count only this ctest entry")
    parser.add_argument("--part", action="store_true", help="leave the closing line to the caller")
    options = parser.parse_args()

    total = Counts()
    suites: list[tuple[str, Counts]] = []
    for build in options.ctest:
        found = [(name, count(name, report)) for name, report in reports_of(build, options.suite)]
        total.add(exit_statuses(build, found))
        suites += found
    suites += [(path.stem, count(path.stem, path)) for path in options.xml]
    if not suites:
        total.add(Counts(failed=1, notes=[f"FAILED  no suite is named '{options.suite}'"]))
    print(f"\n{'suite':<24}{'passed':>8}{'failed':>8}{'skipped':>8}")
    for name, counts in suites:
        print(f"{name:<24}{counts.passed:>8}{counts.failed:>8}{counts.skipped:>8}")
        total.add(counts)
    for note in total.notes:
        print(note)
    if not options.part:
        print(f"{total.passed} passed, {total.failed} failed, {total.skipped} skipped")
    return 1 if total.failed else 0


if __name__ == "__main__":
    sys.exit(main())
