"""Runs a tiny program on each surface that an adapter serves, and says whether it works."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from importlib import util
from pathlib import Path

from attrs import frozen

from drynpu._errors import DrynpuError
from drynpu.plugins import Probe

_LIMIT_S = 120
"""A first import of a framework from a cold disk takes half a minute."""
_AT_ONCE = 2
_WITHOUT = "without: "
"""Begins a line in which the program says what it had to do without."""
_ERROR = re.compile(r"\s*what\(\):\s*(.+)|((?:\w+\.)*\w*(?:Error|Exception|Warning|Interrupt|Exit): .+)", re.MULTILINE)


@frozen(kw_only=True)
class Probed:
    """
    What came of a probe.

    ``state`` is ``works``, ``broken`` or ``absent``; ``text`` says it in words, with what to do where something is.
    """

    surface: str
    state: str
    text: str


def run_probes(probes: Sequence[Probe]) -> list[Probed]:
    """Return what came of *probes*, in their order; each runs in a process of its own."""
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        return list(pool.map(_run, probes))


def _run(probe: Probe) -> Probed:
    try:
        return _try(probe)
    except Exception as error:  # noqa: BLE001 - what is broken is what the doctor looks for
        return Probed(surface=probe.surface, state="broken", text=f"broken: {described(error)}; {probe.advice}")


def described(error: Exception) -> str:
    """Return an error in words: the name of its kind, where the text does not stand for itself."""
    if isinstance(error, (DrynpuError, OSError)):
        return str(error).rstrip(".")
    return f"{type(error).__name__}: {error}".rstrip(".")


def _try(probe: Probe) -> Probed:
    if probe.framework and util.find_spec(probe.framework) is None:
        return Probed(surface=probe.surface, state="absent", text=f"not installed: pip install 'drynpu[{probe.extra}]'")
    missing = probe.missing() if probe.missing is not None else ""
    if missing:
        return Probed(surface=probe.surface, state="absent", text=missing)
    with tempfile.TemporaryDirectory(prefix="drynpu-doctor-") as folder:
        script = Path(folder) / "probe.py"
        script.write_text(probe.code, encoding="utf-8")
        # Not "-m drynpu": the interpreter would put this folder on the path of the imports.
        command = [sys.executable, "-c", "from drynpu.cli import main; main()", "run", str(script)]
        environment = {**os.environ, "DRYNPU_QUIET": "1", **probe.environment}
        try:
            done = subprocess.run(
                command, cwd=folder, env=environment, capture_output=True, text=True, timeout=_LIMIT_S, check=False
            )
        except subprocess.TimeoutExpired:
            why = f"no end within {_LIMIT_S} s"
        else:
            if done.returncode == 0:
                lost = [line.removeprefix(_WITHOUT) for line in done.stdout.splitlines() if line.startswith(_WITHOUT)]
                text = f"works without {', '.join(lost)}" if lost else "works"
                return Probed(surface=probe.surface, state="works", text=text)
            why = _reason(done)
    return Probed(surface=probe.surface, state="broken", text=f"broken: {why}; {probe.advice}")


def _reason(done: subprocess.CompletedProcess[str]) -> str:
    """Return why a program failed: its last error, else its last line, else how it ended."""
    errors = [next(filter(None, groups)) for groups in _ERROR.findall(done.stderr)]
    lines = [line.strip() for line in done.stderr.splitlines() if line.strip()]
    if errors or lines:
        return (errors or lines)[-1].strip().rstrip(".")
    code = done.returncode
    return f"ended by {signal.Signals(-code).name}" if code < 0 else f"ended with status {code}"
