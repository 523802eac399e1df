"""``combine_ddp``: buffers of gradients averaged over the ranks while the backward pass runs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Final

import torch
from attrs import define
from torch import distributed

from drynpu_apex.amp._kinds import Kind
from drynpu_apex.amp._state import print_at
from drynpu_apex.fused import combined_part
from drynpu_torch.device import npu

_LEAST: Final = 1024 * 1024
_MOST: Final = 24 * 1024 * 1024
"""Elements of float32 in one part that is exchanged; twice as many of float16."""


@define(eq=False)
class _Part:
    """A part of a buffer that is exchanged at once, and how many of its gradients are there."""

    values: torch.Tensor
    parameters: list[torch.Tensor]
    arrived: int = 0


class Exchange:
    """
    The gradients of one optimizer, averaged over all ranks.

    The first backward pass is averaged as a whole when this object is made. From then on each part is averaged on a
    stream of its own once its last gradient is there.

    Raises
    ------
    RuntimeError
        The ranks have gradients for different numbers of elements.
    """

    def __init__(self, kinds: Sequence[Kind], replicas: int) -> None:
        self._ranks = distributed.get_world_size()
        self._stream = npu.Stream()
        self._parts: list[_Part] = []
        for kind in kinds:
            if kind.gradients is None:
                continue
            self._check_length(kind.gradients)
            distributed.all_reduce(kind.gradients.div_(self._ranks))
            self._parts += _divided(kind, replicas)
        sizes = [part.values.numel() for part in self._parts]
        print_at(f"Optimized combine_ddp replicas: {sizes}", rank0=True)
        for part in self._parts:
            for parameter in part.parameters:
                parameter.register_post_accumulate_grad_hook(self._counting(part))  # type: ignore[no-untyped-call]

    def finish(self) -> None:
        """Average what has not been, after a backward pass, and let the current stream wait for it all."""
        for part in self._parts:
            if part.arrived:
                self._average(part)
        npu.current_stream().wait_stream(self._stream)

    def _counting(self, part: _Part) -> Callable[[torch.Tensor], None]:
        def count(parameter: torch.Tensor) -> None:
            del parameter
            part.arrived += 1
            if part.arrived == len(part.parameters):
                self._average(part)

        return count

    def _average(self, part: _Part) -> None:
        part.arrived = 0
        part.values.div_(self._ranks)
        self._stream.wait_stream(npu.current_stream())
        with npu.stream(self._stream):
            distributed.all_reduce(part.values)

    def _check_length(self, gradients: torch.Tensor) -> None:
        length = torch.tensor([gradients.numel()], dtype=torch.float32, device=gradients.device)
        lengths = [torch.zeros_like(length) for _ in range(self._ranks)]
        distributed.all_gather(lengths, length)
        if len({each.item() for each in lengths}) > 1:
            raise RuntimeError(
                "When using combine_ddp, combine_grad does not support inconsistent parameters in each rank. "
                "Please consider using the consistent parameters of each rank instead."
            )


def _divided(kind: Kind, replicas: int) -> Iterator[_Part]:
    """Yield the buffer in about *replicas* parts, each of whole parameters."""
    assert kind.gradients is not None
    most = _MOST if kind.gradients.dtype == torch.float32 else 2 * _MOST
    limit = max(min(kind.gradients.numel() // replicas, most), _LEAST)
    start = size = 0
    inside: list[torch.Tensor] = []
    for index, parameter in enumerate(kind.model):
        inside.append(parameter)
        size += parameter.numel()
        is_last = index + 1 == len(kind.model)
        if is_last or size > limit or size + kind.model[index + 1].numel() > 2 * limit:
            values = combined_part(kind.gradients, start, size)
            if values is not None:
                yield _Part(values, inside)
            start, size, inside = start + size, 0, []
