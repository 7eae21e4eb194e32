# SPDX-License-Identifier: Apache-2.0
"""Every header compiles on its own: one that its .cpp includes first is proven by the build, the others compiled."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from support import BUILD, ROOT, shipped


def proven_by_build(header: Path) -> bool:
    twin = ROOT / header.with_suffix(".cpp")
    if not twin.is_file():
        return False
    first = re.search(r'^#include ["<]([^">]+)', twin.read_text(encoding="utf-8"), re.MULTILINE)
    return first is not None and first.group(1) == header.as_posix()


def command_for(header: Path, commands: dict[Path, list[str]]) -> list[str]:
    """The compiler call of the source nearest to the header, for a unit that stands on standard input."""

    def nearness(source: Path) -> int:
        return len(Path(os.path.commonpath([source, ROOT / header])).parts)

    words = commands[max(sorted(commands), key=nearness)]
    kept = [words[0]]
    for i, word in enumerate(words[1:], start=1):
        if re.match(r"-(?:I|D|std|W|f|m)", word):
            kept.append(word)
        elif word == "-isystem":
            kept += words[i : i + 2]
    return [*kept, "-fsyntax-only", "-x", "c++", "-"]


def test_headers_compile_alone() -> None:
    database = json.loads((BUILD / "compile_commands.json").read_text(encoding="utf-8"))
    commands = {Path(entry["file"]): shlex.split(entry["command"]) for entry in database}
    headers = [path for path in shipped("isa/*.hpp", "sim/*.hpp", "kernels/*.hpp") if not proven_by_build(path)]

    def errors(header: Path) -> str:
        call = command_for(header, commands)
        unit = f'#include "{header}"\n'
        result = subprocess.run(call, cwd=BUILD, input=unit, capture_output=True, text=True, check=False)
        return "" if result.returncode == 0 else f"{header}:\n{result.stderr}"

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        failures = [text for text in pool.map(errors, headers) if text]
    assert not failures, "\n".join(failures)
