"""The optimizers of ``apex.optimizers``: over combined tensors and with ``apex.amp``, and Lamb for each parameter."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NoReturn

import torch
from torch.optim import Optimizer
from torch.optim.optimizer import ParamsT

from drynpu_apex import fused
from drynpu_apex.fused import Slice


class AmpFused(fused.NpuFusedOptimizerBase):
    """An optimizer over the buffers that ``amp.initialize`` and ``amp.scale_loss`` make."""

    is_npu_fused_optimizer = True
    _amp_stash: Any

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """
        Update the parameters.

        Raises
        ------
        RuntimeError
            The optimizer was not given to ``amp.initialize``.
        """
        if not hasattr(self, "_amp_stash"):
            raise RuntimeError(f"apex.optimizers.{type(self).__name__} should be used with AMP.")
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        self._amp_stash.check_combined()
        with torch.no_grad():
            self._begin_step([part for slices in self._combined() for part in slices])
            for index in range(len(self.param_groups)):
                self._group_step(index)
        return loss

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Clear the gradients; ``amp.initialize`` replaces this."""
        Optimizer.zero_grad(self, set_to_none)

    def _group_step(self, group_index: int) -> None:
        """Update the parameters of a group; classes of the user's own replace this, and read the buffers' lists."""
        for part in self._combined()[group_index]:
            for parameter in part.parameters:
                self.state[parameter]["step"] += 1
            self._update(self.param_groups[group_index], part, self.state[part.parameters[0]]["step"])

    def _combined(self) -> list[list[Slice]]:
        if not self._amp_stash.param_states_are_combined_by_group:
            self._slices = None
        return super()._combined()

    def _combine(self) -> list[list[Slice]]:
        stash = self._amp_stash
        stash.combine_by_group()
        slices = self._with_state(stash.slices())
        stash.combined_param_states_indexed_by_group = [
            [{"step": self.state[part.parameters[0]]["step"], **part.state} for part in group] for group in slices
        ]
        stash.param_states_are_combined_by_group = True
        return slices


class NpuFusedAdam(AmpFused, fused.NpuFusedAdam):
    """Adam: ``torch.optim.Adam``."""


class NpuFusedAdamW(AmpFused, fused.NpuFusedAdamW):
    """AdamW: ``torch.optim.AdamW``."""


class NpuFusedAdamP(AmpFused, fused.NpuFusedAdamP):
    """AdamP, as ``torch_npu.optim`` has it."""


class NpuFusedSGD(AmpFused, fused.NpuFusedSGD):
    """Stochastic gradient descent: ``torch.optim.SGD``."""


class NpuFusedAdadelta(AmpFused, fused.NpuFusedAdadelta):
    """Adadelta: ``torch.optim.Adadelta``."""


class NpuFusedRMSprop(AmpFused, fused.NpuFusedRMSprop):
    """RMSprop: ``torch.optim.RMSprop``."""


class NpuFusedRMSpropTF(AmpFused, fused.NpuFusedRMSpropTF):
    """RMSprop as TensorFlow has it."""


class NpuFusedLamb(AmpFused, fused.NpuFusedLamb):
    """Lamb, as ``torch_npu.optim`` has it."""


class NpuFusedBertAdam(AmpFused, fused.NpuFusedBertAdam):
    """
    Adam as BERT has it, with other defaults than in ``torch_npu.optim``.

    Gradients are divided by the norm of all where that is above 1 and *max_grad_norm* is positive.
    """

    def __init__(
        self,
        params: ParamsT,
        lr: float,
        warmup: float = -1,
        t_total: int = -1,
        schedule: str = "warmup_linear",
        b1: float = 0.9,
        b2: float = 0.99,
        e: float = 1e-6,
        weight_decay: float = 0.01,
        max_grad_norm: float = -1,
    ) -> None:
        super().__init__(params, lr, warmup, t_total, schedule, b1, b2, e, weight_decay, max_grad_norm)
        self.global_grad_norm = 0.0

    def _begin_step(self, parts: Sequence[Slice]) -> None:
        if self.max_grad_norm > 0:
            self.global_grad_norm = fused.whole_norm(parts)

    def _clipped(self, part: Slice) -> torch.Tensor:
        if 1 < self.global_grad_norm < float("inf"):
            part.gradients.div_(self.global_grad_norm)
        return part.gradients


class Lamb(Optimizer):
    """Lamb, parameter by parameter; *adam* leaves the steps as Adam has them."""

    def __init__(
        self,
        params: ParamsT,
        lr: float = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-6,
        weight_decay: float = 0.0,
        adam: bool = False,
    ) -> None:
        fused.check_positive("learning rate", lr)
        fused.check_positive("epsilon value", eps)
        fused.check_betas(betas)
        self.adam = adam
        super().__init__(params, {"lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay})

    @torch.no_grad()
    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Update the parameters; *closure* computes the loss anew and is called with gradients enabled."""
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        for group in self.param_groups:
            for parameter in group["params"]:
                if parameter.grad is not None:
                    self._update(group, parameter, parameter.grad)
        return loss

    def _update(self, group: dict[str, Any], parameter: torch.Tensor, gradient: torch.Tensor) -> None:
        if gradient.is_sparse:
            raise RuntimeError("Lamb does not support sparse gradients, consider SparseAdam instad.")
        state = self.state[parameter]
        if not state:
            state.update(step=0, exp_avg=torch.zeros_like(parameter), exp_avg_sq=torch.zeros_like(parameter))
        state["step"] += 1
        first, second = group["betas"]
        mean = state["exp_avg"].mul_(first).add_(gradient, alpha=1 - first)
        square = state["exp_avg_sq"].mul_(second).addcmul_(gradient, gradient, value=1 - second)
        change = mean / square.sqrt().add(group["eps"])
        if group["weight_decay"] != 0:
            change.add_(parameter, alpha=group["weight_decay"])
        norm, step_norm = parameter.pow(2).sum().sqrt().clamp(0, 10), change.pow(2).sum().sqrt()
        ratio = 1 if norm == 0 or step_norm == 0 else norm / step_norm
        state.update(weight_norm=norm, adam_norm=step_norm, trust_ratio=ratio)
        parameter.add_(change.mul_(-group["lr"] * (1 if self.adam else ratio)))


class _NeedsCuda(Optimizer):
    """An optimizer of NVIDIA's kernels, which no NPU has."""

    def __init__(self, *args: object, **kwargs: object) -> NoReturn:
        del args, kwargs
        raise RuntimeError(f"apex.optimizers.{type(self).__name__} requires cuda extensions")


class FusedSGD(_NeedsCuda):
    """Raises, as apex does without its CUDA extensions."""


class FusedAdam(_NeedsCuda):
    """Raises, as apex does without its CUDA extensions."""


class FusedLAMB(_NeedsCuda):
    """Raises, as apex does without its CUDA extensions."""


class FusedNovoGrad(_NeedsCuda):
    """Raises, as apex does without its CUDA extensions."""


class FusedAdagrad(_NeedsCuda):
    """Raises, as apex does without its CUDA extensions."""
