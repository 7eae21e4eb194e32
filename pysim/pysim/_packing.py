# SPDX-License-Identifier: Apache-2.0
"""Packed operands of sparse_gemm: two of every four along a row, or values with their columns."""

from __future__ import annotations

import numpy as np
from pysim import _core
from pysim._arrays import ELEMENT_TYPES, Array, dtype_of
from pysim._errors import InputError

_KEPT_OF_FOUR = 2
_PLACES_PER_BYTE = 4


def _type_of(name: str, array: Array, type_name: str | None) -> str:
    """The element type that the array holds; `type_name` is needed where bits stand for elements."""
    whole = {known: dtype_of(known) for known, (bits, _) in ELEMENT_TYPES.items() if bits >= 8}
    if type_name is not None:
        if whole.get(type_name) != array.dtype.newbyteorder("<"):
            raise InputError(
                f"{name} is {array.dtype}, not {type_name}; packed operands have one of {', '.join(whole)}"
                + _core.suggestion(type_name, list(whole)),
                "wrong-type",
            )
        return type_name
    for known, dtype in whole.items():
        if array.dtype.newbyteorder("<") == dtype:
            return known
    raise InputError(f"{name} is {array.dtype}; packed operands have one of {', '.join(whole)}", "wrong-type")


def _matrix(name: str, array: Array, columns: int | None = None) -> Array:
    if not isinstance(array, np.ndarray) or array.ndim != 2:
        what = f"has {array.ndim} dimensions" if isinstance(array, np.ndarray) else f"is {type(array).__name__}"
        raise InputError(f"{name} {what}; it is a NumPy array of 2 dimensions", "wrong-shape")
    if columns is not None and array.shape[1] != columns:
        raise InputError(f"{name} has {array.shape[1]} columns; it must have {columns}", "wrong-shape")
    return array


def _same_rows(name: str, array: Array, values: Array) -> None:
    if array.shape[0] != values.shape[0]:
        raise InputError(f"{name} has {array.shape[0]} rows, values {values.shape[0]}", "wrong-shape")


def _number(name: str, value: int) -> int:
    if value < 0:
        raise InputError(f"{name} = {value}: it is 0 or more", "out-of-range")
    return value


def _bytes(array: Array) -> np.ndarray[tuple[int], np.dtype[np.uint8]]:
    dense = np.ascontiguousarray(array, dtype=array.dtype.newbyteorder("<"))
    return dense.reshape(-1).view(np.uint8)


def pack_2_4(dense: Array, type_name: str | None = None) -> tuple[Array, Array]:
    """Values [rows, 2 * ceil(columns / 4)] and places [rows, bytes], 2 bits each, of sparse_gemm {structured=1}.

    Of every 4 neighbours in a row at most 2 are not zero (InputError "not-2-of-4" otherwise).
    """
    rows, columns = _matrix("dense", dense).shape
    name = _type_of("dense", dense, type_name)
    values, places = _core.pack_2_4(_bytes(dense), name, rows, columns)
    kept = _KEPT_OF_FOUR * -(-columns // 4)
    return values.view(dtype_of(name)).reshape(rows, kept), places.reshape(rows, -(-kept // _PLACES_PER_BYTE))


def unpack_2_4(values: Array, places: Array, columns: int, type_name: str | None = None) -> Array:
    """The dense array that pack_2_4 packed."""
    kept = _KEPT_OF_FOUR * -(-_number("columns", columns) // 4)
    rows, _ = _matrix("values", values, kept).shape
    name = _type_of("values", values, type_name)
    _type_of("places", _matrix("places", places, -(-kept // _PLACES_PER_BYTE)), "u8")
    _same_rows("places", places, values)
    dense = _core.unpack_2_4(_bytes(values), _bytes(places), name, rows, columns)
    return dense.view(dtype_of(name)).reshape(rows, columns)


def pack_sparse(dense: Array, width: int = 0, type_name: str | None = None) -> tuple[Array, Array]:
    """Values and their columns (i32, -1 where a slot is free), both [rows, width], of sparse_gemm.

    `width` 0: the most non-zeros of a row. InputError "sparse-row-full" where a row has more.
    """
    rows, columns = _matrix("dense", dense).shape
    name = _type_of("dense", dense, type_name)
    slots, values, indices = _core.pack_sparse(_bytes(dense), name, rows, columns, _number("width", width))
    return values.view(dtype_of(name)).reshape(rows, slots), indices.view("<i4").reshape(rows, slots)


def unpack_sparse(values: Array, indices: Array, columns: int, type_name: str | None = None) -> Array:
    """The dense array that pack_sparse packed."""
    rows, width = _matrix("values", values).shape
    name = _type_of("values", values, type_name)
    _type_of("indices", _matrix("indices", indices, width), "i32")
    _same_rows("indices", indices, values)
    dense = _core.unpack_sparse(_bytes(values), _bytes(indices), width, name, rows, _number("columns", columns))
    return dense.view(dtype_of(name)).reshape(rows, columns)
