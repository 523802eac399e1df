"""``amp.initialize``: the options read and printed, models cast, optimizers prepared, casts put in place."""

from __future__ import annotations

import functools
import types
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import torch
from torch import distributed, nn
from torch.optim import Optimizer

from drynpu_apex.amp._arguments import is_on_device
from drynpu_apex.amp._casts import init
from drynpu_apex.amp._options import LEVELS, Properties
from drynpu_apex.amp._scale_loss import disable_casts
from drynpu_apex.amp._scaler import LossScaler
from drynpu_apex.amp._stash import process_optimizer
from drynpu_apex.amp._state import AMP, print_at, warn_or_raise
from drynpu_apex.networks import convert_network
from drynpu_apex.parallel import LARC
from drynpu_apex.parallel import DistributedDataParallel as ApexParallel


def initialize(
    models: object,
    optimizers: object = None,
    enabled: bool = True,
    opt_level: str = "O1",
    cast_model_type: torch.dtype | None = None,
    patch_torch_functions: bool | None = None,
    keep_batchnorm_fp32: bool | str | None = None,
    master_weights: bool | None = None,
    loss_scale: float | str | None = None,
    cast_model_outputs: torch.dtype | None = None,
    num_losses: int = 1,
    verbosity: int = 1,
    dynamic_init_scale: float = 2.0**16,
    scale_growth_factor: float = 2.0,
    scale_backoff_factor: float = 0.5,
    scale_window: int = 2000,
    min_loss_scale: float | None = None,
    max_loss_scale: float = 2.0**24,
    combine_grad: bool | None = None,
    combine_ddp: bool | None = None,
    ddp_replica_count: int = 4,
    user_cast_preferred: bool | None = None,
    check_combined_tensors: bool | None = None,
) -> Any:
    """
    Prepare models and optimizers for mixed precision and return them, lists as lists.

    Parameters
    ----------
    models, optimizers:
        One or a list of each; models lie on the device in float32.
    enabled:
        False returns everything as it is.
    opt_level:
        ``"O0"`` float32, ``"O1"`` casts around functions, ``"O2"`` float16 models with float32 masters, ``"O3"``
        float16.
    cast_model_type, patch_torch_functions, keep_batchnorm_fp32, master_weights, loss_scale:
        Changes to what the level sets, unless ``None``; *loss_scale* is a number, its text, or ``"dynamic"``.
    cast_model_outputs:
        The type of the models' results.
    num_losses:
        How many loss scalers there are.
    verbosity:
        0 prints nothing, 2 prints each cast of O1.
    dynamic_init_scale, scale_growth_factor, scale_backoff_factor, scale_window, min_loss_scale, max_loss_scale:
        How a dynamic scale moves.
    combine_grad:
        Whether gradients lie in one buffer for each type (O1 and O2).
    combine_ddp, ddp_replica_count:
        Whether such buffers are averaged over the ranks during the backward pass, and in how many parts.
    user_cast_preferred:
        Whether registered functions are left out of the lists of O1.
    check_combined_tensors:
        Whether each step looks if the buffers are whole.

    Raises
    ------
    RuntimeError
        Options that do not go together, or a model that is not float32 on the device or is wrapped already.
    TypeError
        Models or optimizers of another kind.
    """
    AMP.opt_properties = Properties()
    AMP.verbosity = verbosity
    if not enabled:
        return models if optimizers is None else (models, optimizers)
    if not torch.backends.cudnn.enabled:
        raise RuntimeError("Amp requires torch.backends.cudnn.enabled = True")
    _read_options(
        opt_level,
        {
            "cast_model_type": cast_model_type,
            "patch_torch_functions": patch_torch_functions,
            "keep_batchnorm_fp32": keep_batchnorm_fp32,
            "master_weights": master_weights,
            "loss_scale": loss_scale,
            "combine_grad": combine_grad,
            "combine_ddp": combine_ddp,
            "ddp_replica_count": ddp_replica_count,
            "user_cast_preferred": user_cast_preferred,
            "check_combined_tensors": check_combined_tensors,
        },
    )
    make_scaler = functools.partial(
        LossScaler,
        AMP.opt_properties.loss_scale,
        dynamic_init_scale,
        scale_growth_factor,
        scale_backoff_factor,
        scale_window,
        min_loss_scale,
        max_loss_scale,
    )
    every_model, every_optimizer = _models(models), _optimizers(optimizers)
    _prepare(every_model, every_optimizer, AMP.opt_properties, cast_model_outputs)
    AMP.loss_scalers = [make_scaler() for _ in range(num_losses)]
    _patch(every_model, every_optimizer, AMP.opt_properties)
    result = every_model if isinstance(models, list) else every_model[0]
    if not every_optimizer and not isinstance(optimizers, list):
        return result
    return result, every_optimizer if isinstance(optimizers, list) else every_optimizer[0]


