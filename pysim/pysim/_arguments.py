# SPDX-License-Identifier: Apache-2.0
"""Arguments of a run: which are tensors, which are parameters, and what shapes say about parameters."""

from __future__ import annotations

import operator
from collections.abc import Mapping
from typing import Any

from pysim import _core
from pysim._arrays import Array, check_shape, check_type, shape_text
from pysim._errors import InputError
from pysim._section import Section


def named(header: Section, part: str) -> dict[str, Section]:
    """The "params" or "tensors" of a header by name."""
    return {item["name"]: item for item in header[part]}


def parameter_value(name: str, value: object) -> int:
    if not isinstance(value, bool):
        try:
            return operator.index(value)  # type: ignore[arg-type]
        except TypeError:
            pass
    raise InputError(f"parameter '{name}' takes an integer, got {value!r} ({type(value).__name__})", "wrong-type")


def header_for(source: _core.Source, arguments: Mapping[str, object]) -> Section:
    """The header under the parameters among the arguments: they may decide types and shapes of tensors.

    A parameter that does not fit before the shapes have told the sizes, such as a pitch, is left out here.
    """
    header = Section(source.header())
    parameters = named(header, "params")
    given = {name: parameter_value(name, value) for name, value in arguments.items() if name in parameters}
    try:
        return Section(source.header(given)) if given else header
    except InputError:
        fitting: dict[str, int] = {}
        for name, value in given.items():
            try:
                header = Section(source.header({**fitting, name: value}))
            except InputError:
                continue
            fitting[name] = value
        return header


def bind(header: Section, arguments: Mapping[str, object]) -> tuple[dict[str, int], dict[str, Array]]:
    """The arguments as parameters and tensors. A dimension that is a parameter alone tells its value."""
    tensors, parameters = named(header, "tensors"), named(header, "params")
    told: dict[str, tuple[int, str]] = {}
    arrays: dict[str, Array] = {}
    for name, value in arguments.items():
        if name in parameters:
            number = parameter_value(name, value)
            told[name] = (number, f"{name} = {number} was given")
        elif name not in tensors:
            known = [*tensors, *parameters]
            raise InputError(
                f"kernel {header['name']} has no tensor or parameter '{name}'{_core.suggestion(name, known)}",
                "unknown-argument",
            )
        elif tensors[name]["direction"] == "out":
            raise InputError(f"tensor '{name}' is an output of {header['name']}: it is returned", "not-an-input")
        else:
            arrays[name] = check_type(tensors[name], value)
    for name, array in arrays.items():
        _infer(tensors[name], array, told)
    return {name: value for name, (value, _) in told.items()}, arrays


def _infer(tensor: Section, array: Array, told: dict[str, tuple[int, str]]) -> None:
    """Adds to `told` the parameters, with what told them, that the shape tells."""
    if array.ndim != len(tensor["shape"]):
        raise InputError(
            f"tensor '{tensor['name']}' is {shape_text(tensor)}, the array has the shape {list(array.shape)}",
            "wrong-shape",
        )
    for parameter, size in zip(tensor["shape_parameters"], array.shape, strict=False):
        if not parameter:
            continue
        source = f"{tensor['name']} {shape_text(tensor)} of shape {list(array.shape)} says {parameter} = {size}"
        value, first = told.setdefault(parameter, (size, source))
        if value != size:
            raise InputError(f"{source}, but {first}", "shape-conflict")


def arrays_for(header: Section, arguments: Mapping[str, Any]) -> dict[str, Array]:
    """The arrays for an assembled kernel, whose parameters are settled."""
    _, arrays = bind(header, arguments)
    for name, parameter in named(header, "params").items():
        if name in arguments and arguments[name] != parameter["value"]:
            raise InputError(
                f"{header['name']} is assembled with {name} = {parameter['value']}, not {arguments[name]}",
                "settled-parameter",
            )
    tensors = named(header, "tensors")
    for name, array in arrays.items():
        check_shape(tensors[name], array)
    return arrays
