# SPDX-License-Identifier: Apache-2.0
"""docs/field_cases.md and the tests agree: every case has a test or says what it waits for; no test is unknown."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import pytest
from support import ROOT, shipped

PAGE = (ROOT / "docs/field_cases.md").read_text(encoding="utf-8")
TEST = re.compile(r"^(?:TEST(?:_F|_P)?\(\s*\w+,\s*(\w+)\)|def (test_\w+)\()", re.MULTILINE)
NAMED = re.compile(r"`([\w/]+\.(?:cpp|py))::(\w+)`")


@dataclass(frozen=True)
class Case:
    identity: str
    fault: str
    held_by: str


CASES = [Case(*row) for row in re.findall(r"^\| ([A-Z]{2}-\d{2}) \| ([^|]+) \| ([^|]+) \|$", PAGE, re.MULTILINE)]
# Prefix to the number of its cases.
AREAS = {
    prefix: int(count) for prefix, count in re.findall(r"^\| `([A-Z]{2})` \|[^|]+\| (\d+) \|$", PAGE, re.MULTILINE)
}
IN_NAME = re.compile(rf"(?:^|_)({'|'.join(AREAS)})_(\d{{2}})(?=_|$)", re.IGNORECASE)


def identities(name: str) -> set[str]:
    """The cases that the name of a test carries."""
    return {f"{prefix.upper()}-{number}" for prefix, number in IN_NAME.findall(name)}


def names_by_file() -> dict[str, set[str]]:
    """Every test, by file below tests/, from the sources."""
    return {
        path.relative_to("tests").as_posix(): {
            one or other for one, other in TEST.findall((ROOT / path).read_text(encoding="utf-8"))
        }
        for path in map(Path, shipped("tests/*_test.cpp", "tests/*/test_*.py"))
    }


TESTS = names_by_file()
CARRIED = {identity for names in TESTS.values() for name in names for identity in identities(name)}


def test_areas_count_their_cases() -> None:
    assert Counter(case.identity[:2] for case in CASES) == AREAS
    total = re.search(r"^\| \| all \| (\d+) \|$", PAGE, re.MULTILINE)
    assert total
    assert int(total[1]) == len(CASES)


def test_each_case_stands_once_and_in_order() -> None:
    order = list(AREAS)
    found = [(order.index(case.identity[:2]), case.identity) for case in CASES]
    assert found == sorted(set(found))


def test_no_test_carries_a_case_without_a_row() -> None:
    assert CARRIED - {case.identity for case in CASES} == set()


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.identity)
def test_row_is_true(case: Case) -> None:
    named = NAMED.findall(case.held_by)
    assert len(named) == case.held_by.count("::"), "a test is written `file::name`"
    for file, name in named:
        assert name in TESTS.get(file, set()), f"{case.identity}: no test {file}::{name}"
        assert case.identity in identities(name), f"{case.identity}: {name} does not carry it"
    assert bool(named) == (case.identity in CARRIED), f"{case.identity}: a test carries it and the row names none"
    assert named or re.search(r"planned: \w|cannot apply: \w", case.held_by), f"{case.identity} is held by nothing"
