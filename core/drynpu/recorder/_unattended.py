"""What ``drynpu run --profile`` asks of a script that has no profiler code."""

from __future__ import annotations

import re
from pathlib import Path

import orjson
from attrs import frozen

from drynpu._errors import OptionError

__all__ = ["PROFILE_VARIABLE", "ProfileOrder"]

PROFILE_VARIABLE = "DRYNPU_PROFILE"
"""Environment variable that holds a `ProfileOrder` as text; processes that the script starts inherit it."""

_WHOLE_RUN = "all"
_WINDOW = re.compile(r"([0-9]{1,9}):([1-9][0-9]{0,8})", re.ASCII)


@frozen(kw_only=True)
class ProfileOrder:
    """
    Profile every process that trains.

    Attributes
    ----------
    skip_steps:
        Training steps to let pass before recording; a step ends where the first optimizer of the process has stepped.
    record_steps:
        Training steps to record; ``None``: from the framework's import to the end of the process.
    directory:
        Where the result directories go.
    """

    skip_steps: int = 0
    record_steps: int | None = None
    directory: Path

    @classmethod
    def of_window(cls, window: str, directory: Path) -> ProfileOrder:
        """
        Read ``SKIP:COUNT``, or ``all`` for the whole run.

        Raises
        ------
        OptionError
            The text is neither.
        """
        if window == _WHOLE_RUN:
            return cls(directory=directory)
        match = _WINDOW.fullmatch(window)
        if match is None:
            raise OptionError(
                [f"--profile-steps: {window!r} is not SKIP:COUNT with COUNT at least 1, such as 2:3, nor 'all'"]
            )
        return cls(skip_steps=int(match[1]), record_steps=int(match[2]), directory=directory)

    def to_text(self) -> str:
        """Return the value of the environment variable."""
        return orjson.dumps(
            {"skip_steps": self.skip_steps, "record_steps": self.record_steps, "directory": str(self.directory)}
        ).decode()

    @classmethod
    def from_text(cls, text: str) -> ProfileOrder:
        """Read the value of the environment variable. Raises `OptionError`."""
        try:
            document = orjson.loads(text)
            return cls(
                skip_steps=document["skip_steps"],
                record_steps=document["record_steps"],
                directory=Path(document["directory"]),
            )
        except (orjson.JSONDecodeError, KeyError, TypeError) as error:
            raise OptionError([f"{PROFILE_VARIABLE}: not an order of drynpu run --profile: {error}"]) from error
