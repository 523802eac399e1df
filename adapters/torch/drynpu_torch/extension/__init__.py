"""
Building the native npu device (adapters/torch/native), once for each version of PyTorch.

Importing this package is cheap: it imports neither PyTorch nor what chooses the device (``extension.choice``) and the
command ``drynpu native`` (``extension.command``).
"""

from __future__ import annotations

from drynpu.compiling import find_compiler
from drynpu_torch.extension._build import Build, build, compile_device, find_build

__all__ = ["Build", "build", "compile_device", "find_build", "find_compiler"]
