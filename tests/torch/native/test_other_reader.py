"""The device beside a build of PyTorch that has its own reader of the allocator's settings, as a build for CUDA has."""

from __future__ import annotations

import subprocess
from importlib import util
from pathlib import Path
from typing import Any

import pytest

from drynpu_torch.extension import find_compiler

# Registers what a build for CUDA registers at its start: a reader, and a key that the npu has, too.
OTHER = """
#include <c10/core/AllocatorConfig.h>
#include <cstdlib>
static const bool registered = [] {
  c10::CachingAllocator::AcceleratorAllocatorConfig::registerDeviceConfigParserHook(
      [](const std::string& text) { setenv("THE_OTHER_READ", text.c_str(), 1); }, {"pinned_reserve_segment_size_mb"});
  return true;
}();
"""
SCRIPT = """
import ctypes, json, os, sys
import torch
ctypes.CDLL(sys.argv[1])
import torch_npu
text = "large_segment_size_mb:64,pinned_reserve_segment_size_mb:8,base_addr_aligned_kb:0"
torch._C._accelerator_setAllocatorSettings(text)
x = torch.ones(3 << 20, dtype=torch.uint8, device="npu")
get = ctypes.CDLL(None).getenv
get.restype = ctypes.c_char_p
print(json.dumps([str(x.device), torch.npu.memory_reserved() >> 20, get(b"THE_OTHER_READ").decode() == text]))
"""


@pytest.fixture(scope="module")
def other_reader(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("other")
    spec = util.find_spec("torch")
    assert spec is not None
    assert spec.submodule_search_locations
    torch = Path(spec.submodule_search_locations[0])
    if not (torch / "include" / "c10" / "core" / "AllocatorConfig.h").exists():
        pytest.skip("this PyTorch has no reader of its own")
    if torch.joinpath("lib", "libtorch_cuda.so").exists():
        pytest.skip("this PyTorch has CUDA's reader")
    source, library = folder / "other.cpp", folder / "other.so"
    source.write_text(OTHER)
    arguments = [
        "-std=c++20",
        "-O0",
        "-w",
        "-fPIC",
        "-shared",
        f"-I{torch / 'include'}",
        str(source),
        "-o",
        str(library),
    ]
    subprocess.run([str(find_compiler()), *arguments, f"-L{torch / 'lib'}", "-lc10"], check=True)
    return library


def test_both_readers_serve(run: Any, other_reader: Path) -> None:
    """The key that both have ends no process, the other reader goes on, and the npu hears of the settings."""
    assert run(SCRIPT, str(other_reader)) == ["npu:0", 64, True]
