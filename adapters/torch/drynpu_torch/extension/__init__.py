"""
Building the native npu device (adapters/torch/native), once for each version of PyTorch, and ``drynpu native``.

Importing this package does not import PyTorch.
"""

from __future__ import annotations

from drynpu_torch.extension._build import Build, build, find_build, find_compiler
from drynpu_torch.extension._command import native

__all__ = ["Build", "build", "find_build", "find_compiler", "native"]
