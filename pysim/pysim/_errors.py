# SPDX-License-Identifier: Apache-2.0
"""What npulab raises: one class per category, which is also the exit status of the program."""

from __future__ import annotations


class Error(Exception):
    """Base of all. `code` names the kind ("unknown-key"), `where` is "file:line:column" or empty."""

    def __init__(self, message: str, code: str, where: str = "") -> None:
        super().__init__(message, code, where)
        self.message = message
        self.code = code
        self.where = where

    def __str__(self) -> str:
        return f"{self.where}: {self.message}" if self.where else self.message


class InputError(Error):
    """The input was refused: nothing ran."""


class VerdictError(Error):
    """The run ended and its verdict is bad: an access out of bounds, a failed assertion, a mismatch."""


class StallError(Error):
    """The simulated program can never go on."""


class InternalError(Error):
    """npulab broke one of its own rules. Please report it."""
