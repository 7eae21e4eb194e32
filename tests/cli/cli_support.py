# SPDX-License-Identifier: Apache-2.0
"""What the tests of the command line share: calling the program, small kernels, small machines."""

from __future__ import annotations

import os
import pty
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from support import BUILD

PROGRAM = BUILD / "npulab"
TINY = ("--machine", "tiny")

# y = x, N elements of TYPE through the local buffer.
COPY = """\
.kernel copy
.doc "y = x, through the local buffer."
.param N = 16 in 0..4096 "elements"
.param PITCH = N in 0..4096 "elements from row to row"
.tensor x {type} [N] in "what is read"
.tensor y {type} [N] out "what is written"
.buffer b ub align((N * bits({type}) + 7) / 8, 8)
        copy b[], x[], (N * bits({type}) + 7) / 8
        set_flag mte2, mte3, 0
        wait_flag mte2, mte3, 0
        copy y[], b[], (N * bits({type}) + 7) / 8
        end
"""

# Waits for a flag that nobody sets.
STALL = ".kernel stall\n        wait_flag mte2, mte3, 0\n        end\n"

# Long enough to be interrupted: scalar work alone.
LONG = """\
.kernel long
.param N = 2000000000 in 1..4000000000
        mov s0, 0
top:    add s0, s0, 1
        blt s0, N, top
        end
"""


@dataclass(frozen=True)
class Result:
    status: int
    out: str
    err: str


def limited(command: list[str | Path], limits: str) -> list[str | Path]:
    return ["sh", "-c", f'{limits}; exec "$0" "$@"', *command] if limits else command


def npulab(
    *words: str | Path,
    cwd: Path | None = None,
    env: Mapping[str, str] | None = None,
    program: Path = PROGRAM,
    limits: str = "",
) -> Result:
    """Runs the program. `limits`: shell commands before it, such as `ulimit -f 1`."""
    result = subprocess.run(
        limited([program, *words], limits),
        cwd=cwd,
        env={**os.environ, **(env or {})},
        capture_output=True,
        text=True,
        check=False,
    )
    return Result(result.returncode, result.stdout, result.stderr)


def on_terminal(*words: str | Path, env: Mapping[str, str] | None = None, limits: str = "") -> str:
    """What the program writes to a terminal, both streams. `limits`: shell commands before it."""
    main, other = pty.openpty()
    process = subprocess.Popen(
        limited([PROGRAM, *words], limits),
        stdin=other,
        stdout=other,
        stderr=other,
        env={**os.environ, "TERM": "xterm", **(env or {})},
    )
    os.close(other)
    seen = b""
    while True:
        try:
            part = os.read(main, 65536)
        except OSError:
            break
        if not part:
            break
        seen += part
    os.close(main)
    assert process.wait() == 0
    return seen.decode()


def good(*words: str | Path, cwd: Path | None = None, env: Mapping[str, str] | None = None) -> str:
    """Standard output of a call that must succeed and say nothing else."""
    result = npulab(*words, cwd=cwd, env=env)
    assert result.status == 0, result.err
    assert result.err == ""
    return result.out


def refused(*words: str | Path, cwd: Path | None = None, env: Mapping[str, str] | None = None, status: int = 2) -> str:
    """The message of a call that must be refused, in one piece and without output."""
    result = npulab(*words, cwd=cwd, env=env)
    assert result.status == status, f"{result.status}: {result.out}{result.err}"
    assert result.out == ""
    assert result.err.startswith("npulab: ")
    return result.err


def write_copy(folder: Path, type_name: str = "f32") -> Path:
    path = folder / f"copy_{type_name}.npu"
    path.write_text(COPY.format(type=type_name), encoding="utf-8")
    return path
