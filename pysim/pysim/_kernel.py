# SPDX-License-Identifier: Apache-2.0
"""Kernels: what is in the library, and kernels assembled for a machine."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from pysim import _core
from pysim._arguments import named, parameter_value
from pysim._arrays import shape_text
from pysim._machine import Machine, as_machine, data_folders
from pysim._section import Section

if TYPE_CHECKING:
    from pysim._result import Result

DEFAULT_MACHINE = _core.DEFAULT_MACHINE


def kernels() -> dict[str, str]:
    """The kernels of the library: name and what each does."""
    return {name: doc.partition("\n")[0] for name, doc in _core.kernels(data_folders()[1]).items()}


def find_source(kernel: str | os.PathLike[str]) -> _core.Source:
    return _core.Source.find(os.fspath(kernel), data_folders()[1])


def kernel_info(kernel: str | os.PathLike[str]) -> Section:
    """Parameters, tensors and reference operation; sizes are those of the default parameters."""
    return Section(find_source(kernel).header())


class Kernel:
    """A kernel assembled for a machine, ready to run any number of times.

    `kernel` is a name of the library or a file; `params` are its parameters.
    """

    def __init__(
        self,
        kernel: str | os.PathLike[str],
        machine: str | os.PathLike[str] | Machine = DEFAULT_MACHINE,
        **params: int,
    ) -> None:
        self._adopt(find_source(kernel), as_machine(machine), params)

    def _adopt(self, source: _core.Source, machine: Machine, params: Mapping[str, object]) -> Kernel:
        values = {name: parameter_value(name, value) for name, value in params.items()}
        self._core = source.assemble(machine._core, values)
        self._header = Section(self._core.header())
        self.machine = machine
        return self

    @classmethod
    def from_source(cls, source: _core.Source, machine: Machine, params: Mapping[str, object]) -> Kernel:
        return cls.__new__(cls)._adopt(source, machine, params)

    @property
    def name(self) -> str:
        return str(self._header["name"])

    @property
    def doc(self) -> str:
        return str(self._header["doc"])

    @property
    def params(self) -> dict[str, int]:
        """The values that the kernel was assembled with."""
        return {name: parameter["value"] for name, parameter in named(self._header, "params").items()}

    @property
    def tensors(self) -> dict[str, Section]:
        """Type, shape, direction and more of each tensor."""
        return named(self._header, "tensors")

    @property
    def hash(self) -> str:
        """Of the instructions alone, as the report names it."""
        return self._core.hash()

    def disassemble(self) -> str:
        """The assembled instructions as text."""
        return self._core.disassemble()

    def run(self, **options_and_tensors: Any) -> Result:
        """As `pysim.run`."""
        from pysim._simulation import run

        return run(self, **options_and_tensors)

    def __repr__(self) -> str:
        params = ", ".join(f"{name}={value}" for name, value in self.params.items())
        tensors = ", ".join(f"{t['name']} {t['type']} {shape_text(t)} {t['direction']}" for t in self.tensors.values())
        return f"<Kernel {self.name} on {self.machine.name}; {params}; {tensors}>"


def assemble(
    text: str,
    machine: str | os.PathLike[str] | Machine = DEFAULT_MACHINE,
    *,
    source: str = "kernel.npu",
    **params: int,
) -> Kernel:
    """A kernel from its text. `source` stands for the file in messages, and includes are relative to it."""
    return Kernel.from_source(_core.Source(source, text), as_machine(machine), params)
