"""Building the device with the machine's compiler, into the user's cache."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from importlib import metadata, util
from pathlib import Path

from attrs import frozen

from drynpu import CommandError
from drynpu.compiling import LONGEST_MESSAGE, find_compiler, library_path, put_library, run_compiler

_UNIT = "module.cpp"
"""The one translation unit; it includes the other files."""
_FLAGS = ("-O3", "-DNDEBUG", "-std=c++20", "-fPIC", "-shared", "-fvisibility=hidden", "-w")
_LIBRARIES = ("-ltorch_cpu", "-lc10")
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
        PyTorch is not installed.
    """
    try:
        version = metadata.version("torch")
    except metadata.PackageNotFoundError:
        raise CommandError("PyTorch is not installed; pip install 'drynpu[torch]'") from None
    path = library_path(f"torch-{version}", "npu.so", list(sources().iterdir()), _FLAGS, environ)
    return Build(version, path)


def build(*, again: bool = False, environ: Mapping[str, str] = os.environ) -> Build:
    """
    Compile the device unless that was done before, in about half a minute.

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
            "no C++ compiler found (g++, c++, clang++ or the one that CXX names); the npu is served without the native "
            "device meanwhile"
        )
    try:
        put_library(wanted.path, lambda output: _compile_and_try(compiler, output))
    except CommandError as error:
        wanted.note_failure(str(error))
        raise
    wanted.note_failure(None)
    return wanted


def compile_device(compiler: str, output: Path, flags: Sequence[str] = ()) -> None:
    """
    Compile the device into the file *output*, with further *flags* of the compiler.

    Raises
    ------
    CommandError
        The compiler fails; the message has its output.
    """
    run_compiler(compiler, [*_arguments(output), *flags], "the native device")


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
    return [*_FLAGS, *includes, str(sources() / _UNIT), "-o", str(output), f"-L{torch / 'lib'}", *_LIBRARIES]
