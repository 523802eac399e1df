"""Files under temporary names, until they are whole: written, taken over, and swept where a writer was killed."""

from __future__ import annotations

import enum
import os
import re
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from drynpu.host import NEW_FILE_FLAGS

_FILE_MODE = 0o640


class Staging(enum.Enum):
    """What lies under a temporary name, which begins with a dot and holds the writer's process id."""

    FILE = "partial"
    DIRECTORY = "new"
    REPLACED = "old"
    """A directory that holds the one which is being replaced."""


def staging_prefix(name: str, staging: Staging) -> str:
    """Return how temporary names begin beside a file or directory called *name*."""
    return f".{name}.{staging.value}-{os.getpid()}-"


@contextmanager
def staged_path(path: Path) -> Iterator[Path]:
    """
    Give an empty new file (mode 0640) beside *path* to fill; afterwards it takes the name *path*.

    On any exception it is removed, as far as that is possible, and *path* is what it was. An ``OSError`` comes back as
    it is. Two writers of one path do not meet: each has a file of its own, and the one that ends last wins.
    """
    temporary = path.with_name(staging_prefix(path.name, Staging.FILE) + secrets.token_hex(4))
    try:
        os.close(os.open(temporary, NEW_FILE_FLAGS, _FILE_MODE))
        yield temporary
        temporary.replace(path)
    except BaseException:
        with suppress(OSError):
            temporary.unlink()
        raise


_STAGED = re.compile(r"\.(?P<name>.+)\.(?P<staging>partial|new|old)-(?P<pid>[0-9]{1,10})-\w+")


def sweep_staged(directory: Path) -> None:
    """
    Remove what killed writers left in *directory* under temporary names; nothing is raised.

    What a living process may still be writing stays. A directory that was moved aside, and whose successor never came,
    gets its name back.
    """
    with suppress(OSError):
        for entry in directory.iterdir():
            match = _STAGED.fullmatch(entry.name)
            if match is None or _lives(int(match["pid"])):
                continue
            path, aside = directory / match["name"], entry / match["name"]
            if match["staging"] == Staging.REPLACED.value and aside.exists() and not path.exists():
                aside.rename(path)
            if entry.is_dir() and not entry.is_symlink():
                shutil.rmtree(entry, ignore_errors=True)
            else:
                entry.unlink()


def _lives(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except PermissionError:
        return True
    except OSError:
        return False
    return True
