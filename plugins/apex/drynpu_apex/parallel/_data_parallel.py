"""A wrapper that averages gradients over the ranks while the backward pass runs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import torch
from attrs import define, field
from torch import distributed, nn
from torch._utils import _unflatten_dense_tensors
from torch.autograd import Variable

from drynpu_apex.parallel._flat import by_type, flat_call, reduced_flat
from drynpu_torch.device import npu


@define(eq=False)
class _Bucket:
    """Parameters of one type whose gradients are exchanged at once."""

    parameters: list[torch.Tensor]
    arrived: set[int] = field(factory=set)

    def is_full(self) -> bool:
        return len(self.arrived) == len(self.parameters)


class DistributedDataParallel(nn.Module):
    """
    A module whose gradients are averaged over the ranks.

    The first backward pass finds the order in which gradients come, and averages them at its end; the buckets that
    follow from rank 0's order are averaged on streams of their own from then on.

    Parameters
    ----------
    module:
        The module; its parameters become the parameters of rank 0.
    message_size:
        The number of elements that fills a bucket.
    delay_allreduce:
        Whether everything is averaged at the end of the backward pass.
    allreduce_trigger_params:
        Parameters whose gradients close a bucket, in place of *message_size*.
    retain_allreduce_buffers:
        Whether gradients stay views of what was exchanged.
    allreduce_always_fp32:
        Whether float16 is summed in float32.
    num_allreduce_streams:
        On how many streams, each with a process group of its own.
    gradient_average:
        Whether sums are divided by the number of ranks.
    gradient_predivide_factor:
        The part of that division which comes before the sum.
    shared_param, allreduce_communicators, gradient_average_split_factor, prof:
        *shared_param* is refused as by apex, *allreduce_communicators* because streams of other libraries are not
        simulated; the others are not read.

    Raises
    ------
    ValueError
        Arguments that do not go together.
    """

    def __init__(
        self,
        module: nn.Module,
        message_size: int = 10000000,
        delay_allreduce: bool = False,
        shared_param: bool | None = None,
        allreduce_trigger_params: Iterable[torch.Tensor] | None = None,
        retain_allreduce_buffers: bool = False,
        allreduce_always_fp32: bool = False,
        num_allreduce_streams: int = 1,
        allreduce_communicators: Any = None,
        gradient_average: bool = True,
        gradient_predivide_factor: float = 1.0,
        gradient_average_split_factor: float | None = None,
        prof: bool = False,
    ) -> None:
        super().__init__()
        del gradient_average_split_factor, prof
        if num_allreduce_streams > 1 and delay_allreduce:
            raise ValueError("self.allreduce_different_streams may only be used if delay_allreduce=False.")
        if shared_param is not None:
            raise ValueError(
                "shared_param is no longer supported as an option; overlapping communication with computation works "
                "with shared parameters. To delay communication to the end of the backward pass, use "
                "delay_allreduce=True|False instead."
            )
        if allreduce_communicators is not None:
            raise NotImplementedError(
                "drynpu does not take allreduce_communicators; use num_allreduce_streams, which makes them"
            )
        if allreduce_trigger_params is not None and delay_allreduce:
            raise ValueError("Setting allreduce_trigger_params is only valid if delay_allreduce=False.")
        self.module = module
        self.message_size = message_size
        self.delay_allreduce = delay_allreduce
        self.retain_allreduce_buffers = retain_allreduce_buffers
        self.allreduce_always_fp32 = allreduce_always_fp32
        self.num_allreduce_streams = num_allreduce_streams
        self.gradient_average = gradient_average
        self.gradient_predivide_factor = gradient_predivide_factor
        self.world_size = float(distributed.get_world_size())
        self.allreduce_buffers: list[torch.Tensor] = []
        triggers = allreduce_trigger_params
        self._triggers = None if triggers is None else {id(parameter) for parameter in triggers}
        self._disabled = False
        self._is_queued = False
        self._known: list[torch.Tensor] = []
        self._order: list[torch.Tensor] | None = None  # in which gradients come, while that is found out
        self._buckets: list[_Bucket] = []
        self._bucket_by_parameter: dict[int, _Bucket] = {}
        self._next = 0
        self._lanes: list[tuple[Any, Any]] = []
        flat_call([parameter.data for parameter in module.parameters()], distributed.broadcast, (0,))
        for parameter in module.parameters():
            if parameter.requires_grad:
                parameter.register_post_accumulate_grad_hook(self._arrive)  # type: ignore[no-untyped-call]

    def enable_allreduce(self) -> None:
        """Average gradients again."""
        self._disabled = False

    def disable_allreduce(self) -> None:
        """Leave each rank its gradients until :meth:`enable_allreduce`."""
        self._disabled = True

    def forward(self, *inputs: object, **kwargs: object) -> Any:
        """Return what the module returns."""
        result = self.module(*inputs, **kwargs)
        self._is_queued = False
        if not self._disabled and not self.delay_allreduce:
            current: list[torch.Tensor] = [
                parameter for parameter in self.module.parameters() if parameter.requires_grad
            ]
            if [id(each) for each in current] != [id(each) for each in self._known]:
                self._known, self._order = current, []
            for bucket in self._buckets:
                bucket.arrived.clear()
            self._next = 0
        return result

    def _arrive(self, parameter: torch.Tensor) -> None:
        """Note that the gradient of *parameter* is there, and exchange the buckets that are full."""
        if self._disabled:
            return
        if not self._is_queued:
            Variable._execution_engine.queue_callback(self._finish)
            self._is_queued = True
        if self.delay_allreduce:
            return
        if self._order is not None:
            self._order.append(parameter)
            return
        bucket = self._bucket_by_parameter[id(parameter)]
        if id(parameter) in bucket.arrived:
            raise RuntimeError(
                "The backward pass is attempting to replace an already-filled bucket slot.  "
                "This is almost certainly an error."
            )
        bucket.arrived.add(id(parameter))
        while self._next < len(self._buckets) and self._buckets[self._next].is_full():
            self._exchange_aside(self._next)
            self._next += 1

    def _finish(self) -> None:
        """End a backward pass: average what is left, or let the current stream wait."""
        if self.delay_allreduce or self._order is not None:
            parameters = [each for each in self.module.parameters() if each.grad is not None]
            self.allreduce_buffers = [self._exchange(same) for same in by_type(parameters)]
            if self._order is not None:
                self._plan(self._order)
                self._order = None
            return
        if self._next != len(self._buckets):
            raise RuntimeError(
                f"In epilogue, next_bucket ({self._next}) != num_buckets ({len(self._buckets)}).  "
                "This probably indicates some buckets were not allreduced."
            )
        for stream, _ in self._lanes:
            npu.current_stream().wait_stream(stream)

    def _exchange_aside(self, index: int) -> None:
        stream, group = self._lanes[index % len(self._lanes)]
        stream.wait_stream(npu.current_stream())
        with npu.stream(stream):
            buffer = self._exchange(self._buckets[index].parameters, group)
        if self.retain_allreduce_buffers:
            self.allreduce_buffers = [*self.allreduce_buffers[:index], buffer]

    @torch.no_grad()
    def _exchange(self, parameters: Sequence[torch.Tensor], group: object = None) -> torch.Tensor:
        """Average the gradients of *parameters* in place, and return them one after another."""
        gradients = [parameter.grad for parameter in parameters if parameter.grad is not None]
        flat = reduced_flat(
            gradients,
            divisor_before=self.gradient_predivide_factor,
            factor_after=self.gradient_predivide_factor / self.world_size if self.gradient_average else 1.0,
            in_full=self.allreduce_always_fp32,
            group=group,
        )
        parts = _unflatten_dense_tensors(flat, gradients)  # type: ignore[no-untyped-call]
        for gradient, part in zip(gradients, parts, strict=True):
            if self.retain_allreduce_buffers:
                gradient.data = part
            else:
                gradient.copy_(part)
        return flat

    def _plan(self, order: Sequence[torch.Tensor]) -> None:
        """Make buckets of rank 0's *order*, the same on every rank."""
        indices = {id(parameter): index for index, parameter in enumerate(self._known)}
        mine = torch.full((len(self._known),), -1, dtype=torch.int32)
        mine[: len(order)] = torch.tensor([indices[id(parameter)] for parameter in order], dtype=torch.int32)
        mine = mine.to(self._known[0].device)
        distributed.broadcast(mine, 0)
        self._buckets = []
        for same in by_type(self._known[index] for index in mine.tolist() if index >= 0):
            self._buckets += self._filled(same)
        self._bucket_by_parameter = {id(each): bucket for bucket in self._buckets for each in bucket.parameters}
        self._next = len(self._buckets)
        if not self._lanes:
            several = self.num_allreduce_streams > 1
            for index in range(self.num_allreduce_streams):
                group = distributed.new_group() if several else None
                if several:
                    backend = distributed.get_backend(group)
                    print(f"rank {distributed.get_rank()} created group {index} with backend {backend}")
                self._lanes.append((npu.Stream(), group))

    def _filled(self, parameters: Sequence[torch.Tensor]) -> list[_Bucket]:
        buckets: list[_Bucket] = []
        inside: list[torch.Tensor] = []
        for parameter in parameters:
            inside.append(parameter)
            if self._triggers is None:
                is_full = sum(each.numel() for each in inside) >= self.message_size
            else:
                is_full = id(parameter) in self._triggers
            if is_full:
                buckets.append(_Bucket(inside))
                inside = []
        return [*buckets, _Bucket(inside)] if inside else buckets
