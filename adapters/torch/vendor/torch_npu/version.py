"""The facade of ``torch_npu.version``."""

from __future__ import annotations

import torch

from drynpu import facade_version

__version__ = facade_version(torch.__version__)
git_version = "Unknown"
"""What the vendor's has where it was not built from a checkout."""
