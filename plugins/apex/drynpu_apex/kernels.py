"""What ``apex`` computes with NVIDIA's kernels over many tensors, and how it says that there are none."""

from __future__ import annotations

import importlib
from typing import Any

import torch
from torch.optim import Optimizer


class MultiTensorApply:
    """A call of one of NVIDIA's kernels over lists of tensors; there are none on an NPU, so ``available`` is false."""

    available = False
    warned = False
    import_err: ImportError

    def __init__(self, chunk_size: int) -> None:
        self.chunk_size = chunk_size
        try:
            importlib.import_module("amp_C")
        except ImportError as error:
            MultiTensorApply.import_err = error
        else:
            MultiTensorApply.available = True

    def check_avail(self) -> None:
        """Raise a ``RuntimeError`` where the kernels are not there."""
        if not MultiTensorApply.available:
            raise RuntimeError(
                "Attempted to call MultiTensorApply method, but MultiTensorApply is not available, possibly because "
                "Apex was installed without --cpp_ext --cuda_ext.  Original import error message:",
                MultiTensorApply.import_err,
            )

    def __call__(self, op: Any, noop_flag_buffer: torch.Tensor, tensor_lists: Any, *args: Any) -> Any:
        """Call the kernel *op*."""
        self.check_avail()
        return op(self.chunk_size, noop_flag_buffer, tensor_lists, *args)


class StaticScaler:
    """A constant loss scale."""

    def __init__(self, scale: float = 1) -> None:
        self.cur_scale = scale

    @property
    def loss_scale(self) -> float:
        """Return the scale."""
        return self.cur_scale

    def has_overflow(self, params: object) -> bool:
        """Return false: a constant scale looks at no gradient."""
        del params
        return False

    def update_scale(self, overflow: bool) -> None:
        """Keep the scale."""

    def scale_gradient(self, module: Any, grad_in: Any, grad_out: Any) -> tuple[torch.Tensor, ...]:
        """Return the gradients *grad_in* of a module, scaled, as a backward hook does."""
        del module, grad_out
        return tuple(self.loss_scale * each for each in grad_in)

    def backward(self, loss: torch.Tensor, retain_graph: bool = False) -> None:
        """Run the backward pass of the scaled loss."""
        (loss * self.loss_scale).backward(retain_graph=retain_graph)  # type: ignore[no-untyped-call]


class DynamicScaler(StaticScaler):
    """
    A loss scale that is divided by *scale_factor*, down to 1, when a gradient overflows.

    It is multiplied with *scale_factor* after each *scale_window* steps without that.
    """

    def __init__(self, init_scale: float = 2**32, scale_factor: float = 2.0, scale_window: int = 1000) -> None:
        super().__init__(init_scale)
        self.cur_iter = 0
        self.last_overflow_iter = -1
        self.scale_factor = scale_factor
        self.scale_window = scale_window

    def has_overflow(self, params: Any) -> bool:
        """Return whether the gradient of one of *params* has a sum that is infinite or not a number."""
        return any(
            parameter.grad is not None and not bool(parameter.grad.float().sum().isfinite()) for parameter in params
        )

    def update_scale(self, overflow: bool) -> None:
        """Move the scale after a step that has overflowed, or has not."""
        if overflow:
            self.cur_scale = max(self.cur_scale / self.scale_factor, 1)
            self.last_overflow_iter = self.cur_iter
        elif (self.cur_iter - self.last_overflow_iter) % self.scale_window == 0:
            self.cur_scale *= self.scale_factor
        self.cur_iter += 1


class HalfOptimizer:
    """
    ``FP16_Optimizer``, which takes parameters on NVIDIA's devices alone.

    Raises
    ------
    TypeError
        A parameter that is trained is elsewhere, as an NPU's are.
    """

    def __init__(
        self,
        init_optimizer: Optimizer,
        static_loss_scale: float = 1.0,
        dynamic_loss_scale: bool = False,
        dynamic_loss_args: Any = None,
        verbose: bool = True,
    ) -> None:
        del static_loss_scale, dynamic_loss_scale, dynamic_loss_args, verbose
        print(
            "Warning:  FP16_Optimizer is deprecated and dangerous, and will be deleted soon.  "
            "If it still works, you're probably getting lucky.  "
            "For mixed precision, use the documented API https://nvidia.github.io/apex/amp.html, with opt_level=O1."
        )
        for group in init_optimizer.param_groups:
            for parameter in group["params"]:
                if parameter.requires_grad:
                    raise TypeError(
                        "Wrapped parameters must be either torch.cuda.FloatTensor or torch.cuda.HalfTensor. "
                        f"Received {parameter.type()}; on an npu use apex.amp with opt_level='O1' or 'O2'"
                    )
