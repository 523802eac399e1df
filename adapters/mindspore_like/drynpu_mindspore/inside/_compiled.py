"""C++ that is compiled on the user's machine when it is needed for the first time."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from drynpu.compiling import find_compiler, library_path, put_library, run_compiler


def compiled_library(source: Path, flags: Sequence[str]) -> Path | None:
    """
    Return the library of a file of C++, compiled now if it was not before; ``None`` without a compiler.

    Raises
    ------
    CommandError
        The compiler refuses the source.
    OSError
        The user's cache cannot be written.
    """
    path = library_path("mindspore", f"{source.stem}.so", [source], flags)
    compiler = None if path.exists() else find_compiler()
    if compiler is not None:
        arguments = [*flags, str(source), "-o"]
        put_library(path, lambda output: run_compiler(compiler, [*arguments, str(output)], source.name))
    return path if path.exists() else None
