"""Transport for tensors of the native device: gloo moves host memory, so it gets views of theirs in host memory."""

from __future__ import annotations

import warnings

import torch

_NAMESPACE = "c10d::"
_DEVICE_KEY = "PrivateUse1"


def install_transport() -> None:
    """Let the operators of ``c10d`` on tensors of the device run on views in host memory."""
    registered = torch._C._dispatch_get_registrations_for_dispatch_key(_DEVICE_KEY)
    names = [name.removeprefix(_NAMESPACE) for name in registered if name.startswith(_NAMESPACE)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # PyTorch tells of kernels that are replaced, as these are on purpose
        torch.ops.drynpu.serve_collectives(names)
