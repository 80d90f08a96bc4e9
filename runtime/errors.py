"""The one exception for what a user can put right.

Pitfall shown: a typo in a flag answered by forty lines of traceback. Everything the user can correct is raised as
`UserError`; `main` prints it as one line and exits with 2. Any other exception is a bug and keeps its traceback.
"""

from __future__ import annotations


class UserError(Exception):
    """Something the user can correct: says what is wrong, why it matters and what to do, in one line.

    `shown` is True on ranks that only repeat what rank 0 has already printed.
    """

    def __init__(self, message: str, *, shown: bool = False) -> None:
        super().__init__(message)
        self.shown = shown
