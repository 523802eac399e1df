"""C++ that is compiled on the user's machine, once for each version of what it is made of."""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from drynpu._errors import CommandError

__all__ = [
    "COMPILER_ADVICE",
    "LONGEST_MESSAGE",
    "find_compiler",
    "library_path",
    "one_at_a_time",
    "put_library",
    "run_compiler",
]

COMPILER_ADVICE = (
    "install a C++ compiler (apt-get install g++; dnf install gcc-c++; without root: conda install -c conda-forge gxx)"
)
"""How to get what `find_compiler` looks for."""

LONGEST_MESSAGE = 2000
"""Letters of what a compiler said that an error shows."""


def find_compiler(environ: Mapping[str, str] = os.environ) -> str | None:
    """Return the C++ compiler of this machine: the one that ``CXX`` names, else g++, c++ or clang++."""
    names = [environ["CXX"]] if environ.get("CXX") else ["g++", "c++", "clang++"]
    return next(filter(None, map(shutil.which, names)), None)


def library_path(
    name: str, file: str, sources: Sequence[Path], flags: Sequence[str], environ: Mapping[str, str] = os.environ
) -> Path:
    """Return where the library *file* of these sources lies: in the user's cache, below *name* and a digest."""
    digest = hashlib.sha256(" ".join(flags).encode())
    for source in sorted(sources):
        digest.update(source.name.encode() + source.read_bytes())
    cache = Path(environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return cache / "drynpu" / "native" / f"{name}-{digest.hexdigest()[:12]}" / file


def run_compiler(compiler: str, arguments: Sequence[str], what: str) -> None:
    """
    Run a compiler.

    Raises
    ------
    CommandError
        It fails; the message says that *what* could not be compiled and has its output.
    """
    done = subprocess.run([compiler, *arguments], capture_output=True, text=True, check=False)
    if done.returncode:
        raise CommandError(f"{compiler} could not compile {what}:\n{done.stderr[:LONGEST_MESSAGE]}")


@contextlib.contextmanager
def one_at_a_time(folder: Path) -> Iterator[None]:
    """Let one process at a time build in *folder*; where files cannot be locked, several may."""
    with contextlib.ExitStack() as stack:
        with contextlib.suppress(OSError):
            folder.mkdir(parents=True, exist_ok=True)
            file = stack.enter_context((folder / "lock").open("w"))
            fcntl.flock(file, fcntl.LOCK_EX)  # until the file is closed
        yield


def put_library(path: Path, build: Callable[[Path], None]) -> None:
    """Have *build* write a file beside *path*, and put it there in one step: several processes may build at once."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=path.parent) as folder:
        output = Path(folder) / path.name
        build(output)
        output.replace(path)
