# SPDX-License-Identifier: Apache-2.0
"""NumPy files in and out: every type, order and byte order; what is refused and how it is said."""

from __future__ import annotations

import struct
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from cli.cli_support import TINY, npulab, refused, write_copy

Array = np.ndarray[Any, Any]

PLAIN = {"f32": np.float32, "f16": np.float16, "i32": np.int32, "i16": np.int16, "i8": np.int8, "u8": np.uint8}
# Types that NumPy lacks: what they are written as, and their ml_dtypes type.
STANDS = {
    "bf16": (np.uint16, ml_dtypes.bfloat16),
    "f8e4m3": (np.uint8, ml_dtypes.float8_e4m3fn),
    "f8e5m2": (np.uint8, ml_dtypes.float8_e5m2),
}
ALL_BITS = 64


def through(tmp_path: Path, type_name: str, data: Path, elements: int) -> Array:
    """What comes out of a copy of `data`."""
    out = tmp_path / "y.npy"
    result = npulab(
        "run", write_copy(tmp_path, type_name), *TINY, "-D", f"N={elements}", "--in", f"x={data}", "--out", f"y={out}"
    )
    assert result.status == 0, result.err
    array: Array = np.load(out)
    return array


def saved(tmp_path: Path, array: Array) -> Path:
    path = tmp_path / "x.npy"
    np.save(path, array)
    return path


def sample(dtype: Any, elements: int = ALL_BITS) -> Array:
    size = np.dtype(dtype).itemsize
    raw: Array = np.random.default_rng(1).integers(0, 256, elements * size, dtype=np.uint8)
    viewed: Array = raw.view(dtype)
    return viewed


@pytest.mark.parametrize("type_name", PLAIN)
def test_plain_types_come_through_bit_for_bit(type_name: str, tmp_path: Path) -> None:
    data = sample(PLAIN[type_name])
    out = through(tmp_path, type_name, saved(tmp_path, data), ALL_BITS)
    assert out.dtype == data.dtype
    assert out.tobytes() == data.tobytes()


@pytest.mark.parametrize("type_name", [name for name in PLAIN if np.dtype(PLAIN[name]).itemsize > 1])
def test_big_endian_files_are_converted(type_name: str, tmp_path: Path) -> None:
    data = sample(PLAIN[type_name])
    swapped = data.astype(data.dtype.newbyteorder(">"))
    assert through(tmp_path, type_name, saved(tmp_path, swapped), ALL_BITS).tobytes() == data.tobytes()


@pytest.mark.parametrize("form", ["bits", "ml_dtypes"])
@pytest.mark.parametrize("type_name", STANDS)
def test_types_that_numpy_lacks(type_name: str, form: str, tmp_path: Path) -> None:
    stand, own = STANDS[type_name]
    bits = sample(stand)
    path = saved(tmp_path, bits if form == "bits" else bits.view(own))
    out = through(tmp_path, type_name, path, ALL_BITS)
    assert out.dtype == stand
    assert (out == bits).all()


@pytest.mark.parametrize("elements", [1, 2, 7, 16])
@pytest.mark.parametrize("form", ["int8", "ml_dtypes"])
def test_i4_is_one_element_per_byte(form: str, elements: int, tmp_path: Path) -> None:
    values = (np.arange(elements) * 5 % 16 - 8).astype(np.int8)
    path = saved(tmp_path, values if form == "int8" else values.astype(ml_dtypes.int4))
    out = through(tmp_path, "i4", path, elements)
    assert out.dtype == np.int8
    assert (out == values).all()


def test_i4_out_of_range(tmp_path: Path) -> None:
    path = saved(tmp_path, np.array([0, 8], dtype=np.int8))
    message = refused("run", write_copy(tmp_path, "i4"), *TINY, "-D", "N=2", "--in", f"x={path}")
    assert "element 1 is 8, i4 holds -8..7" in message


def test_note_says_how_to_read_such_a_file(tmp_path: Path) -> None:
    out = tmp_path / "y.npy"
    result = npulab("run", write_copy(tmp_path, "bf16"), *TINY, "--out", f"y={out}")
    assert result.status == 0
    assert "npulab: note: " in result.err
    assert "ml_dtypes.bfloat16" in result.err


COPY_MATRIX = """\
.kernel matrix
.tensor x i16 [3, 4, 2] in
.tensor y i16 [3, 4, 2] out
  copy ub[], x[], 48
  set_flag mte2, mte3, 0
  wait_flag mte2, mte3, 0
  copy y[], ub[], 48
  end
"""


def matrix(tmp_path: Path, data: Path) -> tuple[str, Path]:
    kernel = tmp_path / "matrix.npu"
    kernel.write_text(COPY_MATRIX, encoding="utf-8")
    return f"x={data}", kernel


def test_fortran_order_is_converted(tmp_path: Path) -> None:
    data = np.arange(24, dtype=np.int16).reshape(3, 4, 2)
    option, kernel = matrix(tmp_path, saved(tmp_path, np.asfortranarray(data)))
    assert b"'fortran_order': True" in (tmp_path / "x.npy").read_bytes()
    out = tmp_path / "y.npy"
    assert npulab("run", kernel, *TINY, "--in", option, "--out", f"y={out}").status == 0
    assert (np.load(out) == data).all()


