"""
Transport for tensors of the native device: gloo moves host memory, so it gets views of theirs in host memory.

The views are tensors of their own, which gloo may keep until the data has come.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import torch

_NAMESPACE = "c10d::"
_DEVICE_KEY = "PrivateUse1"
_HOST = torch._C.DispatchKeySet(torch._C.DispatchKey.CPU)


def install_transport() -> torch.library.Library:
    """Let the operators of ``c10d`` on tensors of the device run on views in host memory, while the library lasts."""
    library = torch.library.Library("c10d", "IMPL")  # type: ignore[no-untyped-call]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # PyTorch tells of kernels that are replaced, as these are on purpose
        for name in torch._C._dispatch_get_registrations_for_dispatch_key(_DEVICE_KEY):
            if name.startswith(_NAMESPACE):
                local = name.removeprefix(_NAMESPACE)
                kernel = _on_host(getattr(torch.ops.c10d, local).default)
                library.impl(local, kernel, _DEVICE_KEY, allow_override=True)  # type: ignore[no-untyped-call]
    return library


def _on_host(operator: Any) -> Callable[..., Any]:
    def kernel(*args: Any, **kwargs: Any) -> Any:
        originals: dict[int, tuple[torch.Tensor, torch.Tensor]] = {}

        def to_host(value: Any) -> Any:
            if isinstance(value, torch.Tensor):
                view = torch.ops.drynpu.host_view(value)
                originals[id(view)] = (value, view)  # the view, too, so that its id is no other's
                return view
            return [to_host(each) for each in value] if isinstance(value, (list, tuple)) else value

        def to_device(value: Any) -> Any:
            if isinstance(value, torch.Tensor):
                return originals[id(value)][0] if id(value) in originals else value
            return type(value)(map(to_device, value)) if isinstance(value, (list, tuple)) else value

        result = operator.redispatch(_HOST, *map(to_host, args), **{n: to_host(v) for n, v in kwargs.items()})
        return to_device(result)

    return kernel
