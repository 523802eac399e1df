"""The context of a backward pass with a scaled loss, and the state of the scales."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import torch

from drynpu_apex.amp._scaler import LossScaler
from drynpu_apex.amp._state import AMP, print_at


@contextmanager
def scale_loss(
    loss: torch.Tensor,
    optimizers: Any,
    loss_id: int = 0,
    model: Any = None,
    delay_unscale: bool = False,
    delay_overflow_check: bool = False,
) -> Iterator[torch.Tensor]:
    """
    Yield the scaled loss for a backward pass; afterwards the gradients are divided by the scale.

    Parameters
    ----------
    loss:
        The loss, of any shape that the script calls ``backward`` on.
    optimizers:
        The optimizer, or a list of those, that ``initialize`` returned and that this backward pass makes gradients for.
    loss_id:
        Which of the ``num_losses`` loss scalers is used.
    model:
        Not read.
    delay_unscale:
        True leaves the gradients scaled, for a later pass to divide.
    delay_overflow_check:
        True moves no scale, and skips no step.

    Raises
    ------
    RuntimeError
        ``initialize`` was not called.
    """
    del model
    if not hasattr(AMP, "opt_properties"):
        raise RuntimeError(
            "Invoked 'with amp.scale_loss`, but internal Amp state has not been initialized.  "
            "model, optimizer = amp.initialize(model, optimizer, opt_level=...) must be called "
            "before `with amp.scale_loss`."
        )
    properties = AMP.opt_properties
    if not properties.enabled:
        yield loss
        return
    each = optimizers if isinstance(optimizers, (list, tuple)) else [optimizers]
    scaler: LossScaler = AMP.loss_scalers[loss_id]
    if not properties.master_weights and not scaler.dynamic and scaler.loss_scale() == 1.0:
        yield loss.float()
    else:
        if not delay_unscale:
            for optimizer in each:
                if not optimizer._amp_stash.params_have_scaled_gradients:
                    optimizer._prepare_amp_backward()
        yield loss.float() * scaler.loss_scale()
        if delay_unscale:
            for optimizer in each:
                optimizer._amp_stash.params_have_scaled_gradients = True
        else:
            _unscale(each, scaler, loss_id, checks=not delay_overflow_check)
    if properties.patch_torch_functions:
        AMP.handle._clear_cache()


def _unscale(optimizers: Any, scaler: LossScaler, loss_id: int, *, checks: bool) -> None:
    scaler.clear_overflow_state()
    for optimizer in optimizers:
        optimizer._post_amp_backward(scaler)
        optimizer._amp_stash.params_have_scaled_gradients = False
    if not checks or not scaler.update_scale():
        return
    for optimizer in optimizers:
        if not optimizer._amp_stash.already_patched:
            optimizer.step = _skipping(optimizer, scaler, loss_id)
            optimizer._amp_stash.already_patched = True


def _skipping(optimizer: Any, scaler: LossScaler, loss_id: int) -> Callable[..., None]:
    """Return a step that does nothing but put the real one back."""
    step = optimizer.step

    def skip_step(closure: Any = None) -> None:
        if closure is not None:
            raise RuntimeError("Currently, Amp does not support closure use with optimizers.")
        print_at(
            f"Gradient overflow.  Skipping step, loss scaler {loss_id} reducing loss scale to {scaler.loss_scale()}"
        )
        optimizer._amp_stash.drop_master_gradients()
        optimizer.step = step
        optimizer._amp_stash.already_patched = False

    return skip_step


@contextmanager
def disable_casts() -> Iterator[None]:
    """Switch the casts of level O1 off for a block."""
    with AMP.handle._disable_casts():
        yield


def state_dict(destination: dict[str, Any] | None = None) -> dict[str, Any]:
    """Return the scale of each loss scaler and how long it has held, in *destination* where that is given."""
    destination = OrderedDict() if destination is None else destination
    for index, scaler in enumerate(AMP.loss_scalers):
        destination[f"loss_scaler{index}"] = {"loss_scale": scaler.loss_scale(), "unskipped": scaler._unskipped}
    return destination


def load_state_dict(state_dict: Mapping[str, Any]) -> None:
    """
    Take the scales over that :func:`state_dict` returned.

    Raises
    ------
    RuntimeError
        An entry belongs to no loss scaler.
    """
    count = len(AMP.loss_scalers)
    if len(state_dict) != count:
        print(f"Warning: state_dict contains {len(state_dict)} entries, while {count} loss_scalers are used")
    known = [name for name in state_dict if "loss_scaler" in name]
    for scaler, name in zip(AMP.loss_scalers, known, strict=False):
        scaler._loss_scale = state_dict[name]["loss_scale"]
        scaler._unskipped = state_dict[name]["unskipped"]
    if len(known) > count:
        print(f"Skipping loss_scaler[{count}], since num_losses was set to {count}")
    others = ", ".join(f'"{name}"' for name in state_dict if name not in known)
    if others:
        raise RuntimeError(f"Error(s) in loading state_dict. Unexpected key(s) in state_dict: {others}. ")
