# SPDX-License-Identifier: Apache-2.0
"""Every fault is found and told in its words; the same kernel without it is silent; every code has a fault.

NPULAB_UPDATE=1 in the environment writes what the runs say first.
"""

from __future__ import annotations

import difflib
import os
import re

import pytest
from faults.fault_support import CLEAN, FAULTS, FOLDER, UNREACHABLE, codes_in, golden, source_codes, told

MOST_LINES = 6  # that a fault and its twin differ in


def statements(kernel: str) -> list[str]:
    lines = (FOLDER / f"{kernel}.npu").read_text(encoding="utf-8").splitlines()
    return [line.strip() for line in lines if not line.startswith(";")]


@pytest.mark.parametrize("fault", FAULTS)
def test_fault_is_told(fault: str) -> None:
    said = told(fault)
    if os.environ.get("NPULAB_UPDATE"):
        (FOLDER / f"{fault}.txt").write_text(said.text(), encoding="utf-8")
    assert said.items
    assert said.text() == golden(fault)


@pytest.mark.parametrize("fault", FAULTS)
def test_twin_is_silent(fault: str) -> None:
    said = told(fault + CLEAN)
    assert said.text() == "exit status 0\n"


@pytest.mark.parametrize("fault", FAULTS)
def test_twin_is_the_same_kernel(fault: str) -> None:
    head = [(FOLDER / f"{name}.npu").read_text(encoding="utf-8").splitlines() for name in (fault, fault + CLEAN)]
    assert head[0][2] == head[1][2], "run differently"
    changes = [
        line for line in difflib.ndiff(statements(fault), statements(fault + CLEAN)) if line.startswith(("- ", "+ "))
    ]
    assert 0 < len(changes) <= 2 * MOST_LINES, "\n".join(changes)


def test_nothing_else_lies_here() -> None:
    expected = {f"{fault}{end}" for fault in FAULTS for end in (".npu", f"{CLEAN}.npu", ".txt")}
    found = {path.name for path in FOLDER.iterdir() if path.suffix in {".npu", ".txt"}}
    assert found == expected


def test_every_code_has_a_fault() -> None:
    findings, refusals = source_codes()
    said = set().union(*(told(fault).codes() for fault in FAULTS))
    assert said == (findings | refusals) - UNREACHABLE.keys()
    assert UNREACHABLE.keys() <= refusals


def test_codes_are_read_from_sources() -> None:
    text = """
      diagnostics_.add(
          Severity::error, "one-finding", message);
      d.add(Severity::warning, x.nan ? "either" : "or-other", message);
      d.push_back({"warning", "third", text});
      throw Error(Category::stall,
                  "a-stall", text);
      throw Error(Category::input, "no-finding", text);
      refuse("not-passed-on", text);
    """
    assert codes_in(text) == ({"one-finding", "either", "or-other", "third"}, {"a-stall"})
    assert codes_in(text + "throw Error(Category::verdict, code, text);")[1] == {"a-stall", "not-passed-on"}


@pytest.mark.parametrize("fault", [fault for fault in FAULTS if fault.startswith("race_")])
def test_findings_do_not_depend_on_how_a_run_is_carried_out(fault: str) -> None:
    assert told(fault, "full", "--no-block-cache") == told(fault)


@pytest.mark.parametrize("fault", ["race_hidden", "race_cores_hidden", "race_store_copy"])
def test_sy_23_a_race_that_the_order_of_this_run_hides(fault: str) -> None:
    assert "race" not in told(fault, "fast").codes()
    assert "race" in told(fault).codes()


def test_sy_05_a_barrier_on_the_path_that_is_not_taken() -> None:
    assert told("race_barrier_on_one_path").codes() == {"race"}
    assert told("race_barrier_on_one_path" + CLEAN).status == 0


@pytest.mark.parametrize("fault", ["additions_lost", "additions_lost_fma"])
def test_nu_06_a_sum_that_stands_still_is_told(fault: str) -> None:
    assert told(fault).codes() == {"additions-lost"}


def test_every_finding_of_a_run_is_listed() -> None:
    heads = [head for head, _ in told("several_findings").items]
    places = [int(match[1]) for head in heads if (match := re.search(r":(\d+)", head))]
    assert places == sorted(places)
    assert len(heads) >= 6
    assert len(told("several_findings").codes()) >= 4