def _read_options(level: str, changes: Mapping[str, object]) -> None:
    """Set the options of *level* and the changes to them, and print them as the vendor does."""
    if level not in LEVELS:
        raise RuntimeError(
            f"Unexpected optimization level {level}. Options are 'O0', 'O1', 'O2', 'O3'.  Note that in `O0`, `O1`, "
            "etc., the prefix O is the letter O, not the number zero."
        )
    properties = AMP.opt_properties
    properties.take_level(level)
    print_at(f"Selected optimization level {LEVELS[level].brief}", rank0=True)
    print_at("Defaults for this optimization level are:", rank0=True)
    _print_options(properties)
    print_at("Processing user overrides (additional kwargs that are not None)...", rank0=True)
    for name, value in changes.items():
        if value is not None:
            setattr(properties, name, value)
    print_at("After processing overrides, optimization options are:", rank0=True)
    _print_options(properties)


def _print_options(properties: Properties) -> None:
    for name, value in properties.options.items():
        print_at(f"{name:22} : {value}", rank0=True)


def _models(models: object) -> list[nn.Module]:
    if not isinstance(models, (nn.Module, list)):
        raise TypeError("models must be either a single model or a list of models.")
    modules = models if isinstance(models, list) else [models]
    for model in modules:
        _check_unwrapped(model)
        if not AMP.allow_incoming_model_not_fp32:
            _check_full(model)
    return modules


def _optimizers(optimizers: object) -> list[Any]:
    if optimizers is None:
        return []
    if isinstance(optimizers, (Optimizer, LARC)):
        return [optimizers]
    if not isinstance(optimizers, list):
        raise TypeError("optimizers must be either a single optimizer or a list of optimizers.")
    return optimizers


def _check_unwrapped(model: nn.Module) -> None:
    wrappers = {
        nn.parallel.DistributedDataParallel: "torch.nn.parallel.DistributedDataParallel",
        ApexParallel: "apex.parallel.DistributedDataParallel",
        nn.parallel.DataParallel: "torch.nn.parallel.DataParallel",
    }
    for wrapper, name in wrappers.items():
        if isinstance(model, wrapper):
            raise RuntimeError(
                f"Incoming model is an instance of {name}. Parallel wrappers should only be applied to the model(s) "
                "AFTER \nthe model(s) have been returned from amp.initialize."
            )


def _check_full(model: nn.Module) -> None:
    named: list[tuple[str, Iterable[tuple[str, torch.Tensor]]]] = [
        ("param", model.named_parameters()),
        ("buffer", model.named_buffers()),
    ]
    for what, tensors in named:
        for name, tensor in tensors:
            if not tensor.is_floating_point():
                continue
            place = f"Found {what} {name} with type {tensor.type()}, expected torch.npu.FloatTensor.\n"
            if tensor.dtype == torch.float16:
                warn_or_raise(
                    f"{place}When using amp.initialize, you do not need to call .half() on your model\n"
                    "before passing it, no matter what optimization level you choose."
                )
            elif not is_on_device(tensor):
                warn_or_raise(
                    f"{place}When using amp.initialize, you need to provide a model with {what}"
                    f"{'eters' if what == 'param' else 's'}\nlocated on a Npu device before passing it no matter what "
                    "optimization level\nyou chose. Use model.to('npu') to use the default device."
                )


