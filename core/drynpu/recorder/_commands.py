"""What ``drynpu msprof``, ``run --profile`` and ``check`` hand to processes that they start, and what comes back."""

from __future__ import annotations

import os
import re
from pathlib import Path

import orjson
from attrs import frozen

from drynpu._errors import OptionError, OutputError
from drynpu.options import ProfilingRequest, from_mapping, to_mapping

COLLECT_VARIABLE = "DRYNPU_COLLECT"
"""Environment variable that holds a `CollectionCommand` as text."""

PROFILE_VARIABLE = "DRYNPU_PROFILE"
"""Environment variable that holds a `ProfileCommand` as text; processes that the script starts inherit it."""

CHECK_VARIABLE = "DRYNPU_CHECK"
"""Environment variable that holds a `CheckCommand` as text; profilers of such processes record nothing."""

_WHOLE_RUN = "all"
_WINDOW = re.compile(r"([0-9]{1,9}):([1-9][0-9]{0,8})", re.ASCII)


@frozen(kw_only=True)
class CollectionReport:
    """
    What one process recorded.

    ``path`` is its PROF directory, ``None`` if it failed; ``notes`` say what was asked and is not written, or why it
    failed.
    """

    path: Path | None = None
    notes: tuple[str, ...] = ()


@frozen(kw_only=True)
class CollectionCommand:
    """
    Record every process of an application: its whole life, or the part of it that the request's window names.

    Attributes
    ----------
    request:
        What to record.
    directory:
        Where the PROF directories go; there is one for every process that ran operators.
    journal:
        File to which each of these processes adds one line per recording, its `CollectionReport`.
    launched_ns:
        Unix time at which the application was started; the delay of the request's window counts from there.
    control:
        Socket at which the first of these processes waits for commands instead of recording by itself.
    """

    request: ProfilingRequest
    directory: Path
    journal: Path
    launched_ns: int = 0
    control: Path | None = None

    def to_text(self) -> str:
        """Return the value of the environment variable."""
        document = {
            "request": to_mapping(self.request),
            "directory": str(self.directory),
            "journal": str(self.journal),
            "launched_ns": self.launched_ns,
            "control": None if self.control is None else str(self.control),
        }
        return orjson.dumps(document).decode()

    @classmethod
    def from_text(cls, text: str) -> CollectionCommand:
        """Read the value of the environment variable. Raises `OptionError`."""
        try:
            document = orjson.loads(text)
            return cls(
                request=from_mapping(document["request"]),
                directory=Path(document["directory"]),
                journal=Path(document["journal"]),
                launched_ns=int(document["launched_ns"]),
                control=None if document["control"] is None else Path(document["control"]),
            )
        except (orjson.JSONDecodeError, KeyError, TypeError, ValueError) as error:
            raise OptionError([f"{COLLECT_VARIABLE}: not an order of drynpu msprof: {error}"]) from error

    def report(self, report: CollectionReport) -> None:
        """Add a line to the journal; lines of several processes do not mix. Raises `OutputError`."""
        line = orjson.dumps({"path": report.path and str(report.path), "notes": report.notes}) + b"\n"
        try:
            descriptor = os.open(self.journal, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o640)
            try:
                os.write(descriptor, line)
            finally:
                os.close(descriptor)
        except OSError as error:
            raise OutputError(f"{self.journal}: cannot be written: {error.strerror or error}") from error

    def reports(self) -> list[CollectionReport]:
        """Return what was reported so far, in order. Raises `OutputError`."""
        try:
            lines = self.journal.read_bytes().splitlines() if self.journal.exists() else []
        except OSError as error:
            raise OutputError(f"{self.journal}: cannot be read: {error.strerror or error}") from error
        documents = [orjson.loads(line) for line in lines]
        return [
            CollectionReport(path=Path(entry["path"]) if entry["path"] else None, notes=tuple(entry["notes"]))
            for entry in documents
        ]


@frozen(kw_only=True)
class ProfileCommand:
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
    def from_window(cls, window: str, directory: Path) -> ProfileCommand:
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
    def from_text(cls, text: str) -> ProfileCommand:
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


@frozen(kw_only=True)
class CheckCommand:
    """
    Run the first steps of a script and note what it does.

    Attributes
    ----------
    folder:
        Where each process leaves what it noted, and its recording.
    first_steps:
        Steps after which a process ends; ``None``: it runs to its end.
    skip_steps:
        The first of them, which are not recorded: the lines behind operators are noted instead.
    """

    folder: Path
    first_steps: int | None = None
    skip_steps: int = 0

    def to_text(self) -> str:
        """Return the value of the environment variable."""
        document = {"folder": str(self.folder), "first_steps": self.first_steps, "skip_steps": self.skip_steps}
        return orjson.dumps(document).decode()

    @classmethod
    def from_text(cls, text: str) -> CheckCommand:
        """Read the value of the environment variable. Raises `OptionError`."""
        try:
            document = orjson.loads(text)
            return cls(
                folder=Path(document["folder"]),
                first_steps=document["first_steps"],
                skip_steps=document["skip_steps"],
            )
        except (orjson.JSONDecodeError, KeyError, TypeError) as error:
            raise OptionError([f"{CHECK_VARIABLE}: not an order of drynpu check: {error}"]) from error
