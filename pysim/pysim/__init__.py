# SPDX-License-Identifier: Apache-2.0
"""npulab in Python: run NPU kernels on simulated machines.

>>> import numpy as np, pysim
>>> a, x = np.ones((64, 256), np.float16), np.ones(256, np.float16)
>>> result = pysim.run("gemv/register_blocked", A=a, x=x, check=True)
>>> result.y, result.cycles, result.report["bound"]
"""

from __future__ import annotations

from pysim import _core
from pysim._errors import Error, InputError, InternalError, StallError, VerdictError
from pysim._kernel import DEFAULT_MACHINE, Kernel, assemble, kernel_info, kernels
from pysim._machine import Machine, machines
from pysim._packing import pack_2_4, pack_sparse, unpack_2_4, unpack_sparse
from pysim._result import Result
from pysim._section import Section
from pysim._simulation import Simulation, run

__version__ = _core.version()
__all__ = [
    "DEFAULT_MACHINE",
    "Error",
    "InputError",
    "InternalError",
    "Kernel",
    "Machine",
    "Result",
    "Section",
    "Simulation",
    "StallError",
    "VerdictError",
    "assemble",
    "kernel_info",
    "kernels",
    "machines",
    "pack_2_4",
    "pack_sparse",
    "run",
    "unpack_2_4",
    "unpack_sparse",
]
