"""Dropout whose random numbers are drawn for a whole model at once, outside its layers."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, ClassVar

import torch
from attrs import Factory, define
from torch import Tensor, nn

from drynpu_torch.device import npu
from drynpu_torch_operators.contrib._checks import require
from drynpu_torch_operators.operators import errors

_Hook = Callable[..., None]
_MASK_SIDE = 1024
"""A mask for all layers has as many rows of 1024 * 1024 bits as they need, at least 16 (_ensemble_dropout.py)."""


def _waiting(stream: Callable[[], Any]) -> _Hook:
    def hook(module: nn.Module, inputs: Any) -> None:
        del module, inputs
        npu.current_stream().wait_stream(stream())

    return hook


def _described(x: Any) -> tuple[Any, torch.dtype, torch.device, bool]:
    """Return shape, type and device of a tensor or of a list of these, and whether it is a tensor."""
    if isinstance(x, Tensor):
        return x.shape, x.dtype, x.device, True
    require(isinstance(x, list), "input type error!", errors.TYPE, RuntimeError)
    shape, dtype, device = x
    return shape, dtype, device, False


@define(eq=False)
class DropoutTask:
    """Masks for one shape, type, device and probability: how many layers want one, and those that are drawn."""

    shape: Any
    dtype: torch.dtype
    device: Any
    p: float
    request_count: int = 0
    mask_queue: list[tuple[Tensor, None]] = Factory(list)


class NpuCachedDropout(nn.Dropout):
    """
    Dropout with masks that are drawn after each pass of a model, for the next one.

    ``enable_dropout_ensemble(model)`` lets *model* draw them. Nothing is dropped in the first pass, which tells how
    many masks of which shape there have to be. For a list of shape, type and device it returns the mask instead.
    """

    task_dict: ClassVar[dict[Any, DropoutTask]] = {}
    dropout_stream: ClassVar[Any] = None

    def __init__(self, p: float, module_name: str | None = None) -> None:
        super().__init__(p)
        self.module_name = module_name

    def forward(self, x: Any) -> Any:
        """Return what dropout leaves of *x*, or a mask."""
        shape, dtype, device, is_tensor = _described(x)
        unchanged = x if is_tensor else None
        if self.p == 0:
            return unchanged
        key = (tuple(shape), dtype, device, self.p)
        task = self.task_dict.setdefault(key, DropoutTask(tuple(shape), dtype, device, self.p))
        if not task.mask_queue:
            task.request_count += 1
            return unchanged
        mask, _ = task.mask_queue.pop(0)
        return torch.ops.npu.npu_dropout_do_mask(x, mask, self.p)[0] if is_tensor else mask

    @classmethod
    def enable_dropout_ensemble(cls, model: nn.Module) -> None:
        """Let *model* draw masks after every pass."""
        if cls.dropout_stream is None:
            cls.dropout_stream = npu.Stream()

        def draw(module: nn.Module, inputs: Any, outputs: Any) -> None:
            del module, inputs, outputs
            for task in cls.task_dict.values():
                for _ in range(task.request_count - len(task.mask_queue)):
                    options = {"p": task.p, "dtype": task.dtype, "device": task.device}
                    task.mask_queue.append((torch.ops.npu.npu_dropout_gen_mask(task.shape, **options), None))

        model.register_forward_pre_hook(_waiting(lambda: cls.dropout_stream))
        model.register_forward_hook(draw)


NpuFairseqDropout = NpuCachedDropout


@define(eq=False)
class PreGenDropoutTask:
    """One mask for all layers with a probability: what is left of it starts at byte *idx*."""

    device: Any
    p: float
    mask: Tensor | None = None
    idx: int = 0
    max_mb: int = 16

    def draw(self) -> None:
        """Draw the mask anew."""
        size = [self.max_mb, _MASK_SIDE, _MASK_SIDE]
        options = {"p": self.p, "dtype": torch.float32, "device": self.device}
        self.mask, self.idx = torch.ops.npu.npu_dropout_gen_mask(size, **options), 0


class NpuPreGenDropout(nn.Dropout):
    """Dropout with parts of one mask for each probability, which a model draws after each pass."""

    prob: ClassVar[set[float]] = set()
    task_dict: ClassVar[dict[float, PreGenDropoutTask]] = {}
    dropout_stream: ClassVar[Any] = None

    def __init__(self, p: float, module_name: str | None = None) -> None:
        super().__init__(p)
        self.module_name = module_name
        NpuPreGenDropout.prob.add(p)

    def forward(self, x: Any) -> Any:
        """Return what dropout leaves of *x*, or a mask for a list of shape, type and device."""
        shape, _, _, is_tensor = _described(x)
        if self.p == 0:
            return x if is_tensor else None
        text = f"NpuPreGenDropout input prob error! You Only Register prob:{list(self.task_dict)}"
        require(self.p in self.task_dict, text, kind=RuntimeError)
        task = self.task_dict[self.p]
        assert task.mask is not None
        size = -(-math.prod(shape) // 128) * 16  # bytes of a mask, which is padded to 128 bits
        mask = task.mask[task.idx : task.idx + size]
        if not is_tensor:
            return mask
        task.idx += size
        if task.idx > len(task.mask):
            task.max_mb = max(task.idx * 8 // _MASK_SIDE**2 + 1, task.max_mb)
            mask = task.mask[:size]
        return torch.ops.npu.npu_dropout_do_mask(x, mask, self.p)[0]

    @classmethod
    def enable_dropout_ensemble(cls, model: nn.Module) -> None:
        """Draw masks now, and let *model* draw them after every pass."""
        if cls.dropout_stream is None:
            cls.dropout_stream = npu.Stream()
        for p in cls.prob:
            cls.task_dict[p] = PreGenDropoutTask(f"npu:{npu.current_device()}", p)
            cls.task_dict[p].draw()

        def draw(module: nn.Module, inputs: Any, outputs: Any) -> None:
            del module, inputs, outputs
            for task in cls.task_dict.values():
                task.draw()

        model.register_forward_pre_hook(_waiting(lambda: cls.dropout_stream))
        model.register_forward_hook(draw)


@define(eq=False)
class DropPathTask:
    """Random numbers for samples of one shape, type and device."""

    shape: Any
    device: Any
    dtype: torch.dtype
    ndim: int
    drop_prob: float
    request_count: int = 0
    rand_queue: list[Tensor] = Factory(list)


class NpuDropPath(nn.Module):
    """
    Stochastic depth whose random numbers a model draws before each pass, on a stream of their own.

    Without ``enable_droppath_ensemble(model)``, and in its first pass, nothing is dropped.
    """

    task_dict: ClassVar[dict[Any, DropPathTask]] = {}
    droppath_stream: ClassVar[Any] = None

    def __init__(self, drop_prob: float = 0.0) -> None:
        super().__init__()
        self.drop_prob = drop_prob
        self.keep_prob = 1 - drop_prob

    def forward(self, x: Any) -> Any:
        """Return *x*, or in training 0 or ``x / keep_prob`` for each sample."""
        if self.drop_prob == 0.0 or not self.training:
            return x
        require(isinstance(x, Tensor), "input type error!", errors.TYPE, RuntimeError)
        key = (x.shape, x.device, x.dtype, x.ndim)
        task = self.task_dict.setdefault(key, DropPathTask(x.shape, x.device, x.dtype, x.ndim, self.drop_prob))
        if not task.rand_queue:
            task.request_count += 1
            return x
        kept = task.rand_queue.pop(0)
        kept += self.keep_prob
        return x.div(self.keep_prob) * kept.floor_()

    @classmethod
    def enable_droppath_ensemble(cls, model: nn.Module) -> None:
        """Let *model* draw random numbers before every pass."""
        if cls.droppath_stream is None:
            cls.droppath_stream = npu.Stream()

        def draw(module: nn.Module, inputs: Any) -> None:
            del module, inputs
            with npu.stream(cls.droppath_stream), torch.no_grad():
                for task in cls.task_dict.values():
                    shape = (task.shape[0], *[1] * (task.ndim - 1))
                    for _ in range(task.request_count - len(task.rand_queue)):
                        task.rand_queue.append(torch.rand(shape, dtype=task.dtype, device=task.device))

        model.register_forward_pre_hook(_waiting(lambda: cls.droppath_stream))
        model.register_forward_pre_hook(draw)
