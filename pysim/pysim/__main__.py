# SPDX-License-Identifier: Apache-2.0
"""The program `npulab`, as the wheel installs it."""

from __future__ import annotations

import sys

from pysim import _core
from pysim._machine import DATA_CANDIDATES


def main() -> None:
    sys.exit(_core.run_program(sys.argv[1:], DATA_CANDIDATES))


if __name__ == "__main__":
    main()
