"""Where run directories go: process-wide, as scripts rely on (mindspore_profiler.md 5.6, 5.7)."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from attrs import define

from drynpu import OutputError
from drynpu_mindspore.profiler._voice import Voice

__all__ = ["PATH_ERROR", "Place"]

_LONGEST_WORKER_NAME = 225
_LONGEST_PATH, _LONGEST_PART = 4096, 255
PATH_ERROR = "[ProfilerPathErrorException] code: 50546081, msg: Path error. "
_FORBIDDEN = re.compile(r"[^\w./~\-\s]", re.ASCII)


@define
class Place:
    """
    Folder and begin of the names of run directories.

    Attributes
    ----------
    handler_folder:
        What ``tensorboard_trace_handler`` was last given; stays in force for every later profiler.
    output_folder:
        What the current profiler's ``output_path`` says.
    worker_name:
        ``None`` for the host's name.
    """

    voice: Voice
    handler_folder: Path | None = None
    output_folder: Path = Path("data")
    worker_name: str | None = None

    @property
    def folder(self) -> Path:
        """The absolute folder of the next run directory."""
        return self.handler_folder or self.output_folder

    def configure(self, dir_name: Any, worker_name: Any) -> None:
        """
        Take the arguments of ``tensorboard_trace_handler``; the folder is resolved now.

        Raises
        ------
        OutputError
            The folder cannot be one: characters, length, a file or a link.
        """
        if worker_name is not None:
            if isinstance(worker_name, str) and 0 < len(worker_name) <= _LONGEST_WORKER_NAME:
                self.worker_name = worker_name
            else:
                self.voice.warning("Invalid parameter worker_name, reset it to default.")
        if dir_name is None:
            return
        if not isinstance(dir_name, str) or not dir_name:
            self.voice.warning("Invalid parameter dir_name, reset it to default.")
            return
        self.handler_folder = _checked(dir_name)

    def warn_of_two(self) -> None:
        """Say that a handler's folder comes before the ``output_path`` that was given too, if there is one."""
        if self.handler_folder is not None:
            self.voice.warning(
                "Both on_trace_ready path and output_path are provided. The on_trace_ready path takes effect. "
                f"Final path is {self.handler_folder}"
            )

    def take_output_path(self, output_path: str) -> None:
        """
        Take a profiler's ``output_path``, unless a handler's folder is in force.

        Raises
        ------
        OutputError
            The folder cannot be one.
        """
        if self.handler_folder is None:
            self.output_folder = _checked(output_path)


def _checked(text: str) -> Path:
    """Return the absolute path, if a folder can be there."""
    path = Path(text).expanduser().absolute()
    if _FORBIDDEN.search(str(path)):
        raise OutputError(f"{PATH_ERROR}Invalid input path: {path}, contains invalid characters.")
    if len(str(path)) > _LONGEST_PATH or any(len(part) > _LONGEST_PART for part in path.parts):
        raise OutputError(f"{PATH_ERROR}Length of input path exceeds the limit: {path}")
    if path.is_symlink():
        raise OutputError(f"{PATH_ERROR}Invalid input path is a soft link: {path}")
    if path.is_file():
        raise OutputError(f"{PATH_ERROR}Invalid input path is a file path: {path}")
    return path
