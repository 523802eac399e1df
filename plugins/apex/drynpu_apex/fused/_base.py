"""What the optimizers over combined tensors share: buffers of parameters, gradients and state."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import torch
from attrs import field, frozen
from torch.optim.optimizer import Optimizer, ParamsT

from drynpu_apex.fused._combine import combine, combined_part

_DTYPES = (torch.float32, torch.float16)


@frozen(eq=False)
class Slice:
    """The parameters of one group and dtype: parts of the buffers, which are updated as a whole."""

    parameters: list[torch.Tensor]
    values: torch.Tensor
    gradients: torch.Tensor
    state: dict[str, torch.Tensor] = field(factory=dict)


class NpuFusedOptimizerBase(Optimizer):
    """
    An optimizer that keeps parameters and gradients of one dtype in one buffer, from the first step on.

    Parameters that have no gradient then are left out for good, as torch_npu does. torch_npu also goes on with the
    gradients of before where they were set to ``None`` meanwhile (``model.zero_grad()``); here the new gradients are
    copied into the buffer.
    """

    def __init__(self, params: ParamsT, default: dict[str, Any]) -> None:
        super().__init__(params, default)
        self.is_fused_optimizer = True
        self._parts: list[tuple[torch.Tensor, torch.Tensor]] = []  # parameters and their parts of the gradients' buffer
        self._buffers: list[tuple[torch.Tensor | None, torch.Tensor | None]] = []
        self._slices: list[list[Slice]] | None = None

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Update the parameters; *closure* computes the loss anew and is called with gradients enabled."""
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        with torch.no_grad():
            combined = self._combined()
            self._begin_step([part for slices in combined for part in slices])
            for group, slices in zip(self.param_groups, combined, strict=True):
                for part in slices:
                    for parameter in part.parameters:
                        self.state[parameter]["step"] += 1
                    self._update(group, part, self.state[part.parameters[0]]["step"])
        return loss

    def zero_grad(self, set_to_none: bool = False) -> None:
        """
        Set all gradients to zero.

        Raises
        ------
        ValueError
            *set_to_none* is true: the buffer has to stay.
        """
        if set_to_none:
            raise ValueError("set_to_none is not supported in fused optimizers")
        if self._slices is None:
            super().zero_grad(set_to_none=False)
            return
        self._collect_gradients()
        for buffer in self.get_combined_grads():
            if buffer is not None:
                buffer.zero_()

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Load a state; the next step combines it."""
        super().load_state_dict(state_dict)
        self._slices = None

    def get_combined_params(self) -> list[torch.Tensor | None]:
        """Return the buffers of the parameters in float32 and float16, ``None`` where there are none."""
        return [values for values, _ in self._buffers] or [None] * len(_DTYPES)

    def get_combined_grads(self) -> list[torch.Tensor | None]:
        """Return the buffers of the gradients, in the order of the parameters' buffers."""
        return [gradients for _, gradients in self._buffers] or [None] * len(_DTYPES)

    @torch.no_grad()
    def clip_grad_norm_fused_(self, max_norm: float, norm_type: float = 2) -> torch.Tensor:
        """Scale the gradients so that their norm is at most *max_norm*, and return the norm that they had."""
        self._combined()
        buffers = [buffer.float() for buffer in self.get_combined_grads() if buffer is not None]
        if not buffers:
            return torch.tensor(0.0)
        norm: torch.Tensor = torch.linalg.vector_norm(
            torch.stack([torch.linalg.vector_norm(x, norm_type) for x in buffers]), norm_type
        )
        factor = float(max_norm) / (norm + 1e-6)
        if factor < 1:
            for buffer in self.get_combined_grads():
                if buffer is not None:
                    buffer.mul_(factor.to(buffer.dtype))
        return norm

    def _begin_step(self, parts: Sequence[Slice]) -> None:
        """Look at all *parts* before the first is updated."""

    def _state_names(self, group: dict[str, Any]) -> Iterable[str]:
        """Return the names of the state that *group* keeps for each element."""
        raise NotImplementedError

    def _update(self, group: dict[str, Any], part: Slice, step: int) -> None:
        """Update the values of *part* in step *step*, which counts from 1."""
        raise NotImplementedError

    def _combined(self) -> list[list[Slice]]:
        if self._slices is None:
            self._slices = self._combine()
        else:
            self._collect_gradients()
        return self._slices

    def _combine(self) -> list[list[Slice]]:
        chosen = [[p for p in group["params"] if p.grad is not None] for group in self.param_groups]
        parameters = [parameter for group in chosen for parameter in group]
        for parameter in parameters:
            _check(parameter, type(self).__name__)
        of_dtype = [[p for p in parameters if p.dtype == dtype] for dtype in _DTYPES]
        self._buffers = [(combine(same), combine([p.grad for p in same])) for same in of_dtype]
        self._parts = [(parameter, parameter.grad) for parameter in parameters if parameter.grad is not None]
        rows = [(same, values, gradients) for same, (values, gradients) in zip(of_dtype, self._buffers, strict=True)]
        return self._with_state(slices_of_groups(chosen, rows))

    def _with_state(self, slices: list[list[Slice]]) -> list[list[Slice]]:
        for index, group in enumerate(slices):
            for part in group:
                part.state.update(self._states(part.parameters, index))
        return slices

    def _states(self, parameters: list[torch.Tensor], index: int) -> Iterator[tuple[str, torch.Tensor]]:
        for name in self._state_names(self.param_groups[index]):
            for parameter in parameters:
                fresh = torch.zeros_like(parameter, memory_format=torch.contiguous_format)
                before = self.state[parameter].get(name)
                self.state[parameter][name] = fresh if before is None else fresh.copy_(before)
            buffer = combine([self.state[parameter][name] for parameter in parameters])
            if buffer is not None:
                yield name, buffer
        for parameter in parameters:
            self.state[parameter].setdefault("step", 0)

    def _collect_gradients(self) -> None:
        for parameter, part in self._parts:
            if parameter.grad is None:
                part.zero_()
            elif parameter.grad is not part:
                part.copy_(parameter.grad)
            parameter.grad = part


def slices_of_groups(
    groups: Sequence[Sequence[torch.Tensor]],
    rows: Iterable[tuple[Sequence[torch.Tensor], torch.Tensor | None, torch.Tensor | None]],
) -> list[list[Slice]]:
    """
    Return the parts of buffers that belong to each group, without state.

    Parameters
    ----------
    groups:
        The parameters of each group.
    rows:
        Parameters in the order in which they lie in a buffer, that buffer, and the buffer of their gradients.
    """
    slices: list[list[Slice]] = [[] for _ in groups]
    for parameters, values, gradients in rows:
        inside = {id(parameter) for parameter in parameters}
        start = 0
        for index, group in enumerate(groups):
            same = [parameter for parameter in group if id(parameter) in inside]
            size = sum(parameter.numel() for parameter in same)
            part, its_gradients = (combined_part(buffer, start, size) for buffer in (values, gradients))
            if part is not None and its_gradients is not None:
                slices[index].append(Slice(same, part, its_gradients))
            start += size
    return slices


def _check(parameter: torch.Tensor, optimizer: str) -> None:
    if parameter.grad is not None and parameter.grad.is_sparse:
        raise RuntimeError(f"{optimizer} does not support sparse gradients, please consider SparseAdam instead")
    if parameter.dtype not in _DTYPES:
        raise TypeError(
            f"Fused optimizer's parameters must be either float32 or float16, but received {parameter.dtype}"
        )
