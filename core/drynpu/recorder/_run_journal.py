"""The results of a run, of all processes of a script: noted as they are written, read when the script has ended."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import orjson
from attrs import frozen

from drynpu._errors import OutputError
from drynpu._say import say

RUN_VARIABLE: Final = "DRYNPU_RUN"
"""Environment variable that names the file of a `RunJournal`; processes that the script starts inherit it."""


@frozen
class RunJournal:
    """A file to which each process of a run adds a line for each recording that it has written."""

    file: Path

    @classmethod
    def from_environ(cls, environ: Mapping[str, str]) -> RunJournal | None:
        """Return the journal that this process is to write to; None where nobody asked for one."""
        path = environ.get(RUN_VARIABLE, "")
        return cls(Path(path)) if path else None

    def note(self, directory: Path, prof_path: Path | None) -> None:
        """
        Add a recording: the directory that it was written to, and its PROF directory there.

        Where the file cannot be written a line on stderr says so: the recording itself has succeeded.
        """
        line = orjson.dumps({"directory": str(directory), "prof": prof_path and str(prof_path)}) + b"\n"
        try:
            # One write to the end of the file: lines of several processes do not mix.
            descriptor = os.open(self.file, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o640)
            try:
                os.write(descriptor, line)
            finally:
                os.close(descriptor)
        except OSError as error:
            say(f"{directory} is not in the list of this run: {self.file}: {error.strerror or error}")

    def read(self) -> list[tuple[Path, Path | None]]:
        """
        Return the recordings in their order, each once.

        Raises
        ------
        OutputError
            The file cannot be read.
        """
        try:
            lines = self.file.read_bytes().splitlines() if self.file.exists() else []
        except OSError as error:
            raise OutputError(f"{self.file}: cannot be read: {error.strerror or error}") from error
        documents = map(orjson.loads, dict.fromkeys(lines))
        return [(Path(entry["directory"]), Path(entry["prof"]) if entry["prof"] else None) for entry in documents]
