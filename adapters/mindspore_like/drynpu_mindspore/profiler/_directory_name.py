"""The folder of run directories, one for the whole process as scripts expect (mindspore_profiler.md 5.6, 5.7)."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from attrs import define

from drynpu import OutputError
from drynpu_mindspore.profiler._host import UserLog

_LONGEST_WORKER_NAME = 225
_LONGEST_PATH, _LONGEST_PART = 4096, 255
_ERROR = "[ProfilerPathErrorException] code: 50546081, msg: Path error. "
_ALLOWED = re.compile(r"[./_\-\s~0-9a-zA-Z\u4e00-\u9fa5]+")
"""The last range holds the unified ideographs of Unicode 1."""


@define
class RunDirectoryName:
    """
    Folder and begin of the names of run directories.

    Attributes
    ----------
    handler_folder:
        What ``tensorboard_trace_handler`` was last given; stays in force for every later profiler.
    worker_name:
        ``None`` for the host's name.
    """

    user_log: UserLog
    handler_folder: Path | None = None
    worker_name: str | None = None

    def configure(self, dir_name: object, worker_name: object) -> None:
        """
        Take the arguments of ``tensorboard_trace_handler``; the folder is resolved now.

        Raises
        ------
        OutputError
            The folder cannot be one: characters, length, a file or a link.
        """
        self.worker_name = None
        if isinstance(worker_name, str) and 0 < len(worker_name) <= _LONGEST_WORKER_NAME:
            self.worker_name = worker_name
        elif worker_name is not None:
            self.user_log.warning("Invalid parameter worker_name, reset it to default.")
        if dir_name is None:
            return
        if not isinstance(dir_name, str) or not dir_name:
            self.user_log.warning("Invalid parameter dir_name, reset it to default.")
            return
        self.handler_folder = checked_folder(dir_name)

    def with_folder(self, keywords: Mapping[str, object]) -> Mapping[str, Any]:
        """Return the keywords of a new profiler, with the handler's folder as ``output_path`` if one is in force."""
        if self.handler_folder is None:
            return keywords
        if "output_path" in keywords:
            self.user_log.warning(
                "Both on_trace_ready path and output_path are provided. The on_trace_ready path takes effect. "
                f"Final path is {self.handler_folder}"
            )
        return {**keywords, "output_path": str(self.handler_folder)}


def checked_folder(folder: str | os.PathLike[str]) -> Path:
    """
    Return the absolute path, links followed, if a folder is or can be there.

    Raises
    ------
    OutputError
        It is a link or a file, or has characters or a length that the vendor refuses.
    TypeError
        It is no path.
    """
    # The functions of os, which take names that are too long.
    unfollowed = Path(os.fspath(folder)).expanduser()
    if os.path.islink(unfollowed):  # noqa: PTH114
        raise _error(f"Invalid input path is a soft link: {folder}")
    text = os.path.realpath(unfollowed)
    path = Path(text)
    if len(text) > _LONGEST_PATH:
        raise _error(f"Path {text} length {len(text)} exceeds the limit {_LONGEST_PATH}.")
    if not _ALLOWED.fullmatch(text):
        raise _error(f"Invalid input path: {text}, contains invalid characters.")
    for part in path.parts:
        if len(part) > _LONGEST_PART:
            raise _error(f"Length of input path {text} file name {part} exceeds the limit {_LONGEST_PART}.")
    if path.is_file():
        raise _error(f"Invalid input path is a file path: {text}")
    return path


def _error(reason: str) -> OutputError:
    return OutputError(f"{_ERROR}{reason}")