def _prepare(
    models: Sequence[nn.Module], optimizers: list[Any], properties: Properties, output_type: torch.dtype | None
) -> None:
    """Cast the models and what goes in and out of them, and give the optimizers what mixed precision adds."""
    kind = properties.cast_model_type
    for model in models:
        if kind and properties.keep_batchnorm_fp32:
            convert_network(model, kind)
        elif kind:
            model.to(kind)
        if kind or output_type is not None:
            model.forward = _casting(model.forward, kind or None, output_type or torch.float32)
    if kind:
        for optimizer in optimizers:
            optimizer.load_state_dict(optimizer.state_dict())  # casts the state to the parameters' type
        for model in models:
            for module in model.modules():
                module._register_state_dict_hook(_in_full)  # type: ignore[no-untyped-call]
    for optimizer in optimizers:
        process_optimizer(optimizer, properties)


def _casting(forward: Callable[..., Any], inputs: torch.dtype | None, outputs: torch.dtype) -> Callable[..., Any]:
    def call(*arguments: object, **keywords: object) -> Any:
        if inputs is not None:
            arguments, keywords = _cast(arguments, inputs), _cast(keywords, inputs)
        return _cast(forward(*arguments, **keywords), outputs)

    return call


def _cast(value: object, kind: torch.dtype) -> Any:
    """Return *value* with the floating tensors inside in *kind*, and with what has a ``to`` of its own by that."""
    if isinstance(value, torch.Tensor):
        if not is_on_device(value):
            warnings.warn("An input tensor was not npu.", stacklevel=2)
        return value.to(kind) if value.is_floating_point() else value
    if isinstance(value, (str, np.ndarray)):
        return value
    if hasattr(value, "to"):
        return value.to(kind)
    if isinstance(value, Mapping):
        return {_cast(key, kind): _cast(each, kind) for key, each in value.items()}
    if isinstance(value, Iterable):
        rebuild: Any = type(value)
        return rebuild(_cast(each, kind) for each in value)
    return value


def _in_full(module: nn.Module, state: dict[str, Any], prefix: str, metadata: object) -> None:
    """Write the float16 tensors of a module's state as float32, so that checkpoints do not depend on the level."""
    del module, prefix, metadata
    for name, value in state.items():
        if isinstance(value, torch.Tensor) and value.dtype == torch.float16:
            state[name] = value.float()


def _patch(models: Sequence[nn.Module], optimizers: Sequence[Any], properties: Properties) -> None:
    """Change PyTorch as the options say: the casts of O1, gradients that stay in their buffers, equal ranks."""
    if properties.patch_torch_functions:
        init(verbose=AMP.verbosity == 2, user_cast_preferred=properties.user_cast_preferred)
        for optimizer in optimizers:
            optimizer.step = types.MethodType(_without_casts(optimizer.step), optimizer)
    if properties.combine_grad or any(optimizer.is_npu_fused_optimizer for optimizer in optimizers):
        nn.Module.zero_grad = _zero_grad  # type: ignore[method-assign]
        print_at(
            "Warning: Default value of `set_to_none` in torch.nn.Module.zero_grad() is set as False for combine grad, "
            "which is True since torch 2.0."
        )
    if properties.combine_ddp:
        for model in models:
            for parameter in model.parameters():
                distributed.broadcast(parameter.detach(), 0)


def _without_casts(step: Callable[..., Any]) -> Callable[..., Any]:
    def step_without_casts(self: Any, *arguments: object, **keywords: object) -> Any:
        del self
        with disable_casts():
            return step(*arguments, **keywords)

    return step_without_casts


def _zero_grad(self: nn.Module, set_to_none: bool = False) -> None:
    """Set the gradients of a module to zero in place; buffers of gradients need them where they are."""
    assert set_to_none is False, "For combined grad, `set_to_none` must be False."
    for parameter in self.parameters():
        if parameter.grad is not None:
            parameter.grad.detach_()
            parameter.grad.zero_()
