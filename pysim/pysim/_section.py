# SPDX-License-Identifier: Apache-2.0
"""Nested plain data with attributes: machines, kernel headers, parts of a report."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from pysim import _core


def view(value: Any) -> Any:
    """The value with attribute access to all dicts in it. Nothing is copied but lists."""
    if isinstance(value, dict):
        return Section(value)
    if isinstance(value, list):
        return [view(item) for item in value]
    return value


class Section(Mapping[str, Any]):
    """A read-only dict whose keys are attributes too; one that is called like a method of dicts only by ["name"]."""

    def __init__(self, data: dict[str, Any]) -> None:
        self._data = data

    def __getitem__(self, key: str) -> Any:
        return view(self._data[key])

    def __iter__(self) -> Iterator[str]:
        return iter(self._data)

    def __len__(self) -> int:
        return len(self._data)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        try:
            return self[name]
        except KeyError:
            raise AttributeError(f"no '{name}'{_core.suggestion(name, list(self._data))}") from None

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self._data]

    def to_dict(self) -> dict[str, Any]:
        return self._data

    def __repr__(self) -> str:
        return json.dumps(self._data, indent=2, ensure_ascii=False)
