"""Parameters of one type below one optimizer, their masters, and the buffers of both."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from attrs import define, field

from drynpu_apex.fused import combine, is_combined


@define(eq=False)
class Kind:
    """
    The parameters of one type that an optimizer was given.

    The buffers, of one dimension and one element for each element of the parameters, exist from
    :meth:`combine_gradients` on; they are ``None`` where there is nothing to combine.
    """

    model: list[torch.Tensor] = field(factory=list)
    """What the backward pass makes gradients for."""
    masters: list[torch.Tensor] = field(factory=list)
    """What the optimizer updates: float32 copies, or the parameters themselves."""
    has_masters: bool = False
    stashed: list[torch.Tensor | None] = field(factory=list)
    """The gradients of earlier backward passes, while a new one runs."""
    gradients: torch.Tensor | None = None
    parts: list[torch.Tensor] = field(factory=list)
    """The model's gradients, which are parts of the buffer."""
    master_gradients: torch.Tensor | None = None
    stash: torch.Tensor | None = None
    values: torch.Tensor | None = None
    """The buffer of the masters' values, which optimizers over combined tensors update."""

    def add(self, parameter: torch.Tensor, master: torch.Tensor) -> None:
        """Take in a parameter and what the optimizer updates for it."""
        self.model.append(parameter)
        self.masters.append(master)
        self.stashed.append(None)

    @torch.no_grad()
    def combine_gradients(self, *, with_values: bool) -> None:
        """Move the gradients into buffers, and the values if *with_values*; leave out parameters without gradient."""
        rows = [row for row in zip(self.model, self.masters, strict=True) if row[0].grad is not None]
        self.model = [parameter for parameter, _ in rows]
        self.masters = [master for _, master in rows]
        self.stashed = [None] * len(rows)
        self.parts = []
        for parameter in self.model:
            if parameter.grad is not None and not parameter.grad.is_contiguous():
                parameter.grad = parameter.grad.contiguous()
            if parameter.grad is not None:
                self.parts.append(parameter.grad)
        self.gradients = combine(self.parts)
        if self.has_masters:
            for master in self.masters:
                master.grad = torch.zeros_like(master)
            self.master_gradients = combine([master.grad for master in self.masters])
        else:
            self.master_gradients = self.gradients
            self.stash = None if self.gradients is None else torch.zeros_like(self.gradients)
        self.values = combine(self.masters) if with_values else None

    def stash_gradients(self, *, combined: bool) -> None:
        """Keep the gradients of earlier backward passes apart from the next pass's, or drop what masters have."""
        if not combined:
            for index, parameter in enumerate(self.model):
                self.stashed[index] = None if self.has_masters else parameter.grad
                parameter.grad = None
        elif self.gradients is not None:
            if self.stash is not None:
                self.stash.copy_(self.gradients)
            self.gradients.zero_()

    def zero_buffers(self) -> None:
        """Set the buffers of gradients to zero."""
        for buffer in (self.gradients, self.master_gradients if self.has_masters else None):
            if buffer is not None:
                buffer.zero_()

    def zero_gradients(self, *, keeps_masters: bool) -> None:
        """Set the gradients to zero; masters' gradients to ``None``, or to zero if *keeps_masters*."""
        for parameter in self.model:
            if parameter.grad is not None:
                parameter.grad.detach_()
                parameter.grad.zero_()
        for master in self.masters if self.has_masters else ():
            if keeps_masters and master.grad is not None:
                master.grad.zero_()
            elif not keeps_masters:
                master.grad = None

    def drop_master_gradients(self, *, combined: bool) -> None:
        """Clear the gradients of masters, which no ``model.zero_grad()`` reaches."""
        if not self.has_masters:
            return
        if not combined:
            for master in self.masters:
                master.grad = None
        elif self.master_gradients is not None:
            self.master_gradients.zero_()

    @torch.no_grad()
    def copy_to_model(self) -> None:
        """Copy the masters into the model."""
        if self.has_masters:
            for parameter, master in zip(self.model, self.masters, strict=True):
                parameter.copy_(master)

    def has_whole_gradients(self) -> bool:
        """Return whether all gradients still lie in the buffers."""
        masters = [master.grad for master in self.masters]
        model = [parameter.grad for parameter in self.model]
        return is_combined(self.gradients, model) and is_combined(self.master_gradients, masters)

    def has_whole_values(self) -> bool:
        """Return whether all values still lie in the buffer."""
        return is_combined(self.values, self.masters)


def clip_norm(buffers: Sequence[torch.Tensor | None], max_norm: float, norm_type: float) -> torch.Tensor:
    """Scale *buffers* so that their norm is at most *max_norm*, and return the norm that they had."""
    present = [buffer for buffer in buffers if buffer is not None]
    if not present:
        return torch.tensor(0.0)
    absolute = [buffer.float().abs() for buffer in present]
    if norm_type == float("inf"):
        total = torch.stack([each.max() for each in absolute]).max()
    else:
        total = torch.stack([each.pow(norm_type).sum() for each in absolute]).sum().pow(1 / norm_type)
    factor = float(max_norm) / (total + 1e-6)
    if factor < 1:
        for buffer in present:
            buffer.mul_(factor.to(buffer.dtype))
    return total
