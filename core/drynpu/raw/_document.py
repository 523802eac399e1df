"""Small text files, whole or not at all."""

from __future__ import annotations

from pathlib import Path

from drynpu import OutputError
from drynpu._staging import staged_path


def write_document(path: Path, text: str) -> None:
    """
    Write a small text file through a temporary name, mode 0640 less the umask, so that it is whole or not there.

    Raises
    ------
    OutputError
        If it cannot be written; the message names the file and the reason.
    """
    try:
        with staged_path(path) as temporary:
            temporary.write_text(text, encoding="utf-8", errors="backslashreplace")
    except OSError as error:
        raise OutputError(f"cannot write {path}: {error.strerror}") from error
