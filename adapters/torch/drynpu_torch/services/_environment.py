"""Which releases are here."""

from __future__ import annotations

import torch
from torch.utils import collect_env

from drynpu import cann_release, facade_version


def describe_environment() -> str:
    """Return what PyTorch says of the environment, after the releases of torch_npu's facade and CANN."""
    text: str = collect_env.get_pretty_env_info()  # type: ignore[no-untyped-call]
    return f"Torch-npu version: {facade_version(torch.__version__)}\nCANN: {cann_release()} (simulated)\n\n{text}"
