"""Building the device with the machine's compiler, into the user's cache."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from importlib import metadata, util
from pathlib import Path

from attrs import frozen

from drynpu import CommandError

_UNIT = "module.cpp"
"""The one translation unit; it includes the other files."""
_FLAGS = ("-O2", "-DNDEBUG", "-std=c++20", "-fPIC", "-shared", "-fvisibility=hidden", "-w")
_LIBRARIES = ("-ltorch_cpu", "-lc10")
_LONGEST_MESSAGE = 2000


@frozen
class Build:
    """A build of the device: for which version of PyTorch, where it lies, and whether it is there."""

    torch_version: str
    path: Path

    @property
    def done(self) -> bool:
        """Whether the library is there."""
        return self.path.exists()


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
    digest = hashlib.sha256(" ".join(_FLAGS).encode())
    for file in sorted(sources().iterdir()):
        digest.update(file.name.encode() + file.read_bytes())
    cache = Path(environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return Build(version, cache / "drynpu" / "native" / f"torch-{version}-{digest.hexdigest()[:12]}" / "npu.so")


def build(*, again: bool = False, environ: Mapping[str, str] = os.environ) -> Build:
    """
    Compile the device unless that was done before, in about half a minute.

    ``CXX`` names the compiler; ``g++``, ``c++`` and ``clang++`` are looked for otherwise.

    Raises
    ------
    CommandError
        There is no compiler, or it fails; the message has its output.
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
    wanted.path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=wanted.path.parent) as folder:
        output = Path(folder) / wanted.path.name
        compile_device(compiler, output)
        _try(output)
        output.replace(wanted.path)  # in one step, because several processes may build at once
    return wanted


def compile_device(compiler: str, output: Path, flags: Sequence[str] = ()) -> None:
    """
    Compile the device into the file *output*, with further *flags* of the compiler.

    Raises
    ------
    CommandError
        The compiler fails; the message has its output.
    """
    done = subprocess.run([compiler, *_arguments(output), *flags], capture_output=True, text=True, check=False)
    if done.returncode:
        raise CommandError(f"{compiler} could not compile the native device:\n{done.stderr[:_LONGEST_MESSAGE]}")


def find_compiler(environ: Mapping[str, str] = os.environ) -> str | None:
    """Return the C++ compiler of this machine."""
    names = [environ["CXX"]] if environ.get("CXX") else ["g++", "c++", "clang++"]
    return next(filter(None, map(shutil.which, names)), None)


def _try(library: Path) -> None:
    """Load the library in a process of its own, for registrations that PyTorch refuses end the process."""
    script = "import sys, torch; torch.ops.load_library(sys.argv[1])"
    environ = {**os.environ, "TORCH_DEVICE_BACKEND_AUTOLOAD": "0"}
    command = [sys.executable, "-c", script, str(library)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environ)
    if done.returncode:
        raise CommandError(f"the native device was compiled but does not load:\n{done.stderr[:_LONGEST_MESSAGE]}")


def _arguments(output: Path) -> list[str]:
    spec = util.find_spec("torch")
    assert spec is not None and spec.submodule_search_locations  # noqa: PT018 - its version was found
    torch = Path(spec.submodule_search_locations[0])
    headers = (torch / "include", torch / "include" / "torch" / "csrc" / "api" / "include")
    includes = [f"-I{folder}" for folder in headers]
    return [*_FLAGS, *includes, str(sources() / _UNIT), "-o", str(output), f"-L{torch / 'lib'}", *_LIBRARIES]
