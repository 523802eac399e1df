"""Weights without memory, for runs that compute no values: what modules make on the host has shapes alone."""

from __future__ import annotations

from typing import Any

import torch


def stand_in_note(numbers: int, copies: int, sizes: int) -> str:
    """Return what a profile says of a run without values: how often the script was given stand-ins so far."""
    names = (
        (numbers, "number", "numbers"),
        (copies, "copy to the host", "copies to the host"),
        (sizes, "size that depends on values", "sizes that depend on values"),
    )
    counts = [f"{count} {one if count == 1 else many}" for count, one, many in names if count]
    text = "values not computed (DRYNPU_COMPUTE=0): operators ran on shapes alone"
    return f"{text}; the script was given stand-ins for {', '.join(counts)}" if counts else text


def outline_parameters(most_bytes: int) -> None:
    """
    Make parameters of the host that are larger than *most_bytes* tensors of PyTorch's device ``meta``.

    Initialisation and conversion of such tensors take no time and no memory, and checkpoints are not read into them.
    They become tensors of the npu by the same calls as others, weights that modules share included.
    """
    make = torch.nn.Parameter.__new__

    def outlined(cls: type[torch.nn.Parameter], data: object = None, requires_grad: bool = True) -> Any:
        if isinstance(data, torch.Tensor) and data.device.type == "cpu" and data.nbytes > most_bytes:
            data = data.detach().to("meta")
        return make(cls, data, requires_grad)

    torch.nn.Parameter.__new__ = staticmethod(outlined)  # type: ignore[assignment]
