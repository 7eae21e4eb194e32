# SPDX-License-Identifier: Apache-2.0
"""pysim.Machine: attributes, overrides, refusals, text forms."""

from __future__ import annotations

import pickle
from pathlib import Path

import numpy as np
import pysim
import pytest
from support import shipped

NAMES = sorted(path.stem for path in shipped("configs/*.yaml"))


def test_machines_names_everything_shipped() -> None:
    listed = pysim.machines()
    assert sorted(listed) == NAMES
    assert all(listed.values())


@pytest.mark.parametrize("name", NAMES)
def test_every_key_is_an_attribute(name: str) -> None:
    machine = pysim.Machine(name)

    def compare(attributes: object, data: dict[str, object]) -> None:
        for key, value in data.items():
            attribute = getattr(attributes, key)
            assert key in dir(attributes)
            if isinstance(value, dict):
                compare(attribute, value)
            elif not isinstance(value, list):
                assert attribute == value

    compare(machine, machine.to_dict())
    assert machine.name in repr(machine)


@pytest.mark.parametrize("name", NAMES)
def test_text_and_pickle_give_the_same_machine(name: str) -> None:
    machine = pysim.Machine(name)
    assert pysim.Machine.from_yaml(machine.to_yaml()) == machine
    assert pickle.loads(pickle.dumps(machine)) == machine


def test_overrides_in_three_spellings() -> None:
    plain = pysim.Machine("tiny")
    dotted = pysim.Machine("tiny", {"gm.channels": 2, "core_types.core.count": 1})
    nested = pysim.Machine("tiny", gm__channels=np.int64(2), core_types__core__count=1)
    assert dotted == nested == plain.replace(gm__channels=2).replace({"core_types.core.count": 1})
    assert dotted.gm.channels == dotted["gm.channels"] == 2
    assert plain.diff(dotted) == ["core_types.core.count: 2 -> 1", "gm.channels: 1 -> 2"]
    assert plain != dotted


def test_values_of_any_kind() -> None:
    machine = pysim.Machine(
        "tiny", {"gm.model": "ideal", "gm.latency_ns": 2.5, "core_types.core.vector.types": ["f32", "f16"]}
    )
    assert machine.gm.model == "ideal"
    assert machine.gm.latency_ns == 2.5
    assert machine.core_types.core.vector.types == ["f32", "f16"]


def test_lists_of_sections_and_removed_sections() -> None:
    path = {"bytes_per_cycle": 8, "request_bytes": 64}
    machine = pysim.Machine(
        "tiny",
        {
            "core_types.core.buffers.l1": None,
            "core_types.core.dma.mte1": None,
            "core_types.core.dma.fix": None,
            "core_types.core.dma.mte2.paths": [{"from": "gm", "to": "ub", **path}],
            "core_types.core.dma.mte3.paths": [{"from": "ub", "to": "gm", **path}],
        },
    )
    assert list(machine.core_types.core.buffers) == ["bt", "l0a", "l0b", "l0c", "ub"]
    assert machine.core_types.core.dma.mte2.paths[0].to == "ub"


def test_cf_01_misspelt_key_is_named_with_the_nearest() -> None:
    with pytest.raises(pysim.InputError, match="did you mean 'channels'") as caught:
        pysim.Machine("tiny", gm__chanels=2)
    assert caught.value.code == "unknown-key"
    with pytest.raises(AttributeError, match="did you mean 'channels'"):
        _ = pysim.Machine("tiny").gm.chanels


@pytest.mark.parametrize("value", [0, -1, 1e30, float("nan"), "many", True, [1]])
def test_cf_04_values_out_of_range_are_refused(value: object) -> None:
    with pytest.raises(pysim.InputError, match=r"gm\.channels"):
        pysim.Machine("tiny", gm__channels=value)


def test_cf_08_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(pysim.InputError, match=r"none\.yaml") as caught:
        pysim.Machine(tmp_path / "none.yaml")
    assert caught.value.code == "cannot-open"
    with pytest.raises(pysim.InputError, match="did you mean 'tiny'"):
        pysim.Machine("tini")


def test_error_in_a_file_has_its_place(tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text("extends: tiny\nname: mine\ngm:\n  channels: 0\n")
    with pytest.raises(pysim.InputError) as caught:
        pysim.Machine(path)
    assert caught.value.where == f"{path}:4:13"
    assert str(caught.value).startswith(f"{path}:4:13: ")


def test_data_folder_of_the_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "configs").mkdir()
    (tmp_path / "configs/mine.yaml").write_text(pysim.Machine("tiny").replace(name="mine").to_yaml())
    monkeypatch.setenv("NPULAB_DATA", str(tmp_path))
    assert list(pysim.machines()) == ["mine"]
    monkeypatch.setenv("NPULAB_DATA", str(tmp_path / "none"))
    with pytest.raises(pysim.InputError, match="no such folder"):
        pysim.machines()


def test_cf_03_a_key_given_as_path_and_as_keyword_names_both() -> None:
    with pytest.raises(pysim.InputError, match=r"gm\.channels=4: .* is set twice, first by --set gm\.channels=2"):
        pysim.Machine("tiny", {"gm.channels": 2}, gm__channels=4)
