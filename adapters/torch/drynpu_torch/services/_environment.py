"""Which releases are here, and what the environment asks of ``import torch_npu``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import torch
from torch.utils import collect_env

from drynpu import cann_release, facade_version

_TRANSFER: Final = "TORCH_TRANSFER_TO_NPU"


def describe_environment() -> str:
    """Return what PyTorch says of the environment, after the releases of torch_npu's facade and CANN."""
    text: str = collect_env.get_pretty_env_info()  # type: ignore[no-untyped-call]
    return f"Torch-npu version: {facade_version(torch.__version__)}\nCANN: {cann_release()} (simulated)\n\n{text}"


def is_transfer_wanted(environment: Mapping[str, str]) -> bool:
    """
    Return whether CUDA scripts shall run as NPU scripts without a line of their own: ``TORCH_TRANSFER_TO_NPU=1``.

    Raises
    ------
    ValueError
        The variable is neither 0 nor 1.
    """
    value = environment.get(_TRANSFER, "0")
    if value == "1":
        return True
    if value != "0":
        raise ValueError(f"Invalid value for {_TRANSFER}: {value}. Only '0' or '1' is supported.")
    return False
