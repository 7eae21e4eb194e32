# SPDX-License-Identifier: Apache-2.0
"""Packed operands of sparse_gemm: there and back, forms, refusals."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pysim
import pytest

Array = np.ndarray[Any, np.dtype[Any]]
TYPES = [np.float32, np.float16, ml_dtypes.bfloat16, np.int8, np.uint8, ml_dtypes.float8_e5m2]
SHAPES = [(0, 5), (1, 1), (3, 4), (5, 7), (2, 33), (4, 0)]


def sparse(rows: int, columns: int, dtype: Any, of_four: int) -> Array:
    """Random values, at most `of_four` of every four along a row."""
    random = np.random.default_rng(rows * 100 + columns)
    dense = random.integers(1, 9, (rows, columns))
    order = random.random((rows, -(-columns // 4), 4)).argsort(axis=-1).reshape(rows, 4 * -(-columns // 4))[:, :columns]
    return np.where(order < of_four, dense, 0).astype(dtype)


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize(("rows", "columns"), SHAPES)
def test_two_of_four_there_and_back(rows: int, columns: int, dtype: Any) -> None:
    dense = sparse(rows, columns, dtype, 2)
    values, places = pysim.pack_2_4(dense)
    assert values.dtype == dense.dtype
    assert values.shape == (rows, 2 * -(-columns // 4))
    np.testing.assert_array_equal(pysim.unpack_2_4(values, places, columns), dense)


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize(("rows", "columns"), SHAPES)
def test_slots_there_and_back(rows: int, columns: int, dtype: Any) -> None:
    dense = sparse(rows, columns, dtype, 3)
    values, indices = pysim.pack_sparse(dense)
    most = int((dense != 0).sum(axis=1).max(initial=0))
    assert values.shape == indices.shape == (rows, most)
    np.testing.assert_array_equal(pysim.unpack_sparse(values, indices, columns), dense)
    wider, places = pysim.pack_sparse(dense, most + 3)
    assert wider.shape == (rows, most + 3)
    assert (places[:, most:] == -1).all()
    np.testing.assert_array_equal(pysim.unpack_sparse(wider, places, columns), dense)


def test_forms() -> None:
    values, places = pysim.pack_2_4(np.array([[0, 5, 0, 7, 1, 0, 0, 0]], np.float32))
    np.testing.assert_array_equal(values, [[5, 7, 1, 0]])
    np.testing.assert_array_equal(places, [[0b01_00_11_01]])
    values, indices = pysim.pack_sparse(np.array([[0, 5, 0, 7], [0, 0, 2, 0]], np.float32))
    np.testing.assert_array_equal(values, [[5, 7], [2, 0]])
    np.testing.assert_array_equal(indices, [[1, 3], [2, -1]])


def test_layout_in_memory_does_not_matter() -> None:
    dense = np.asfortranarray(sparse(6, 8, np.float32, 2))
    np.testing.assert_array_equal(pysim.unpack_2_4(*pysim.pack_2_4(dense), 8), dense)


def test_bits_need_the_name_of_their_type() -> None:
    dense = sparse(3, 8, ml_dtypes.bfloat16, 2)
    values, places = pysim.pack_2_4(dense, "bf16")
    np.testing.assert_array_equal(pysim.unpack_2_4(values, places, 8, "bf16"), dense)


@pytest.mark.parametrize(
    ("call", "code", "words"),
    [
        (lambda: pysim.pack_2_4(np.ones((1, 4), np.float32)), "not-2-of-4", "row 0, columns 0 to 3"),
        (lambda: pysim.pack_2_4(np.ones(4, np.float32)), "wrong-shape", "1 dimensions"),
        (lambda: pysim.pack_2_4(np.ones((1, 4))), "wrong-type", "float64"),
        (lambda: pysim.pack_2_4(np.ones((1, 4), np.float32), "f61"), "wrong-type", "f61"),
        (lambda: pysim.pack_sparse(np.ones((1, 4), np.float32), 3), "sparse-row-full", "row 0"),
        (lambda: pysim.pack_sparse(np.ones((1, 4), np.float32), -1), "out-of-range", "width = -1"),
        (
            lambda: pysim.unpack_sparse(np.ones((2, 1), np.float32), np.zeros((1, 1), np.int32), 4),
            "wrong-shape",
            "rows",
        ),
        (
            lambda: pysim.unpack_2_4(np.ones((1, 3), np.float32), np.zeros((1, 1), np.uint8), 4),
            "wrong-shape",
            "must have 2",
        ),
    ],
)
def test_refusals(call: Any, code: str, words: str) -> None:
    with pytest.raises(pysim.InputError, match=words) as refused:
        call()
    assert refused.value.code == code


def test_a_packed_index_out_of_range_is_refused() -> None:
    values, indices = np.ones((1, 1), np.float32), np.full((1, 1), 9, np.int32)
    with pytest.raises(pysim.VerdictError) as refused:
        pysim.unpack_sparse(values, indices, 4)
    assert refused.value.code == "bad-sparse-index"
