"""Benchmarks run once with tiny sizes: they reach into rooms for their stages, so a new name there would end them."""

from __future__ import annotations

import runpy
import subprocess
import sys
from pathlib import Path
from typing import Any

BENCHMARKS = Path(__file__).parents[1] / "benchmarks"
_PROGRAM = """
import importlib, sys
sys.path[0] = {folder!r}
module = importlib.import_module({module!r})
for name, value in {constants!r}.items():
    assert hasattr(module, name), name
    setattr(module, name, value)
module.main()
"""


def run_tiny(script: str, *arguments: object, **constants: Any) -> list[str]:
    """Run a benchmark with these arguments and with other values of its constants; return the lines that it prints."""
    program = _PROGRAM.format(folder=str(BENCHMARKS), module=Path(script).stem, constants=constants)
    command = [sys.executable, "-c", program, *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def definitions_of(script: str) -> dict[str, Any]:
    """Return what a benchmark defines, by name. Its folder is importable meanwhile, as when it is run."""
    sys.path.insert(0, str(BENCHMARKS))
    try:
        return runpy.run_path(str(BENCHMARKS / script))
    finally:
        sys.path.remove(str(BENCHMARKS))
