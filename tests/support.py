# SPDX-License-Identifier: Apache-2.0
"""What the pytest suites share: the shipped files and the program under test."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
# The build folder under test; ctest sets it.
BUILD = Path(os.environ.get("NPULAB_BUILD", ROOT / "build/dev")).resolve()

# Of nightly comparisons: programs, of which the first is the reference, and how often each is made; 1 is not nightly.
PROGRAMS = [Path(name) for name in os.environ.get("NPULAB_PROGRAMS", str(BUILD / "npulab")).split(":")]
RUNS = int(os.environ.get("NPULAB_RUNS", "1"))


def shipped(*patterns: str) -> list[Path]:
    """Files that git ships or would ship, relative to the root."""
    listing = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", "--", *patterns],
        cwd=ROOT,
        check=True,
        capture_output=True,
        text=True,
    )
    return sorted(Path(name) for name in set(listing.stdout.split("\0")) if name and (ROOT / name).is_file())


def run_program(*arguments: str | Path, program: Path = BUILD / "npulab", **options: object) -> str:
    """Standard output of the program; anything but exit status 0 fails with what it said."""
    result = subprocess.run([program, *arguments], capture_output=True, text=True, check=False, **options)  # type: ignore[call-overload]
    assert result.returncode == 0, f"{program} {' '.join(map(str, arguments))}: {result.returncode}\n{result.stderr}"
    return str(result.stdout)
