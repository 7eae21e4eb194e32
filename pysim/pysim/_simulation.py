# SPDX-License-Identifier: Apache-2.0
"""Running: a kernel on a machine, with NumPy arrays in and out."""

from __future__ import annotations

import builtins
import os
import sys
from collections.abc import Callable, Mapping
from typing import Any

from pysim import _core
from pysim._arguments import arrays_for, bind, header_for, named
from pysim._arrays import from_bytes, to_bytes
from pysim._errors import InputError
from pysim._kernel import DEFAULT_MACHINE, Kernel, find_source
from pysim._machine import Machine, as_machine
from pysim._result import Result

# Simulated cycle, and the share of the outputs that is stored (below 0: the kernel has none).
Progress = Callable[[int, float], object]


class ProgressLine:
    """The progress of one run after another, in one line on standard error."""

    def __init__(self) -> None:
        self._open = False

    def __call__(self, cycle: int, share: float) -> None:
        done = f" {share:4.0%}" if share >= 0 else ""
        print(f"\rcycle {cycle:,}{done}", end="", file=sys.stderr, flush=True)
        self._open = True

    def finish(self) -> None:
        if self._open:
            print(file=sys.stderr)
        self._open = False


DEFAULT_MAX_CYCLES = _core.DEFAULT_MAX_CYCLES


def _count(name: str, value: object, least: int, end: int = 2**32) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value < end:
        raise InputError(f"{name} is an integer, at least {least}; got {value!r}", "bad-option")
    return value


class Simulation:
    """A kernel with the options of its runs.

    timing_only: no values, the same cycles. sanitize: "fast", "full" (races too) or "off".
    cores: of the launch, by default all. warmup: runs before the one that counts.
    max_cycles: a run that has not ended by then is a StallError.
    block_cache: False times each instruction anew, with the same result.
    progress: True, or a function of cycle and share. print: takes the lines of `print` instructions.
    """

    def __init__(
        self,
        kernel: Kernel,
        *,
        timing_only: bool = False,
        sanitize: str = "fast",
        cores: int | None = None,
        warmup: int = 0,
        max_cycles: int = DEFAULT_MAX_CYCLES,
        block_cache: bool = True,
        progress: bool | Progress | None = None,
        print: Callable[[str], object] = builtins.print,
    ) -> None:
        self.kernel = kernel
        self._timing_only = timing_only
        self._line = ProgressLine()
        self._core = _core.Simulation(
            kernel._core,
            timing_only=timing_only,
            sanitize=sanitize,
            cores=0 if cores is None else _count("cores", cores, 1),
            warmup=_count("warmup", warmup, 0),
            max_cycles=_count("max_cycles", max_cycles, 1, 2**62),
            block_cache=block_cache,
            progress=self._line if progress is True else progress or None,
            print=print,
        )

    def run(
        self, tensors: Mapping[str, Any] | None = None, /, *, check: bool = False, strict: bool = False, **more: Any
    ) -> Result:
        """Runs once. `check` compares with the kernel's reference operation.

        A mismatch and findings that let the run go on stand in the result; with `strict` they are a VerdictError.
        """
        if check and self._timing_only:
            raise InputError("check compares values, and a timing-only run has no values", "bad-option")
        header = self.kernel._header
        shapes = named(header, "tensors")
        arrays = arrays_for(header, {**(tensors or {}), **more})
        dense = {name: to_bytes(shapes[name], array) for name, array in arrays.items()}
        try:
            report, outputs = self._core.run(dense, check)
        finally:
            self._line.finish()
        result = Result(
            kernel=self.kernel.name,
            machine=self.kernel.machine.name,
            params=self.kernel.params,
            outputs={name: from_bytes(shapes[name], data) for name, data in outputs.items()},
            types={name: shapes[name]["type"] for name in outputs},
            report=report,
        )
        if strict:
            result.raise_for_verdict()
        return result


def run(
    kernel: str | os.PathLike[str] | Kernel,
    machine: str | os.PathLike[str] | Machine | None = None,
    *,
    check: bool = False,
    strict: bool = False,
    timing_only: bool = False,
    sanitize: str = "fast",
    cores: int | None = None,
    warmup: int = 0,
    max_cycles: int = DEFAULT_MAX_CYCLES,
    block_cache: bool = True,
    progress: bool | Progress | None = None,
    print: Callable[[str], object] = builtins.print,
    **tensors_and_params: Any,
) -> Result:
    """Runs a kernel of the library, a file or an assembled `Kernel`; by default on `DEFAULT_MACHINE`.

    Arrays are tensors, integers are parameters, and shapes tell the parameters that they are made of::

        pysim.run("gemv/pipelined", A=a, x=x, check=True).y

    The options are those of `Simulation` and `Simulation.run`.
    """
    arguments: Mapping[str, Any] = tensors_and_params
    if not isinstance(kernel, Kernel):
        source = find_source(kernel)
        device = as_machine(DEFAULT_MACHINE if machine is None else machine)
        params, arguments = bind(header_for(source, tensors_and_params), tensors_and_params)
        kernel = Kernel.from_source(source, device, params)
    elif machine is not None and as_machine(machine) != kernel.machine:
        raise InputError(
            f"{kernel.name} is assembled for {kernel.machine.name}: assemble it anew for another machine",
            "settled-machine",
        )
    simulation = Simulation(
        kernel,
        timing_only=timing_only,
        sanitize=sanitize,
        cores=cores,
        warmup=warmup,
        max_cycles=max_cycles,
        block_cache=block_cache,
        progress=progress,
        print=print,
    )
    return simulation.run(arguments, check=check, strict=strict)
