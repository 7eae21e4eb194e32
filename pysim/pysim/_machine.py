# SPDX-License-Identifier: Apache-2.0
"""Machines: loaded from files by the same strict rules as on the command line."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from pysim import _core
from pysim._section import Section, view

DATA_CANDIDATES = [Path(__file__).parent / "data"]


def data_folders() -> tuple[Path, Path]:
    """Where the shipped machines and kernels are."""
    return _core.data_folders(DATA_CANDIDATES)


def machines() -> dict[str, str]:
    """The shipped machines: name and what each is."""
    return _core.machines(data_folders()[0])


def _plain(value: Any) -> Any:
    if isinstance(value, np.generic):
        return value.item()
    raise TypeError(f"{value!r} cannot be the value of a machine key; numbers, text, lists, dicts and None can")


def _settings(overrides: Mapping[str, Any] | None, nested: Mapping[str, Any]) -> list[str]:
    """JSON is YAML, so that values arrive as what they are."""
    named = [*(overrides or {}).items(), *((key.replace("__", "."), value) for key, value in nested.items())]
    return [f"{path}={json.dumps(value, default=_plain)}" for path, value in named]


class Machine:
    """A machine by name or file. Keys are attributes: ``machine.gm.channels``, ``machine.core_types.core.count``.

    Overrides are a dict of paths, or keywords with a double underscore for each dot::

        Machine("tiny", {"gm.channels": 2})
        Machine("tiny", gm__channels=2)
    """

    def __init__(
        self, name_or_file: str | os.PathLike[str], overrides: Mapping[str, Any] | None = None, /, **nested: Any
    ) -> None:
        settings = _settings(overrides, nested)
        self._adopt(_core.Machine(os.fspath(name_or_file), settings, data_folders()[0]))

    def _adopt(self, core: _core.Machine) -> Machine:
        self._core = core
        self._keys = Section(core.to_dict())
        return self

    @classmethod
    def from_yaml(cls, text: str, source: str = "machine") -> Machine:
        """A machine from the text of a file; `source` stands for the file in messages."""
        core = _core.Machine.from_text(text, source, [], data_folders()[0])
        return cls.__new__(cls)._adopt(core)

    def replace(self, overrides: Mapping[str, Any] | None = None, /, **nested: Any) -> Machine:
        """The same machine with some keys changed."""
        settings = _settings(overrides, nested)
        core = _core.Machine.from_text(self.to_yaml(), self._keys["name"], settings, data_folders()[0])
        return type(self).__new__(type(self))._adopt(core)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(self._keys, name)

    def __getitem__(self, path: str) -> Any:
        """The value at a path with dots: ``machine["gm.channels"]``."""
        value: Any = self._keys.to_dict()
        for part in path.split("."):
            if not isinstance(value, (dict, list)):
                raise KeyError(path)
            value = value[part] if isinstance(value, dict) else value[int(part)]
        return view(value)

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self._keys]

    def to_dict(self) -> dict[str, Any]:
        """Every key with its value, defaults included."""
        return self._core.to_dict()

    def to_yaml(self) -> str:
        """A machine file with every key; loads back to the same machine."""
        return self._core.to_yaml()

    def summary(self) -> str:
        """The peaks that follow from the keys, as comments, then `to_yaml`."""
        return self._core.summary()

    def diff(self, other: Machine) -> list[str]:
        """A line "path: here -> there" for each key that differs."""
        return self._core.diff(other._core)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Machine) and self.to_dict() == other.to_dict()

    __hash__ = None  # type: ignore[assignment]

    def __reduce__(self) -> tuple[Callable[..., Machine], tuple[str, str]]:
        return type(self).from_yaml, (self.to_yaml(), self._keys["name"])

    def __repr__(self) -> str:
        return f"<Machine {self._keys['name']}: {self._keys['doc']}>"


def as_machine(machine: str | os.PathLike[str] | Machine) -> Machine:
    return machine if isinstance(machine, Machine) else Machine(machine)
