"""Small text files, whole or not at all."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

from drynpu import OutputError


def write_document(path: Path, text: str) -> None:
    """
    Write a small text file through a temporary name, mode 0640 less the umask, so that it is whole or not there.

    Raises
    ------
    OutputError
        If it cannot be written; the message names the file and the reason.
    """
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o640)
        with os.fdopen(descriptor, "w", encoding="utf-8", errors="backslashreplace") as file:
            file.write(text)
        temporary.replace(path)
    except OSError as error:
        raise OutputError(f"cannot write {path}: {error.strerror}") from error
    finally:
        with contextlib.suppress(OSError):
            temporary.unlink()
