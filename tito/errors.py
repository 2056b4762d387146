"""The one error that a user is meant to read."""

from __future__ import annotations

WRONG_USE = 2
NOT_YET = 1


class UserError(Exception):
    """One sentence for the user, and the exit code: 2 for wrong use, 1 for work that is not done yet."""

    def __init__(self, message: str, code: int = WRONG_USE) -> None:
        super().__init__(message)
        self.message = message
        self.code = code
