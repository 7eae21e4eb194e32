# SPDX-License-Identifier: Apache-2.0
"""Arrays in and out: types, memory layouts, shapes that tell parameters."""

from __future__ import annotations

import gc
import sys
from typing import Any

import ml_dtypes
import numpy as np
import pysim
import pytest
from pysim import _arrays

Array = np.ndarray[Any, np.dtype[Any]]
VALUES = np.array([0, 1, -2, 3, 7, -8, 5], np.float32)
TYPES = {
    "f32": np.float32,
    "f16": np.float16,
    "bf16": ml_dtypes.bfloat16,
    "i32": np.int32,
    "i16": np.int16,
    "i8": np.int8,
    "i4": ml_dtypes.int4,
    "f8e4m3": ml_dtypes.float8_e4m3fn,
    "f8e5m2": ml_dtypes.float8_e5m2,
}


def test_every_element_type_is_tried() -> None:
    assert {*TYPES, "u8"} == set(_arrays.ELEMENT_TYPES)


@pytest.mark.parametrize("name", TYPES)
def test_every_type_goes_in_and_out(name: str, pass_on: str) -> None:
    values = VALUES[: VALUES.size - VALUES.size % 2].astype(TYPES[name])
    result = pysim.assemble(pass_on.replace("TYPE", name), "tiny").run(x=values)
    assert result.y.dtype == values.dtype
    np.testing.assert_array_equal(result.y, values)
    assert result.notes == []


def test_i4_of_an_odd_number(pass_on: str) -> None:
    values = np.array([-8, 7, -1], ml_dtypes.int4)
    result = pysim.assemble(pass_on.replace("TYPE", "i4"), "tiny", N=3).run(x=values)
    np.testing.assert_array_equal(result.y, values)


@pytest.mark.parametrize(("name", "bits"), [("bf16", np.uint16), ("f8e4m3", np.uint8), ("i4", np.int8)])
def test_without_ml_dtypes_bits_and_a_note(
    name: str, bits: type[np.generic], pass_on: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "ml_dtypes", None)
    values = np.array([0, 1, 2, 5, 6, 7], bits)
    result = pysim.assemble(pass_on.replace("TYPE", name), "tiny").run(x=values)
    assert result.y.dtype == bits
    np.testing.assert_array_equal(result.y, values)
    assert "install ml_dtypes" in result.notes[0]
    assert result.notes[0] in repr(result)


