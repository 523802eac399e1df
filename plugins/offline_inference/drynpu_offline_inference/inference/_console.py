"""What sessions print, on stdout as the vendor's module does: scripts read results of runs out of it."""

from __future__ import annotations

import sys

from attrs import define

DEBUG, INFO, WARN, ERROR = range(1, 5)
_NAMES = {DEBUG: "DEBUG", INFO: "INFO", WARN: "WARN", ERROR: "ERROR"}


@define
class Console:
    """Prints lines from a level on; ``level`` belongs to the session that was made last."""

    level: int = INFO

    def say(self, level: int, text: str) -> None:
        """Print one line if its level is shown."""
        if self.level <= level:
            sys.stdout.write(f"[{_NAMES[level]}] {text}\n")
            sys.stdout.flush()

    def progress(self, turn: int, turns: int) -> None:
        """Show how many runs of several are done; nothing for a single one."""
        if turns > 1:
            end = "\n" if turn == turns else ""
            sys.stdout.write(f"\rloop inference exec: ({turn}/{turns}){end}")
            sys.stdout.flush()
