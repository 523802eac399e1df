"""Files and directories with the vendor's modes, complete or not there at all (cann_msprof.md 2.1, 2.4)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from drynpu._errors import OutputError
from drynpu._staging import staged_path

DONE = ".done"
_DIRECTORY_MODE = 0o750


def make_directory(path: Path) -> None:
    """
    Create a directory and its missing parents with mode 0750, less what the umask takes away.

    Raises
    ------
    OutputError
        If it cannot be created.
    """
    try:
        missing = [step for step in (path, *path.parents) if not step.is_dir()]
        for step in reversed(missing):
            step.mkdir(mode=_DIRECTORY_MODE, exist_ok=True)
    except OSError as error:
        message = f"Cannot create the directory {path}: {error.strerror}."
        raise OutputError(message) from error


def write_atomically(path: Path, chunks: Iterable[bytes | memoryview]) -> int:
    """
    Write a file under a temporary name, then rename it; return its size in bytes.

    The temporary name begins with a dot: the vendor's parser matches data files by the beginning of their name.

    Raises
    ------
    OutputError
        If the file cannot be written.
    """
    size = 0
    try:
        with staged_path(path) as temporary, temporary.open("wb") as file:
            for chunk in chunks:
                size += file.write(chunk)
    except OSError as error:
        message = f"Cannot write {path}: {error.strerror}."
        raise OutputError(message) from error
    return size


def write_document(path: Path, text: str) -> None:
    """Write a text as `write_atomically` does, and what is no UTF-8 in it as escapes. Raises `OutputError`."""
    write_atomically(path, [text.encode("utf-8", "backslashreplace")])


def write_with_done(path: Path, chunks: Iterable[bytes | memoryview]) -> None:
    """Write a file, then the mark that says it is complete."""
    size = write_atomically(path, chunks)
    write_atomically(path.with_name(path.name + DONE), [f"filesize:{size}\n".encode()])


def read_blocks(path: Path, purpose: str, block_bytes: int) -> Iterator[bytes]:
    """
    Yield the bytes of a file in blocks, at least one; with -1 all at once.

    Raises
    ------
    OutputError
        As `read_bytes`.
    """
    if block_bytes < 0:
        yield read_bytes(path, purpose)
        return
    try:
        with path.open("rb", buffering=0) as file:
            block = file.read(block_bytes)
            yield block
            while block := file.read(block_bytes):
                yield block
    except OSError as error:
        raise OutputError(f"Cannot read {path} ({purpose}): {error.strerror}.") from error


def read_bytes(path: Path, purpose: str) -> bytes:
    """
    Read a whole file.

    Raises
    ------
    OutputError
        If it is missing or unreadable; the message names the file and says what it is for.
    """
    try:
        return path.read_bytes()
    except OSError as error:
        message = f"Cannot read {path} ({purpose}): {error.strerror}."
        raise OutputError(message) from error
    except MemoryError as error:
        message = f"Cannot read {path} ({purpose}): {path.stat().st_size} bytes do not fit into memory."
        raise OutputError(message) from error
