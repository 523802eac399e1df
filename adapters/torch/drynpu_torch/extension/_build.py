"""Building the device with the machine's compiler, into the user's cache."""

from __future__ import annotations

import contextlib
import os
import re
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from importlib import metadata, util
from pathlib import Path

from attrs import frozen

from drynpu import CommandError
from drynpu.compiling import (
    COMPILER_ADVICE,
    LONGEST_MESSAGE,
    find_compiler,
    library_path,
    one_at_a_time,
    put_library,
    run_compiler,
)
from drynpu.host import SHARED_LIBRARY_FLAGS

_UNIT = "module.cpp"
"""The one translation unit; it includes the other files."""
_FLAGS = ("-O3", "-DNDEBUG", "-std=c++20", "-fPIC", *SHARED_LIBRARY_FLAGS, "-fvisibility=hidden", "-w")
_LIBRARIES = ("-ltorch_cpu", "-lc10")
_OLDEST = (2, 6)
_TAKES_OLD_STRING = b"_ZN3c105ErrorC1ENS_14SourceLocationESs"
"""The constructor of ``c10::Error``; ``Ss`` is a string in the form that GNU's library had before 2015."""
_FAILURE = "failure.txt"
"""Beside the library: why these sources did not become one for this PyTorch."""


@frozen
class Build:
    """A build of the device: for which version of PyTorch, where it lies, and whether it is there."""

    torch_version: str
    path: Path

    @property
    def done(self) -> bool:
        """Whether the library is there."""
        return self.path.exists()

    @property
    def failure(self) -> str | None:
        """Why the last attempt to build or load it failed, with the compiler's words; ``None`` if none failed."""
        try:
            return self._failure_file.read_text(encoding="utf-8")
        except OSError:
            return None

    @property
    def release(self) -> tuple[int, int]:
        """The numbers of the release; a version in an unknown form counts as a new one."""
        numbers = re.match(r"(\d+)\.(\d+)", self.torch_version)
        return (int(numbers[1]), int(numbers[2])) if numbers else (99, 0)

    def note_failure(self, reason: str | None) -> None:
        """Keep *reason* for later starts, which then advise no second attempt; ``None`` forgets it."""
        # A cache that cannot be written to leaves no note: the advice is then less good, and nothing else.
        with contextlib.suppress(OSError):
            if reason is None:
                self._failure_file.unlink(missing_ok=True)
            else:
                self._failure_file.parent.mkdir(parents=True, exist_ok=True)
                self._failure_file.write_text(reason, encoding="utf-8")

    @property
    def _failure_file(self) -> Path:
        return self.path.with_name(_FAILURE)


def sources() -> Path:
    """Return the folder of the C++ sources: beside the package in a checkout, inside it where it was installed."""
    package = Path(__file__).parents[1]
    return next(folder for folder in (package / "native", package.parent / "native") if (folder / _UNIT).exists())


def find_build(environ: Mapping[str, str] = os.environ) -> Build:
    """
    Return the build that serves the installed PyTorch and these sources.

    Raises
    ------
    CommandError
        PyTorch is not installed, or older than drynpu serves.
    """
    try:
        version = metadata.version("torch")
    except metadata.PackageNotFoundError:
        raise CommandError("PyTorch is not installed; pip install 'drynpu[torch]'") from None
    path = library_path(f"torch-{version}", "npu.so", list(sources().iterdir()), _FLAGS, environ)
    result = Build(version, path)
    if result.release < _OLDEST:
        raise CommandError(f"PyTorch {version} is installed; drynpu needs {'.'.join(map(str, _OLDEST))} or newer")
    return result


def build(*, again: bool = False, environ: Mapping[str, str] = os.environ) -> Build:
    """
    Compile the device unless that was done before, in about half a minute; processes that ask at once do it once.

    ``CXX`` names the compiler; ``g++``, ``c++`` and ``clang++`` are looked for otherwise.

    Raises
    ------
    CommandError
        There is no compiler, or it fails, or PyTorch does not load the result; the message has the output.
    """
    wanted = find_build(environ)
    if wanted.done and not again:
        return wanted
    compiler = find_compiler(environ)
    if compiler is None:
        raise CommandError(
            f"no C++ compiler found (g++, c++, clang++ or the one that CXX names): {COMPILER_ADVICE}; the npu is "
            "served without the native device meanwhile"
        )
    failed_before = wanted.failure is not None
    with one_at_a_time(wanted.path.parent):
        if wanted.done and not again:
            return wanted
        if wanted.failure is not None and not failed_before:
            raise CommandError(wanted.failure)  # another process tried meanwhile
        try:
            with _progress(wanted):
                put_library(wanted.path, lambda output: _compile_and_try(compiler, output))
        except CommandError as error:
            wanted.note_failure(str(error))
            raise
        wanted.note_failure(None)
    return wanted


@contextlib.contextmanager
def _progress(wanted: Build) -> Iterator[None]:
    """Say on stderr that the device is built, on a terminal also for how long already, and how long it took."""
    text = f"[drynpu] building the native npu device for torch {wanted.torch_version}, once (about half a minute)"
    done, begin_s = threading.Event(), time.monotonic()

    def show(end: str) -> None:
        sys.stderr.write(f"{start}{text}: {time.monotonic() - begin_s:.0f} s{end}")
        sys.stderr.flush()

    def count() -> None:
        while not done.wait(1):
            show("")

    start = "\r" if sys.stderr.isatty() else ""
    counting = threading.Thread(target=count, daemon=True)
    if start:
        counting.start()
    else:
        sys.stderr.write(f"{text}\n")
        sys.stderr.flush()
    try:
        yield
    finally:
        done.set()
        if start:
            counting.join()
        show("\n")


def compile_device(compiler: str, output: Path, flags: Sequence[str] = ()) -> None:
    """
    Compile the device into the file *output*, with further *flags* of the compiler.

    Raises
    ------
    CommandError
        The compiler fails; the message has its output.
    """
    run_compiler(compiler, [*_arguments(output), *flags], "the native device")


def string_form(libraries: Path) -> list[str]:
    """Return the flags for the form of ``std::string`` in PyTorch's *libraries*: PyPI's had the old one up to 2.6."""
    is_old = _TAKES_OLD_STRING in (libraries / "libc10.so").read_bytes()
    return ["-D_GLIBCXX_USE_CXX11_ABI=0"] if is_old else []


def _compile_and_try(compiler: str, output: Path) -> None:
    compile_device(compiler, output)
    _try(output)


def _try(library: Path) -> None:
    """Load the library in a process of its own, for registrations that PyTorch refuses end the process."""
    script = "import sys, torch; torch.ops.load_library(sys.argv[1])"
    environ = {**os.environ, "TORCH_DEVICE_BACKEND_AUTOLOAD": "0"}
    command = [sys.executable, "-c", script, str(library)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environ)
    if done.returncode:
        raise CommandError(f"the native device was compiled but does not load:\n{done.stderr[:LONGEST_MESSAGE]}")


def _arguments(output: Path) -> list[str]:
    spec = util.find_spec("torch")
    assert spec is not None and spec.submodule_search_locations  # noqa: PT018 - its version was found
    torch = Path(spec.submodule_search_locations[0])
    headers = (torch / "include", torch / "include" / "torch" / "csrc" / "api" / "include")
    includes = [f"-I{folder}" for folder in headers]
    flags = [*_FLAGS, *string_form(torch / "lib"), *includes]
    return [*flags, str(sources() / _UNIT), "-o", str(output), f"-L{torch / 'lib'}", *_LIBRARIES]
