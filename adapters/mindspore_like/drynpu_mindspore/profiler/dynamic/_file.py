"""``profiler_config.json``: written where there is none, and read again when it has changed."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path

from attrs import define

from drynpu.options.experimental_config import CONFIG_FILE
from drynpu_mindspore.profiler._host import UserLog
from drynpu_mindspore.profiler.dynamic._config import DEFAULT_DOCUMENT, DynamicOptions, read_options


@define
class ConfigFile:
    """
    What the file says, looked at between two steps of the training.

    Attributes
    ----------
    path:
        The file.
    poll_s:
        Least time in seconds between two looks.
    """

    user_log: UserLog
    path: Path
    poll_s: float
    _options: DynamicOptions | None = None
    _seen: tuple[int, int] | None = None
    _looked_s: float = -float("inf")

    @classmethod
    def in_folder(cls, folder: str, poll_s: float, user_log: UserLog) -> ConfigFile:
        """Return the file of a folder, which may not be there yet."""
        return cls(user_log, Path(os.path.realpath(Path(folder) / CONFIG_FILE)), poll_s)

    def write_default(self) -> None:
        """Write one that starts nothing, unless there is one. Raises `OSError`."""
        if not self.path.exists():
            self.path.parent.mkdir(mode=0o750, parents=True, exist_ok=True)
            self.path.write_text(json.dumps(DEFAULT_DOCUMENT, indent=4), encoding="utf-8")

    def options(self) -> DynamicOptions | None:
        """Return what the file says, ``None`` while it says nothing that can be read; its log hears why."""
        now_s = time.monotonic()
        if now_s - self._looked_s >= self.poll_s:
            self._looked_s = now_s
            self._look()
        return self._options

    def _look(self) -> None:
        try:
            status = self.path.stat()
        except OSError:
            self.user_log.error("Dynamic profiler cfg json not exists")
            return
        version = (status.st_mtime_ns, status.st_size)
        if version == self._seen:
            return
        self._seen, self._options = version, None
        try:
            document = json.loads(self.path.read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            self.user_log.error(f"Dynamic profiler process load json failed: {error}")
            self._say_invalid()
            return
        if isinstance(document, dict):
            self._options = read_options(document, self.user_log)
        else:
            self._say_invalid()

    def _say_invalid(self) -> None:
        self.user_log.error("Dynamic profiler json is not valid, please check the json file.")
