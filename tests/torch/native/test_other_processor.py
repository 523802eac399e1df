"""The device compiles for aarch64, which the hosts of Ascend machines have."""

from __future__ import annotations

import os
import shutil
import struct
import subprocess
from importlib.util import find_spec
from pathlib import Path

import pytest

from drynpu_torch.extension._build import sources

COMPILER = "aarch64-linux-gnu-g++"
ELF_AARCH64 = 183
"""``EM_AARCH64`` of elf.h."""


def headers() -> list[str]:
    """The headers of PyTorch: of an unpacked wheel for aarch64 that ``AARCH64_TORCH`` names, or of the one here."""
    spec = find_spec("torch")
    assert spec is not None
    assert spec.origin is not None
    include = Path(os.environ.get("AARCH64_TORCH") or Path(spec.origin).parent) / "include"
    return [f"-I{include}", f"-I{include / 'torch' / 'csrc' / 'api' / 'include'}"]


@pytest.mark.slow
def test_it_compiles_for_aarch64(tmp_path: Path) -> None:
    compiler = shutil.which(COMPILER)
    if compiler is None:
        pytest.skip(f"NO {COMPILER}: apt-get install g++-aarch64-linux-gnu; THE DEVICE WAS NOT COMPILED FOR AARCH64")
    output = tmp_path / "npu.o"
    flags = ["-O0", "-DNDEBUG", "-std=c++20", "-fPIC", "-fvisibility=hidden", "-w", "-c"]
    command = [compiler, *flags, *headers(), str(sources() / "module.cpp"), "-o", str(output)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[:2000]
    (machine,) = struct.unpack_from("<H", output.read_bytes(), 18)
    assert machine == ELF_AARCH64
