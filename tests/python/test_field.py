# SPDX-License-Identifier: Apache-2.0
"""Faults that users of other tools met, tried through the module; docs/field_cases.md lists them by id."""

from __future__ import annotations

import gc
import itertools
import re
from typing import Any

import ml_dtypes
import numpy as np
import pysim
import pytest

Array = np.ndarray[Any, np.dtype[Any]]
RANDOM = np.random.default_rng(7)


def gemm(kernel: str, a: Array, b: Array) -> Array:
    result = pysim.run(kernel, A=a, B=b, check=True, strict=True)
    assert result.check is not None
    assert result.check.passed
    c: Array = result.C
    return c


@pytest.mark.parametrize("sizes", [sizes for sizes in itertools.product((0, 3), (0, 5), (0, 7)) if 0 in sizes])
def test_sh_08_every_combination_of_empty_dimensions(sizes: tuple[int, int, int]) -> None:
    m, n, k = sizes
    c = gemm("gemm/double_buffered", np.ones((m, k), np.float16), np.ones((k, n), np.float16))
    np.testing.assert_array_equal(c, np.zeros((m, n)))


@pytest.mark.parametrize(("trans_a", "trans_b"), list(itertools.product((0, 1), repeat=2)))
@pytest.mark.parametrize("kernel", ["gemm/double_buffered", "gemm/batched", "gemm/split_k"])
def test_sh_16_shapes_tell_the_sizes_of_transposed_operands(kernel: str, trans_a: int, trans_b: int) -> None:
    batch = (3,) if kernel == "gemm/batched" else ()
    a = RANDOM.integers(-3, 4, (*batch, 5, 7)).astype(np.float16)
    b = RANDOM.integers(-3, 4, (*batch, 7, 6)).astype(np.float16)
    given: dict[str, Any] = {"A": a.swapaxes(-1, -2) if trans_a else a, "B": b.swapaxes(-1, -2) if trans_b else b}
    result = pysim.run(kernel, trans_a=trans_a, trans_b=trans_b, lda=9, check=True, strict=True, **given)
    np.testing.assert_array_equal(result.C, a.astype(np.float32) @ b.astype(np.float32))


@pytest.mark.parametrize("dtype", [np.int8, np.float16, np.float32])
def test_sh_16_a_parameter_tells_the_type(dtype: Any) -> None:
    x = RANDOM.integers(-3, 4, (5, 7)).astype(dtype)
    y = pysim.run("layout/transpose", x=x, element_bits=8 * x.itemsize, ldx=9, strict=True).y
    np.testing.assert_array_equal(y, x.T)


@pytest.mark.parametrize("rows", [slice(2, 9), slice(9, 2, -2), slice(None, None, 3)])
def test_dm_13_a_slice_of_a_transposed_view_is_what_it_shows(rows: slice) -> None:
    """A transposed array is the same bytes under other strides; a slice of it starts elsewhere among them."""
    a = RANDOM.integers(-3, 4, (20, 12)).astype(np.float16).T[rows, 3:17]
    b = RANDOM.integers(-3, 4, (9, 14)).astype(np.float16).T
    assert not a.flags.c_contiguous
    np.testing.assert_array_equal(gemm("gemm/double_buffered", a, b), a.astype(np.float32) @ b.astype(np.float32))


def test_dm_13_a_transposed_result_can_be_sliced_and_go_on() -> None:
    x = RANDOM.integers(-3, 4, (9, 14)).astype(np.float16)
    y = pysim.run("layout/transpose", x=x, strict=True).y
    np.testing.assert_array_equal(y, x.T)
    again = pysim.run("layout/transpose", x=y.T[1:8, 2::3], strict=True).y
    np.testing.assert_array_equal(again, x[1:8, 2::3].T)


@pytest.mark.parametrize("order", [*itertools.permutations(range(4))], ids=str)
def test_nu_20_four_bit_weights_under_any_order_of_axes(order: tuple[int, ...]) -> None:
    """Weights that are a plane of a permuted array of four axes."""
    weights = RANDOM.integers(-8, 8, (4, 6, 8, 10)).astype(ml_dtypes.int4).transpose(order)[1, 2]
    m, k = weights.shape
    x = RANDOM.integers(-4, 5, k).astype(np.float16)
    scale = np.exp2(RANDOM.integers(-2, 3, (m, -(-k // 4)))).astype(np.float32)
    result = pysim.run("quant/w4a16", W=weights, x=x, scale=scale, group=4, check=True, strict=True)
    wide = weights.astype(np.float32) * np.repeat(scale, 4, axis=1)[:, :k]
    np.testing.assert_array_equal(result.y, wide @ x.astype(np.float32))


@pytest.mark.parametrize("order", [*itertools.permutations(range(3))], ids=str)
def test_nu_20_batched_products_under_any_order_of_axes(order: tuple[int, ...]) -> None:
    a = RANDOM.integers(-3, 4, (3, 5, 7)).astype(np.float16).transpose(order)
    b = RANDOM.integers(-3, 4, (a.shape[0], 4, a.shape[2])).astype(np.float16).transpose(0, 2, 1)
    np.testing.assert_array_equal(gemm("gemm/batched", a, b), a.astype(np.float32) @ b.astype(np.float32))


def test_bf_05_a_kernel_that_does_not_fit_among_others_is_named() -> None:
    spill = "gemv/register_blocked_spill"
    for name in ("gemv/naive", spill, "gemv/vectorized"):
        if name != spill:
            pysim.Kernel(name, "tiny", M=200, K=8)
            continue
        with pytest.raises(pysim.InputError, match="do not fit ub, 4096 bytes") as caught:
            pysim.Kernel(name, "tiny", M=200, K=8, Bm=200)
        assert re.search(rf"\.inc:\d+:\d+ \(from .*/{name}\.npu\): \d", str(caught.value))


def test_bf_09_simulations_at_the_same_addresses_own_what_they_hold(twice: str) -> None:
    """Nothing is freed by hand; what one simulation held does not reach the next one at the same addresses."""
    x = np.arange(8, dtype=np.float16)
    kernel = pysim.assemble(twice, "tiny")
    first, second = pysim.Simulation(kernel), pysim.Simulation(kernel)
    one = first.run(x=x)
    two = second.run(x=x + 100)
    del first
    gc.collect()
    third = pysim.Simulation(kernel)
    np.testing.assert_array_equal(one.y, 2 * x)
    np.testing.assert_array_equal(second.run(x=x).y, 2 * x)
    np.testing.assert_array_equal(third.run(x=x + 7).y, 2 * (x + 7))
    np.testing.assert_array_equal(two.y, 2 * (x + 100))


def test_bf_10_a_view_outlives_what_it_is_a_view_of(twice: str) -> None:
    x = np.arange(64, dtype=np.float16)
    simulation = pysim.Simulation(pysim.assemble(twice, "tiny", N=64))
    result = simulation.run(x=x)
    view = result.y.reshape(8, 8)[::2, 1:]
    whole = result.y
    del result, simulation
    gc.collect()
    pysim.Simulation(pysim.assemble(twice, "tiny", N=64)).run(x=x + 1)
    np.testing.assert_array_equal(view, (2 * x).reshape(8, 8)[::2, 1:])
    del view
    gc.collect()
    np.testing.assert_array_equal(whole, 2 * x)