def test_i4_without_ml_dtypes_is_range_checked(pass_on: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ml_dtypes", None)
    with pytest.raises(pysim.InputError, match=r"-8\.\.7"):
        pysim.assemble(pass_on.replace("TYPE", "i4"), "tiny").run(x=np.full(6, 8, np.int8))


@pytest.mark.parametrize("dtype", [np.float64, np.int64, np.int32, np.float32, np.uint16, bool, complex, object])
def test_nu_23_other_types_are_refused_with_the_conversion(dtype: type, twice: str) -> None:
    with pytest.raises(pysim.InputError, match=r"x\.astype\(numpy\.float16\)") as caught:
        pysim.assemble(twice, "tiny").run(x=np.zeros(8, dtype))
    assert caught.value.code == "wrong-type"
    assert np.dtype(dtype).name in caught.value.message


def test_nu_23_what_is_no_array_is_refused(twice: str) -> None:
    with pytest.raises(pysim.InputError, match=r"numpy\.asarray\(x, numpy\.float16\)"):
        pysim.assemble(twice, "tiny").run(x=[1.0] * 8)


def layouts() -> dict[str, Array]:
    whole = np.arange(64, dtype=np.float16)
    square = whole.reshape(8, 8)
    return {
        "dense": whole[:8].copy(),
        "reversed": whole[7::-1],
        "every-third": whole[::3][:8],
        "column": square[:, 3],
        "broadcast": np.broadcast_to(np.float16(3), 8),
        "big-endian": whole[:8].astype(">f2"),
        "read-only": np.frombuffer(whole[:8].tobytes(), np.float16),
        "unaligned": np.frombuffer(b"\0" + whole[:8].tobytes(), np.float16, offset=1),
    }


@pytest.mark.parametrize("name", layouts())
def test_dm_07_any_layout_is_right_and_untouched(name: str, twice: str) -> None:
    array = layouts()[name]
    before = array.copy()
    result = pysim.assemble(twice, "tiny").run(x=array)
    np.testing.assert_array_equal(result.y, before * np.float16(2))
    np.testing.assert_array_equal(array, before)


def test_dense_arrays_are_not_copied() -> None:
    tensor = pysim.Section({"name": "x", "type": "f16"})
    array = np.zeros(1000, np.float16)
    assert np.shares_memory(_arrays.to_bytes(tensor, array), array)


def test_in_place_tensor_leaves_the_array_alone(pass_on: str) -> None:
    text = pass_on.replace("TYPE", "f16").replace(".tensor y f16 [N] out", ".tensor y f16 [N] inout")
    old = np.full(6, 9, np.float16)
    result = pysim.assemble(text, "tiny").run(x=np.arange(6, dtype=np.float16), y=old)
    np.testing.assert_array_equal(result.y, np.arange(6))
    np.testing.assert_array_equal(old, 9)


def test_bf_11_arrays_that_the_caller_drops_are_kept(twice: str) -> None:
    simulation = pysim.Simulation(pysim.assemble(twice, "tiny", N=512))
    results = []
    for i in range(20):
        results.append(simulation.run(x=np.full(512, i, np.float16)))
        gc.collect()
        np.zeros(512, np.float16).fill(-1)
    del simulation
    gc.collect()
    for i, result in enumerate(results):
        np.testing.assert_array_equal(result.y, 2 * i)
        result.y[0] = 1


@pytest.mark.parametrize("size", [0, 1, 3, 8, 511])
def test_sh_08_shape_tells_the_parameter(size: int, twice: str, tmp_path: Any) -> None:
    path = tmp_path / "twice.npu"
    path.write_text(twice)
    result = pysim.run(path, "tiny", x=np.arange(size, dtype=np.float16))
    assert result.params == {"N": size}
    np.testing.assert_array_equal(result.y, 2 * np.arange(size))


def test_shapes_that_disagree_are_both_named(tmp_path: Any) -> None:
    a, x = np.zeros((4, 8), np.float16), np.zeros(9, np.float16)
    with pytest.raises(pysim.InputError, match=r"x \[K\] .* K = 9, but A \[M, K\] .* K = 8") as caught:
        pysim.run("gemv/register_blocked", A=a, x=x)
    assert caught.value.code == "shape-conflict"
    with pytest.raises(pysim.InputError, match=r"says M = 4, but M = 5 was given"):
        pysim.run("gemv/register_blocked", M=5, A=a, x=x[:8])


def test_shapes_of_an_assembled_kernel(twice: str) -> None:
    kernel = pysim.assemble(twice, "tiny", N=4)
    with pytest.raises(pysim.InputError, match=r"\[N\] = \[4\], the array has the shape \[5\]"):
        kernel.run(x=np.zeros(5, np.float16))
    with pytest.raises(pysim.InputError, match=r"\[N\], the array has the shape \[2, 2\]"):
        kernel.run(x=np.zeros((2, 2), np.float16))
    with pytest.raises(pysim.InputError, match="assembled with N = 4, not 5"):
        kernel.run(N=5, timing_only=True)
    assert kernel.run(x=np.zeros(4, np.float16), N=4).y.shape == (4,)


def test_arguments_that_are_none_of_the_kernels(twice: str) -> None:
    kernel = pysim.assemble(twice, "tiny")
    x = np.zeros(8, np.float16)
    with pytest.raises(pysim.InputError, match="did you mean 'x'"):
        kernel.run(X=x)
    with pytest.raises(pysim.InputError, match="output of twice: it is returned"):
        kernel.run(x=x, y=x)
    with pytest.raises(pysim.InputError, match="reads tensor 'x'"):
        kernel.run()
    for value in (1.5, True, "8", None):
        with pytest.raises(pysim.InputError, match="'N' takes an integer"):
            pysim.assemble(twice, "tiny", N=value)  # type: ignore[arg-type]
    with pytest.raises(pysim.InputError, match=r"N = 513 is not in 0\.\.512"):
        pysim.assemble(twice, "tiny", N=513)