@pytest.mark.parametrize("shape", [(24,), (3, 4), (4, 3, 2), (3, 4, 2, 1), ()])
def test_shape_must_be_equal_and_both_are_printed(shape: tuple[int, ...], tmp_path: Path) -> None:
    option, kernel = matrix(tmp_path, saved(tmp_path, np.zeros(shape, dtype=np.int16)))
    message = refused("run", kernel, *TINY, "--in", option)
    assert f"tensor x has shape (3, 4, 2), the file {shape}" in message


# NU-23: no type is converted in silence.
@pytest.mark.parametrize("dtype", [bool, np.int64, np.float64, np.float16, np.uint32, np.complex64, np.int32])
def test_nu_23_other_types_are_refused(dtype: Any, tmp_path: Path) -> None:
    path = saved(tmp_path, np.zeros(16, dtype=dtype))
    message = refused("run", write_copy(tmp_path), *TINY, "--in", f"x={path}")
    assert "wrong-dtype" in message
    assert np.dtype(dtype).name in message
    assert "not converted" in message
    assert ".astype(numpy.float32)" in message


# NU-23: a view that is not contiguous is saved by NumPy as what it shows.
def test_nu_23_views_that_are_not_contiguous(tmp_path: Path) -> None:
    data = np.arange(64, dtype=np.float32)[::-4]
    assert (through(tmp_path, "f32", saved(tmp_path, data), 16) == data).all()


def npy(header: str, data: bytes, version: int = 1, length: int | None = None) -> bytes:
    text = header.encode()
    size = len(text) if length is None else length
    field = struct.pack("<H" if version == 1 else "<I", size)
    return b"\x93NUMPY" + bytes([version, 0]) + field + text + data


GOOD = "{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }"
DATA = np.array([1, 2], dtype=np.float32).tobytes()


@pytest.mark.parametrize(
    "content",
    [
        npy(GOOD, DATA, 1),
        npy(GOOD, DATA, 2),
        npy(GOOD, DATA, 3),
        npy("{'shape':(2,),'fortran_order':False,'descr':'<f4'}", DATA),
        npy('{ "descr" : "<f4" ,\t"shape" : ( 2 , ) , "fortran_order" : False }   \n', DATA),
        npy(GOOD.replace("(2,)", "(2L,)"), DATA),
        npy(GOOD.replace("<f4", "=f4"), DATA),
    ],
)
def test_every_way_to_write_a_header(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "x.npy"
    path.write_bytes(content)
    assert (through(tmp_path, "f32", path, 2) == [1, 2]).all()


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "the file is empty"),
        (b"PK\x03\x04 an .npz file", "does not begin with \\x93NUMPY"),
        (npy(GOOD, DATA, 4), "version 4.0"),
        (npy(GOOD, DATA, 2, length=1 << 30), "a header of 1073741824 bytes"),
        (npy(GOOD, DATA)[:9], "ends within its header"),
        (npy(GOOD, b"")[:40], "ends within its header"),
        (npy(GOOD, DATA[:-1]), "after 7 of 8 bytes"),
        (npy(GOOD, DATA + b"x"), "something follows the 8 bytes"),
        (npy(GOOD.replace("'shape': (2,), ", ""), DATA), "key 'shape' is missing"),
        (npy(GOOD.replace("}", "'more': 1}"), DATA), "unknown key 'more'"),
        (npy(GOOD.replace("'shape'", "'descr'"), DATA), "'descr' comes twice"),
        (npy(GOOD.replace("'<f4'", "[('a', '<f4')]"), DATA), "structured dtype"),
        (npy(GOOD.replace("False", "0"), DATA), "True or False is missing"),
        (npy(GOOD.replace("(2,)", "(-2,)"), DATA), "a size is missing"),
        (npy(GOOD.replace("(2,)", f"({2**70},)"), DATA), "a size is missing"),
        (npy(GOOD.replace("(2,)", "(" + "1," * 40 + ")"), DATA), "more than 32 dimensions"),
        (npy(GOOD + "{}", DATA), "something follows the dictionary"),
        (npy(GOOD.replace("<f4", "<f4\\x00"), DATA), "escapes"),
        (npy(GOOD.replace("'<f4'", "''"), DATA), "holds ''"),
    ],
)
def test_broken_files_are_refused_by_name(content: bytes, said: str, tmp_path: Path) -> None:
    path = tmp_path / "x.npy"
    path.write_bytes(content)
    message = refused("run", write_copy(tmp_path), *TINY, "-D", "N=2", "--in", f"x={path}")
    assert "x.npy: " in message
    assert said in message


def test_missing_file_and_folder(tmp_path: Path) -> None:
    kernel = write_copy(tmp_path)
    assert "cannot open /none/x.npy: No such file" in refused("run", kernel, *TINY, "--in", "x=/none/x.npy")
    (tmp_path / "folder.npy").mkdir()
    assert "it is a directory" in refused("run", kernel, *TINY, "--in", f"x={tmp_path / 'folder.npy'}")


def test_empty_tensors(tmp_path: Path) -> None:
    assert through(tmp_path, "f32", saved(tmp_path, np.zeros(0, dtype=np.float32)), 0).shape == (0,)


def test_what_numpy_reads_is_aligned(tmp_path: Path) -> None:
    through(tmp_path, "f32", saved(tmp_path, np.zeros(4, dtype=np.float32)), 4)
    content = (tmp_path / "y.npy").read_bytes()
    assert content[:8] == b"\x93NUMPY\x01\x00"
    assert (len(content) - 16) % 64 == 0
    assert content == (tmp_path / "x.npy").read_bytes()
