# SPDX-License-Identifier: Apache-2.0
"""npulab bench: suites, exact baselines, and what a change looks like."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from cli.cli_support import good, npulab, refused, write_copy

SUITE = """\
cases:
  - name: plain
    kernel: copy_f32.npu
    machine: tiny
  - name: changed
    kernel: copy_f32.npu
    machine: mine.yaml
    params: {N: 64}
    set: [gm.latency_ns=30, gm.banks=4]
    cores: 1
    timing_only: true
"""


@pytest.fixture
def suite(tmp_path: Path) -> Path:
    write_copy(tmp_path)
    (tmp_path / "mine.yaml").write_text("extends: tiny\nname: mine\n", encoding="utf-8")
    path = tmp_path / "suite.yaml"
    path.write_text(SUITE, encoding="utf-8")
    return path


@pytest.fixture
def baseline(suite: Path) -> Path:
    path = suite.with_name("baseline.json")
    good("bench", suite, "--baseline", path, "--update")
    return path


def cases(path: Path) -> dict[str, dict[str, Any]]:
    data = json.loads(path.read_text(encoding="utf-8"))
    assert data["schema"] == "npulab-bench-1"
    found: dict[str, dict[str, Any]] = data["cases"]
    return found


def test_prints_each_case_with_its_bound(suite: Path) -> None:
    lines = good("bench", suite).splitlines()
    assert [line.split()[0] for line in lines] == ["case", "plain", "changed"]
    assert re.search(r"plain +\d+ +\d+\.\d{3} +256 +\d+\.\d{3} us \(\d+\.\d %\)", lines[1])


def test_json_is_the_form_of_the_baseline(suite: Path, baseline: Path) -> None:
    assert json.loads(good("bench", suite, "--json", "-")) == json.loads(baseline.read_text(encoding="utf-8"))
    other = suite.with_name("other.json")
    good("bench", suite, "--json", other)
    assert other.read_bytes() == baseline.read_bytes()


def test_every_key_of_a_case_is_heard(suite: Path, baseline: Path) -> None:
    found = cases(baseline)
    assert found["plain"]["machine"] == "tiny"
    assert found["changed"]["machine"] == "mine"
    assert found["changed"]["gm_read_bytes"] == 64 * 4  # one core, N = 64
    assert found["plain"]["gm_read_bytes"] == 2 * 16 * 4
    suite.write_text(SUITE.replace("gm.latency_ns=30", "gm.latency_ns=500"), encoding="utf-8")
    result = npulab("bench", suite, "--baseline", baseline)
    assert "changed: changed: cycles" in result.err
    suite.write_text(SUITE.replace("timing_only: true", "timing_only: false"), encoding="utf-8")
    assert npulab("bench", suite, "--baseline", baseline).status == 0


def test_equal_is_status_0_and_said(suite: Path, baseline: Path) -> None:
    assert f"as in {baseline}: 2 cases" in good("bench", suite, "--baseline", baseline)


# TR-10: one cycle more or less turns the gate red.
@pytest.mark.parametrize("by", [1, -1])
def test_tr_10_a_change_of_one_cycle_is_status_1(by: int, suite: Path, baseline: Path) -> None:
    data = json.loads(baseline.read_text(encoding="utf-8"))
    now = data["cases"]["plain"]["cycles"]
    data["cases"]["plain"]["cycles"] = now - by
    baseline.write_text(json.dumps(data), encoding="utf-8")
    result = npulab("bench", suite, "--baseline", baseline)
    assert result.status == 1
    assert re.search(rf"plain: cycles {now - by} -> {now}, x [01]\.\d+", result.err)
    assert "1 difference from" in result.err
    assert "--update" in result.err
    assert npulab("bench", suite, "--baseline", baseline, "--json", "-").status == 1


def test_new_and_missing_cases_are_changes(suite: Path, baseline: Path) -> None:
    suite.write_text(SUITE.replace("name: plain", "name: other"), encoding="utf-8")
    result = npulab("bench", suite, "--baseline", baseline)
    assert result.status == 1
    assert re.search(r"other: not in the baseline \(\d+ cycles\)", result.err)
    assert re.search(r"plain: in the baseline \(\d+ cycles\), not in the suite", result.err)


def test_update_writes_it_anew(suite: Path, baseline: Path) -> None:
    suite.write_text(SUITE.replace("name: plain", "name: other"), encoding="utf-8")
    good("bench", suite, "--baseline", baseline, "--update")
    assert sorted(cases(baseline)) == ["changed", "other"]
    assert npulab("bench", suite, "--baseline", baseline).status == 0
    assert "--update needs --baseline" in refused("bench", suite, "--update")


@pytest.mark.parametrize(
    "content", ["", "{}", "[1]", '{"schema": "other"}', '{"schema": "npulab-bench-1", "cases": {"a": {}}}']
)
def test_broken_baselines_are_refused(content: str, suite: Path, baseline: Path) -> None:
    baseline.write_text(content, encoding="utf-8")
    message = refused("bench", suite, "--baseline", baseline)
    assert "bad-baseline" in message
    assert str(baseline) in message
    baseline.unlink()
    assert "No such file" in refused("bench", suite, "--baseline", baseline)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (("cases:", "case:"), r"suite\.yaml:1:1: .*no key 'case'; did you mean 'cases'"),
        (("machine: tiny", "machin: tiny"), r"suite\.yaml:4:\d+: .*no key 'machin'; did you mean 'machine'"),
        (("    machine: tiny\n", ""), r"cases\.0\.machine: is missing"),
        (("cores: 1", "cores: 0"), r"suite\.yaml:10:\d+: .*cores: 0 is not in 1\.\."),
        (("N: 64", "N: many"), r"suite\.yaml:8:\d+: .*params\.N: expects an integer"),
        (("timing_only: true", "timing_only: yes"), r"timing_only: expects true or false"),
        (("name: changed", "name: plain"), r"another case is called 'plain'"),
        (("cores: 1", "cores: 1\n    cores: 2"), r"suite\.yaml:11:\d+: .*cores"),
        (("set: [gm.latency_ns=30, gm.banks=4]", "set: gm.banks=4"), r"set: expects a list"),
        (("machine: tiny\n", "machine: tiny\n    in: x=ones\n"), r"in: expects a list of 'tensor=data'"),
        (("machine: tiny\n", "machine: tiny\n    in: [nosuch=ones]\n"), r"case plain: .*'nosuch'"),
        (("gm.banks=4", "gm.bank=4"), r"case changed: .*did you mean 'banks'"),
        (
            ("kernel: copy_f32.npu\n    machine: tiny", "kernel: none/at_all\n    machine: tiny"),
            r"case plain: no kernel 'none/at_all'",
        ),
    ],
)
def test_broken_suites_say_where(change: tuple[str, str], said: str, suite: Path) -> None:
    text = SUITE.replace(*change)
    assert text != SUITE
    suite.write_text(text, encoding="utf-8")
    assert re.search(said, refused("bench", suite), re.DOTALL)


def test_stalls_and_the_like_keep_their_status(suite: Path) -> None:
    (suite.parent / "copy_f32.npu").write_text(".kernel stall\n  wait_flag mte2, mte3, 0\n  end\n", encoding="utf-8")
    message = refused("bench", suite, status=3)
    assert "case plain:" in message
