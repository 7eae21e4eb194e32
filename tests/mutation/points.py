# SPDX-License-Identifier: Apache-2.0
"""Where the sources can be perturbed: found from the tables and the refusals themselves, never listed by hand."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
ROW = re.compile(r"^NPU_INSTRUCTION\((\w+),\s*(\w+),\s*\w+,\s*(\w+),\s*\w+,\s*(\w+),\s*(\w+),.*$", re.MULTILINE)
VECTOR_CLASSES = (
    "Load",
    "Store",
    "Simple",
    "Add",
    "Multiply",
    "Fma",
    "Divide",
    "Transcendental",
    "Convert",
    "Reduce",
    "Permute",
)
SCALAR_CLASSES = ("ScalarOp", "ScalarMultiply", "ScalarDivide", "ScalarLoad", "ScalarStore", "Branch", "LoopStart")
# Statements that refuse or report; their first argument says nothing here, their condition is turned off.
REFUSAL = re.compile(
    r"\b(?:throw Error\(|throw Stop\b|refuse(?:_\w+)?\(|say\(|fail\(|bad\(|add_value\(|overflow\("
    r"|(?:\w+[.>-]*)?diagnostics_?(?:\.|->)add\(|problems?_?\.add\()"
)
LAYERS = (
    "isa",
    "sim/config",
    "sim/values",
    "sim/memory",
    "sim/dram",
    "sim/core",
    "sim/report",
    "sim/systemc",
    "sim",
    "kernels",
)


@dataclass(frozen=True)
class Point:
    """One perturbation: `old` at `start` of a file becomes `new`."""

    kind: str  # meaning, cost, check, default
    what: str
    path: str
    line: int
    start: int
    old: str
    new: str

    @property
    def name(self) -> str:
        return f"{self.kind}:{self.path}:{self.line}:{self.what}"

    def apply(self, text: str) -> str:
        assert text.startswith(self.old, self.start), self.name
        return text[: self.start] + self.new + text[self.start + len(self.old) :]


def text_of(path: str) -> str:
    return (ROOT / path).read_text(encoding="utf-8")


def replaced(kind: str, what: str, path: str, old: str, new: str) -> Point:
    """The first place of `old` in a file, which is the only one that matters."""
    text = text_of(path)
    start = text.index(old)
    return Point(kind, what, path, text.count("\n", 0, start) + 1, start, old, new)


def rows() -> list[tuple[str, str, str, str, str]]:
    """Name, mnemonic, family, cost class and format of each instruction."""
    return ROW.findall(text_of("isa/instructions.def"))


def meanings() -> Iterator[Point]:
    """An instruction does what its neighbour of the same form does."""
    table = rows()
    for name, mnemonic, family, _, form in table:
        same = [row[0] for row in table if row[4] == form and row[2] == family]
        if len(same) < 2:
            continue
        other = same[(same.index(name) + 1) % len(same)]
        swap = f"op.op == Op::{name} ? Op::{other} : op.op"
        what = f"{mnemonic} does what {other} does"
        if family == "Vector" and form not in ("Slide", "Extract"):
            old = "values::lane_function(op.op,"
            yield replaced("meaning", what, "sim/core/decode.cpp", old, old.replace("op.op", swap))
        elif family in ("Scalar", "VectorMemory"):
            old = "kMeanings[static_cast<std::size_t>(op.op)]"
            yield replaced("meaning", what, "sim/core/meaning.cpp", old, old.replace("op.op", swap))
        elif family == "Control" and form == "Branch":
            old = "switch (op.op) {\n    case Op::Jmp:"
            yield replaced("meaning", what, "sim/systemc/front_end.cpp", old, old.replace("op.op", swap, 1))


def costs() -> Iterator[Point]:
    """An instruction costs what another class costs."""
    include = '#include "isa/instructions.def"'
    definitions = text_of("isa/instructions.def")
    for match in ROW.finditer(definitions):
        _, mnemonic, _, cost, _ = match.groups()
        classes = next((group for group in (VECTOR_CLASSES, SCALAR_CLASSES) if cost in group), None)
        if classes is None:
            continue
        dear, cheap = ("Divide", "Simple") if classes is VECTOR_CLASSES else ("ScalarDivide", "ScalarOp")
        other = cheap if cost in (dear, "Transcendental") else dear
        row = re.sub(rf"\b{cost}\b(?=,\s*\w+,)", other, match.group(0), count=1)
        table = definitions[: match.start()] + row + definitions[match.end() :]
        yield replaced("cost", f"{mnemonic} costs {other}", "isa/table.cpp", include, table)


def defaults() -> Iterator[Point]:
    """A key that a machine file leaves out has another value."""
    header = text_of("sim/config/machine.hpp")
    anchor = "    const std::vector<std::string> known = keys_in<S>();\n"
    for body in re.finditer(r"^struct (\w+) \{\n(.*?)^\};", header, re.MULTILINE | re.DOTALL):
        struct, text = body.groups()
        required = set(re.findall(r"required\((?:number|value)\(\"\w+\",\s*&T::(\w+)", text))
        keys = set(re.findall(r"number\(\"\w+\",\s*&T::(\w+)", text)) - required
        for member, value in re.findall(r"\b(\w+) = ([0-9.]+)(?=[,;])", text):
            if member not in keys:
                continue
            changed = f"{float(value) + 1}" if "." in value else f"{int(value) + 1}"
            patch = f"{anchor}    if constexpr (std::is_base_of_v<{struct}, S>) out.{member} = {changed};\n"
            yield replaced("default", f"{struct}.{member} is {changed}", "sim/config/read.cpp", anchor, patch)


def opening(text: str, close: int) -> int:
    """The parenthesis that the one at `close` closes, or -1."""
    depth = 0
    for at in range(close, -1, -1):
        depth += {")": 1, "(": -1}.get(text[at], 0)
        if depth == 0:
            return at
    return -1


def condition(text: str, statement: int) -> tuple[int, int] | None:
    """Of the `if` whose body begins with the statement: from behind its initialiser to its closing parenthesis."""
    before = text[:statement].rstrip()
    if before.endswith("{"):
        before = before[:-1].rstrip()
    if not before.endswith(")"):
        return None
    start = opening(text, len(before) - 1)
    if start < 0 or not re.search(r"\bif\s*$", text[:start]):
        return None
    inside = text[start + 1 : len(before) - 1]
    depth, first = 0, start + 1
    for at, char in enumerate(inside):
        depth += {"(": 1, ")": -1, "[": 1, "]": -1, "{": 1, "}": -1}.get(char, 0)
        if char == ";" and depth == 0:
            first = start + 2 + at
    declares = re.match(r"\s*(?:const )?(?:auto|[\w:<>]+)[ *&]+\w+ = ", text[first : len(before) - 1])
    return None if declares else (first, len(before) - 1)


def checks() -> Iterator[Point]:
    """A refusal or a finding that never comes."""
    seen: set[tuple[str, int]] = set()
    for layer in LAYERS:
        for file in sorted((ROOT / layer).glob("*.cpp")):
            path = file.relative_to(ROOT).as_posix()
            text = text_of(path)
            for match in REFUSAL.finditer(text):
                place = condition(text, match.start())
                if place is None or (path, place[0]) in seen:
                    continue
                seen.add((path, place[0]))
                old = text[place[0] : place[1]]
                line = text.count("\n", 0, match.start()) + 1
                code = re.search(r'"([a-z][a-z-]+)"', text[match.start() : match.start() + 200])
                yield Point(
                    "check", code.group(1) if code else "?", path, line, place[0], old, f" false && ({old.strip()})"
                )


def all_points() -> list[Point]:
    return [*meanings(), *costs(), *defaults(), *checks()]
