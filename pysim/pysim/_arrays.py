# SPDX-License-Identifier: Apache-2.0
"""NumPy arrays to tensors and back: strict in type and shape, free in memory layout."""

from __future__ import annotations

import importlib
from types import ModuleType
from typing import Any

import numpy as np
from pysim import _core
from pysim._errors import InputError
from pysim._section import Section

# Element type: bits, and NumPy's type string or the name in ml_dtypes.
ELEMENT_TYPES: dict[str, tuple[int, str]] = _core.element_types()
Array = np.ndarray[Any, np.dtype[Any]]


def _ml_dtypes() -> ModuleType | None:
    try:
        return importlib.import_module("ml_dtypes")
    except ModuleNotFoundError:
        return None


def in_numpy(type_name: str) -> bool:
    return ELEMENT_TYPES[type_name][1][0] in "<|"


def dtype_of(type_name: str) -> np.dtype[Any]:
    """NumPy's type of an element: of NumPy itself, of ml_dtypes when that is installed, else of its raw bits."""
    bits, name = ELEMENT_TYPES[type_name]
    if in_numpy(type_name):
        return np.dtype(name)
    extension = _ml_dtypes()
    if extension is not None:
        dtype: np.dtype[Any] = np.dtype(getattr(extension, name))
        return dtype
    return np.dtype(f"u{bits // 8}") if bits >= 8 else np.dtype(np.int8)


def note_on_bits(type_name: str) -> str:
    """What an array of `dtype_of` shows if not the values themselves, else empty."""
    if in_numpy(type_name) or _ml_dtypes() is not None:
        return ""
    what = "the raw bits" if ELEMENT_TYPES[type_name][0] >= 8 else "one element per int8"
    return (
        f"{type_name} is shown as {dtype_of(type_name)}, {what}: install ml_dtypes to see {ELEMENT_TYPES[type_name][1]}"
    )


def spelled(dtype: np.dtype[Any]) -> str:
    """How a program names the type."""
    return f"numpy.{dtype.name}" if dtype.isbuiltin == 1 else f"ml_dtypes.{dtype.name}"


def shape_text(tensor: Section) -> str:
    """ "[M, 3]": parameters by name where they stand alone."""
    names = tensor["shape_parameters"] or [""] * len(tensor["shape"])
    return "[" + ", ".join(name or str(size) for name, size in zip(names, tensor["shape"], strict=True)) + "]"


def check_type(tensor: Section, array: object) -> Array:
    """The array, if it holds exactly what the tensor does."""
    name, type_name = tensor["name"], tensor["type"]
    wanted = dtype_of(type_name)
    if not isinstance(array, np.ndarray):
        raise InputError(
            f"tensor '{name}' takes a NumPy array, got {type(array).__name__}; "
            f"convert it with numpy.asarray({name}, {spelled(wanted)})",
            "wrong-type",
        )
    if array.dtype.newbyteorder("<") != wanted:
        note = note_on_bits(type_name)
        raise InputError(
            f"tensor '{name}' is {type_name}, the array is {array.dtype}: no value is converted silently; "
            f"convert it with {name}.astype({spelled(wanted)})" + (f" ({note})" if note else ""),
            "wrong-type",
        )
    return array


def check_shape(tensor: Section, array: Array) -> None:
    if list(array.shape) != tensor["shape"]:
        raise InputError(
            f"tensor '{tensor['name']}' is {shape_text(tensor)} = {tensor['shape']}, "
            f"the array has the shape {list(array.shape)}",
            "wrong-shape",
        )


def to_bytes(tensor: Section, array: Array) -> Array:
    """Dense little-endian elements in row-major order; the array itself when it is that already."""
    dense: Array = np.ascontiguousarray(array, dtype=array.dtype.newbyteorder("<"))
    bits = ELEMENT_TYPES[tensor["type"]][0]
    if bits >= 8:
        return dense
    values = dense.astype(np.int8).reshape(-1)
    if values.size and not -8 <= values.min() <= values.max() <= 7:
        raise InputError(f"tensor '{tensor['name']}' is i4: its values are in -8..7", "out-of-range")
    nibbles = np.append(values, np.zeros(values.size % 2, np.int8)).view(np.uint8) & 0xF
    return nibbles[0::2] | nibbles[1::2] << 4


def from_bytes(tensor: Section, data: Array) -> Array:
    """The array of the tensor's type and shape that `data`, dense bytes, holds."""
    dtype = dtype_of(tensor["type"])
    if ELEMENT_TYPES[tensor["type"]][0] >= 8:
        return data.view(dtype).reshape(tensor["shape"])
    nibbles = np.stack([data & 0xF, data >> 4], axis=-1).reshape(-1)[: int(np.prod(tensor["shape"]))]
    return (((nibbles ^ 8) - 8).astype(np.int8)).astype(dtype).reshape(tensor["shape"])
