"""What ``apex.amp`` keeps between its calls, which name no object: the options, the loss scalers, the casts."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import torch
from torch import distributed
from torch.optim import Optimizer


class AmpState:
    """
    The state of mixed precision in this process.

    ``opt_properties``, ``loss_scalers`` and ``handle`` exist from ``initialize`` on; scripts read and set them.
    """

    def __init__(self) -> None:
        self.hard_override = False
        self.allow_incoming_model_not_fp32 = False
        self.verbosity = 1
        self.opt_properties: Any
        self.loss_scalers: list[Any]
        self.handle: Any


AMP: Final = AmpState()
"""The one state: the functions of ``apex.amp`` patch PyTorch for the whole process."""


def warn_or_raise(message: str) -> None:
    """Raise a ``RuntimeError`` with *message*, or print it where ``hard_override`` is set."""
    if not AMP.hard_override:
        raise RuntimeError(message)
    print(f"Warning:  {message}")


def print_at(message: str, *, rank0: bool = False) -> None:
    """Print *message* unless ``verbosity`` is 0; with *rank0* on the first rank alone."""
    if AMP.verbosity <= 0:
        return
    if rank0 and distributed.is_available() and distributed.is_initialized() and distributed.get_rank() != 0:
        return
    print(message)


def master_params(optimizer: Optimizer) -> Iterator[torch.Tensor]:
    """Yield the parameters that *optimizer* updates: float32 copies where it has masters."""
    for group in optimizer.param_groups:
        yield from group["params"]
