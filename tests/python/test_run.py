# SPDX-License-Identifier: Apache-2.0
"""Runs: values of the library's kernels, options, results, errors by class."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy as np
import pysim
import pytest

GEMV = sorted(name for name in pysim.kernels() if name.startswith("gemv/"))


def data(kernel: str, m: int, k: int) -> dict[str, Any]:
    """Inputs whose sums are exact in any order, so that every kernel must give the same."""
    tensors = {tensor["name"]: tensor for tensor in pysim.kernel_info(kernel).tensors}
    rng = np.random.default_rng(1)
    arrays = {"A": rng.integers(-2, 3, (m, k)), "x": rng.integers(-2, 3, k)}
    given = {name: array.astype(pysim._arrays.dtype_of(tensors[name]["type"])) for name, array in arrays.items()}
    if "scale" in tensors:
        given["scale"] = np.ones(m, np.float32)
    if "out_scale" in tensors:
        given["out_scale"] = np.ones(1, np.float32)
    return given


def machine_for(kernel: str) -> str:
    return "tiny_ub" if "ub_repeat" in kernel else pysim.DEFAULT_MACHINE


@pytest.mark.parametrize("shape", [(33, 77), (64, 256), (1, 1)])
@pytest.mark.parametrize("kernel", GEMV)
def test_gemv_is_numpys(kernel: str, shape: tuple[int, int]) -> None:
    given = data(kernel, *shape)
    result = pysim.run(kernel, machine_for(kernel), check=True, strict=True, **given)
    expected = given["A"].astype(np.int64) @ given["x"].astype(np.int64)
    np.testing.assert_array_equal(result.y.astype(np.int64), np.clip(expected, -128, 127))
    assert result.diagnostics == []
    assert result.check is not None
    assert result.check.passed


@pytest.mark.parametrize("shape", [(7, 0), (0, 9), (0, 0)])
@pytest.mark.parametrize("kernel", GEMV)
def test_sh_08_empty_dimensions(kernel: str, shape: tuple[int, int]) -> None:
    result = pysim.run(kernel, machine_for(kernel), strict=True, **data(kernel, *shape))
    np.testing.assert_array_equal(result.y, np.zeros(shape[0]))


def test_sh_16_output_has_its_own_shape() -> None:
    result = pysim.run("gemv/pipelined", **data("gemv/pipelined", 5, 300))
    assert result.y.shape == (5,)
    assert result.params["M"] == 5
    assert result.params["K"] == 300


def test_options_that_do_not_change_the_result(twice: str) -> None:
    kernel = pysim.assemble(twice, "tiny", N=512)
    x = np.arange(512, dtype=np.float16)

    def stable(**options: Any) -> dict[str, Any]:
        report = copy.deepcopy(kernel.run(x=x, **options).report)
        del report["host"], report["options"]
        return report

    first = stable()
    assert stable(block_cache=False) == first
    assert kernel.run(timing_only=True).cycles == first["cycles"]
    assert kernel.run(timing_only=True).outputs == {}
    assert kernel.run(x=x, sanitize="off").cycles == first["cycles"]


def test_cores_and_warmup() -> None:
    given = data("gemv/pipelined", 64, 256)
    kernel = pysim.Kernel("gemv/pipelined", M=64, K=256)
    one, two = (kernel.run(cores=cores, **given) for cores in (1, 2))
    assert (one.report["cores"], two.report["cores"]) == (1, 2)
    assert one.cycles > two.cycles
    np.testing.assert_array_equal(one.y, two.y)
    np.testing.assert_array_equal(kernel.run(warmup=2, **given).y, one.y)


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"cores": 0}, "cores is an integer, at least 1"),
        ({"cores": 3}, "has 2"),
        ({"cores": True}, "cores is an integer"),
        ({"warmup": -1}, "warmup is an integer, at least 0"),
        ({"sanitize": "fats"}, "did you mean 'fast'"),
        ({"sanitize": "full", "timing_only": True}, "needs values"),
        ({"check": True}, "names no operation to compare it with"),
        ({"check": True, "timing_only": True}, "has no values"),
    ],
)
def test_options_that_are_refused(options: dict[str, Any], says: str, twice: str) -> None:
    with pytest.raises(pysim.InputError, match=says):
        pysim.assemble(twice, "tiny").run(x=np.zeros(8, np.float16), **options)


def test_machine_of_an_assembled_kernel_is_settled(twice: str) -> None:
    kernel, x = pysim.assemble(twice, "tiny"), np.zeros(8, np.float16)
    pysim.run(kernel, "tiny", x=x)
    with pytest.raises(pysim.InputError, match="assembled for tiny"):
        pysim.run(kernel, "edge", x=x)


def test_result_shows_itself() -> None:
    result = pysim.run("gemv/pipelined", check=True, **data("gemv/pipelined", 64, 256))
    assert result.cycles == result.report["cycles"]
    assert result.time_us == result.report["time_us"]
    for text in (repr(result), result._repr_html_()):
        assert f"{result.cycles:,} cycles" in text
        assert "GB/s" in text
        assert "passed: 64 elements, no finite element is off" in text
    assert "gemv/pipelined" in result.text
    assert "y" in dir(result)
    with pytest.raises(AttributeError, match="did you mean 'cycles'"):
        _ = result.cycle


def test_result_and_errors_can_be_pickled(twice: str) -> None:
    result = pysim.assemble(twice, "tiny").run(x=np.arange(8, dtype=np.float16))
    twin = pickle.loads(pickle.dumps(result))
    assert twin.report == result.report
    assert repr(twin) == repr(result)
    np.testing.assert_array_equal(twin.y, result.y)
    error = pysim.InputError("message", "code", "file:1:2")
    again = pickle.loads(pickle.dumps(error))
    assert (type(again), again.message, again.code, again.where) == (pysim.InputError, "message", "code", "file:1:2")


def test_assembler_errors_have_their_place() -> None:
    with pytest.raises(pysim.InputError) as caught:
        pysim.assemble(".kernel bad\n        vadd.f16 v0, v1, v99\n        end\n", "tiny", source="bad.npu")
    assert caught.value.where.startswith("bad.npu:2:")
    with pytest.raises(pysim.InputError, match="did you mean 'gemv/pipelined'"):
        pysim.run("gemv/pipelind")


def test_verdict_and_stall_have_classes(out_of_bounds: str, stalls: str) -> None:
    with pytest.raises(pysim.VerdictError) as verdict:
        pysim.assemble(out_of_bounds, "tiny").run(x=np.zeros(4, np.float16))
    assert verdict.value.code == "out-of-bounds"
    assert verdict.value.where == "kernel.npu:5"
    with pytest.raises(pysim.StallError, match="waits for flag mte2>vector id 0"):
        pysim.assemble(stalls, "tiny").run()


def test_findings_stand_in_the_result_unless_strict(twice: str) -> None:
    text = twice.replace(" {pad_to=align(2 * N, OPBYTES)}", "")
    kernel = pysim.assemble(text, "tiny", N=7)
    x = np.arange(7, dtype=np.float16)
    result = kernel.run(x=x)
    np.testing.assert_array_equal(result.y, 2 * x)
    assert [one.code for one in result.diagnostics] == ["uninitialised-read"]
    assert "uninitialised-read" in repr(result)
    with pytest.raises(pysim.VerdictError) as caught:
        kernel.run(x=x, strict=True)
    assert caught.value.code == "uninitialised-read"


def test_is_05_a_failed_kernel_harms_no_other(twice: str, out_of_bounds: str, stalls: str) -> None:
    good = pysim.Simulation(pysim.assemble(twice, "tiny"))
    verdict = pysim.Simulation(pysim.assemble(out_of_bounds, "tiny"))
    stall = pysim.Simulation(pysim.assemble(stalls, "tiny"))
    x = np.arange(8, dtype=np.float16)
    for _ in range(50):
        with pytest.raises(pysim.VerdictError):
            verdict.run(x=x[:4])
        with pytest.raises(pysim.StallError):
            stall.run()
        with pytest.raises(pysim.InputError):
            pysim.assemble("        frobnicate v0\n", "tiny")
        np.testing.assert_array_equal(good.run(x=x).y, 2 * x)


def test_print_instructions_reach_python(twice: str) -> None:
    text = twice.replace("        core_id s0\n", "        core_id s0\n        print s0\n")
    lines: list[str] = []
    pysim.assemble(text, "tiny").run(x=np.zeros(8, np.float16), print=lines.append)
    assert len(lines) == 2
