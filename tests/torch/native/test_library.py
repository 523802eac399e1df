"""The library of the native device is for a release of PyTorch and an architecture, and for no certain Python."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

_READER = shutil.which("readelf")


@pytest.mark.skipif(_READER is None, reason="without binutils")
def test_it_needs_nothing_of_python(library: Path) -> None:
    assert _READER is not None
    command = [_READER, "--wide", "--dynamic", "--dyn-syms", str(library)]
    said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    needed = re.findall(r"\(NEEDED\).*\[(.*)\]", said)
    assert {"libtorch_cpu.so", "libc10.so"} <= set(needed), "the reader reads"
    assert not [name for name in needed if "python" in name]
    missing = re.findall(r" UND (\S+)", said)
    assert any("c10" in name for name in missing), "the reader reads"
    assert not [name for name in missing if name.startswith(("Py", "_Py"))]
