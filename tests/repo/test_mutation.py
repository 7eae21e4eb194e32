# SPDX-License-Identifier: Apache-2.0
"""The places that ./dev mutate perturbs: every kind is found, and every one fits the sources."""

from __future__ import annotations

from collections import Counter

from mutation.points import all_points, rows, text_of


def test_every_kind_of_place_is_found() -> None:
    kinds = Counter(point.kind for point in all_points())
    assert kinds["meaning"] >= 40
    assert kinds["cost"] >= 0.6 * len(rows())
    assert kinds["default"] >= 60
    assert kinds["check"] >= 200


def test_every_place_changes_its_file() -> None:
    for point in all_points():
        text = text_of(point.path)
        assert point.apply(text) != text, point.name
