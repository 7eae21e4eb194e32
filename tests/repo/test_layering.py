# SPDX-License-Identifier: Apache-2.0
"""Who may include whom. The rule is the pair of tables in docs/architecture.md; this test reads them there."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import pytest
from support import ROOT, shipped

INCLUDE = re.compile(r'^\s*#\s*include\s*(?:"([^"]+)"|<([^>]+)>)', re.MULTILINE)
STANDARD = re.compile(r"[a-z0-9_]+|(?:[ixp]mmintrin|cpuid|unistd|fcntl|signal)\.h|sys/[a-z]+\.h")
SOURCES = [path for path in shipped("isa", "sim", "kernels", "pysim") if path.suffix in {".hpp", ".cpp", ".def"}]


def table(heading: str) -> dict[str, list[str]]:
    """The Markdown table under `heading`: first column (code) to the code words of the second."""
    text = (ROOT / "docs/architecture.md").read_text(encoding="utf-8")
    section = text.split(f"### {heading}\n", 1)[1].split("\n#", 1)[0]
    rows = re.findall(r"^\| `([^`]+)` \|([^|]*)\|", section, re.MULTILINE)
    return {name: re.findall(r"`([^`]+)`", allowed) for name, allowed in rows}


FOLDERS = table("Folders")
LIBRARIES = table("Libraries")


def folder_of(path: Path) -> str:
    """The row of the table that `path` belongs to: the longest one that is a parent of it."""
    names = [parent.as_posix() for parent in path.parents]
    return next((name for name in names if name in FOLDERS), "")


@cache
def includes(path: Path) -> tuple[list[str], list[str]]:
    pairs = INCLUDE.findall((ROOT / path).read_text(encoding="utf-8"))
    return [own for own, _ in pairs if own], [foreign for _, foreign in pairs if foreign]


@pytest.mark.parametrize("path", SOURCES, ids=str)
def test_includes_only_what_its_layer_may(path: Path) -> None:
    folder = folder_of(path)
    assert folder, f"{path} stands in no folder of docs/architecture.md"
    own, foreign = includes(path)
    for name in own:
        assert (ROOT / name).is_file(), f'{path}: "{name}" is not a path from the root of the repository'
        target = folder_of(Path(name))
        assert target == folder or target in FOLDERS[folder], (
            f"{path} includes {name}: {folder} may include only {', '.join(FOLDERS[folder]) or 'itself'}"
        )
    for name in foreign:
        if STANDARD.fullmatch(name) and name not in LIBRARIES:
            continue
        library = next((row for row in LIBRARIES if name == row or name.startswith(row)), None)
        assert library, f"{path} includes <{name}>, which no row of docs/architecture.md allows"
        allowed = LIBRARIES[library]
        assert folder in allowed or f"{folder}/*{path.suffix}" in allowed, (
            f"{path} includes <{name}>: allowed only in {', '.join(allowed)}"
        )


def test_folders_include_one_another_in_no_circle() -> None:
    edges = {folder: set[str]() for folder in FOLDERS}
    for path in SOURCES:
        edges[folder_of(path)] |= {folder_of(Path(name)) for name in includes(path)[0]} - {folder_of(path)}
    done: set[str] = set()

    def visit(folder: str, trail: tuple[str, ...]) -> None:
        assert folder not in trail, f"circle: {' -> '.join((*trail, folder))}"
        if folder not in done:
            for target in sorted(edges[folder]):
                visit(target, (*trail, folder))
            done.add(folder)

    for folder in edges:
        visit(folder, ())


def test_facade_headers_do_not_show_systemc() -> None:
    """A user of the facade compiles without SystemC and fast."""
    open_paths = [path for path in SOURCES if path.suffix == ".hpp" and path.parent in {Path("sim"), Path("kernels")}]
    seen: dict[Path, Path] = {path: path for path in open_paths}
    while open_paths:
        path = open_paths.pop()
        own, foreign = includes(path)
        assert not [name for name in foreign if re.match(r"systemc|tlm|sysc", name)], f"{seen[path]} reaches {path}"
        for name in map(Path, own):
            if name not in seen:
                seen[name] = seen[path]
                open_paths.append(name)
