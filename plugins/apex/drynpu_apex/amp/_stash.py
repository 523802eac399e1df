"""What mixed precision keeps for one optimizer, and what it puts in the place of its methods."""

from __future__ import annotations

import types
from collections.abc import Callable
from typing import Any

import torch

from drynpu_apex.amp._exchange import Exchange
from drynpu_apex.amp._kinds import Kind, clip_norm
from drynpu_apex.amp._options import Properties
from drynpu_apex.amp._scaler import LossScaler
from drynpu_apex.amp._state import print_at
from drynpu_apex.fused import Slice, slices_of_groups

_DESTROYED = (
    "Combined {} has been destroyed and will be recombined afterwards, please check if "
    "there is any operation that may change the data_ptr/size/format of the {}s."
)


class AmpStash:
    """
    The parameters of one optimizer by type, with masters, buffers and what the backward passes left.

    The names without an underscore come from the vendor's object; scripts read them.
    """

    def __init__(self, optimizer: Any, properties: Properties) -> None:
        self.optimizer = optimizer
        self.master_weights = bool(properties.master_weights)
        self.combines = bool(properties.combine_grad or optimizer.is_npu_fused_optimizer)
        self.lazy_init_called = False
        self.already_patched = False
        self.already_combined = False
        self.params_have_scaled_gradients = False
        self.process_zero_grad = True
        self.half = Kind(has_masters=self.master_weights)
        self.full = Kind()
        self.exchange: Exchange | None = None
        self.params_grads_are_combined_by_group = False
        self.param_states_are_combined_by_group = False
        self.params_lists_indexed_by_group: list[list[list[torch.Tensor]]] = []
        self.combined_params_indexed_by_group: list[list[torch.Tensor]] = []
        self.combined_grads_indexed_by_group: list[list[torch.Tensor]] = []
        self.combined_param_states_indexed_by_group: list[list[dict[str, Any]]] = []

    @property
    def kinds(self) -> tuple[Kind, Kind]:
        """Return the float16 and the float32 parameters."""
        return self.half, self.full

    all_fp16_params = property(lambda self: self.half.model)
    all_fp32_from_fp16_params = property(lambda self: self.half.masters)
    all_fp32_from_fp32_params = property(lambda self: self.full.model)
    all_fp32_params = property(lambda self: self.full.model)
    main_fp16_grad_combine = property(lambda self: self.half.gradients)
    main_fp32_from_fp16_grad_combine = property(lambda self: self.half.master_gradients)
    main_fp32_from_fp32_grad_combine = property(lambda self: self.full.gradients)
    main_fp32_grad_combine = property(lambda self: self.full.gradients)
    main_fp32_from_fp16_param_combine = property(lambda self: self.half.values)
    main_fp32_from_fp32_param_combine = property(lambda self: self.full.values)
    main_fp32_param_combine = property(lambda self: self.full.values)

    @property
    def grads_list(self) -> list[torch.Tensor | None]:
        """Return the buffers of gradients, in the vendor's order; nothing before they exist."""
        if not self.already_combined:
            return []
        masters = [self.half.master_gradients] if self.master_weights else []
        return [self.half.gradients, *masters, self.full.gradients]

    def lazy_init(self) -> None:
        """Sort the optimizer's parameters by type, once, and put masters into its groups."""
        if self.lazy_init_called:
            return
        self.lazy_init_called = True
        for group in self.optimizer.param_groups:
            self.take_group(group)
        if self.master_weights:
            self.optimizer.load_state_dict(self.optimizer.state_dict())  # casts the state to the masters' type

    def take_group(self, group: dict[str, Any]) -> None:
        """Sort the parameters of *group* by type, and put masters in their place."""
        for index, parameter in enumerate(group["params"]):
            if not parameter.requires_grad and (self.master_weights or self.combines):
                continue
            if parameter.dtype == torch.float16:
                master = parameter
                if self.master_weights:
                    master = parameter.detach().clone().float().requires_grad_()
                    group["params"][index] = master
                    if parameter in self.optimizer.state:
                        self.optimizer.state[master] = self.optimizer.state.pop(parameter)
                self.half.add(parameter, master)
            elif parameter.dtype == torch.float32:
                self.full.add(parameter, parameter)
            else:
                raise TypeError(
                    "Optimizer's parameters must be either torch.npu.FloatTensor or torch.npu.HalfTensor. "
                    f"Received {parameter.type()}"
                )

    def prepare_backward(self) -> None:
        """Put the gradients of earlier backward passes aside."""
        self.lazy_init()
        self.check_combined()
        if self.already_combined and self.process_zero_grad:
            return
        for kind in self.kinds:
            kind.stash_gradients(combined=self.already_combined)

    def post_backward(self, scaler: LossScaler) -> None:
        """Divide the gradients by the scale, into the masters, and add the gradients of earlier passes."""
        self.lazy_init()
        self.check_combined()
        self.combine()
        if self.optimizer.combine_ddp:
            if self.exchange is None:
                self.exchange = Exchange(self.kinds, self.optimizer.ddp_replica_count)
            else:
                self.exchange.finish()
        for kind in self.kinds:
            if self.optimizer.accelerate:
                self._unscale_buffers(kind, scaler)
            elif kind.has_masters:
                self._unscale_to_masters(kind, scaler)
            else:
                self._unscale(kind, scaler)
        self.process_zero_grad = False

    def combine(self) -> None:
        """Move gradients into buffers, and the values that an optimizer over combined tensors updates, once."""
        if self.already_combined or not self.combines:
            return
        for kind in self.kinds:
            kind.combine_gradients(with_values=self.optimizer.is_npu_fused_optimizer)
        self.already_combined = True

    def check_combined(self) -> None:
        """Combine anew where ``check_combined_tensors`` finds that something has left the buffers."""
        if not self.optimizer.check_combined_tensors or not self.already_combined:
            return
        if not all(kind.has_whole_gradients() for kind in self.kinds):
            print_at(_DESTROYED.format("grad", "grad"))
        elif self.optimizer.is_npu_fused_optimizer and not all(kind.has_whole_values() for kind in self.kinds):
            print_at(_DESTROYED.format("param", "param"))
        else:
            return
        self.already_combined = False
        self.params_grads_are_combined_by_group = False
        self.param_states_are_combined_by_group = False

    def slices(self) -> list[list[Slice]]:
        """Return the parts of the buffers that belong to each group of the optimizer, without state."""
        self.combine()
        groups = [group["params"] for group in self.optimizer.param_groups]
        rows = [(kind.masters, kind.values, kind.master_gradients) for kind in reversed(self.kinds)]
        return slices_of_groups(groups, rows)

    def combine_by_group(self) -> None:
        """List the parts of the buffers by group, once, as optimizers of the user's own read them."""
        if self.params_grads_are_combined_by_group:
            return
        slices = self.slices()
        self.params_lists_indexed_by_group = [[part.parameters for part in group] for group in slices]
        self.combined_params_indexed_by_group = [[part.values for part in group] for group in slices]
        self.combined_grads_indexed_by_group = [[part.gradients for part in group] for group in slices]
        print_at(f"group num: {len(slices)}")
        self.params_grads_are_combined_by_group = True

    def drop_master_gradients(self) -> None:
        """Clear the gradients of masters."""
        for kind in self.kinds:
            kind.drop_master_gradients(combined=self.already_combined)

    def _unscale_buffers(self, kind: Kind, scaler: LossScaler) -> None:
        if kind.gradients is None or kind.master_gradients is None:
            return
        if not kind.has_masters:
            stash = None if self.process_zero_grad else kind.stash
            scaler.unscale_combined(kind.gradients, kind.parts, stash)
            return
        before = None if self.process_zero_grad else kind.master_gradients.clone()
        scaler.unscale_to_masters(kind.gradients, kind.parts, kind.master_gradients, before)

    def _unscale_to_masters(self, kind: Kind, scaler: LossScaler) -> None:
        fresh: list[tuple[Any, Any]] = []
        added: list[tuple[Any, Any]] = []
        for parameter, master in zip(kind.model, kind.masters, strict=True):
            if parameter.grad is None:
                continue
            if master.grad is None:
                master.grad = torch.empty_like(master)
                fresh.append((parameter.grad, master.grad))
            else:
                (fresh if self.process_zero_grad else added).append((parameter.grad, master.grad))
        if fresh:
            scaler.unscale([model for model, _ in fresh], [master for _, master in fresh])
        if added:
            masters = [master for _, master in added]
            fused = self.optimizer.is_npu_fused_optimizer
            scaler.unscale_with_stashed([x for x, _ in added], masters, masters, use_npu_fused_optimizer=fused)

    def _unscale(self, kind: Kind, scaler: LossScaler) -> None:
        stashed, kind.stashed = kind.stashed, [None] * len(kind.model)
        fused = self.optimizer.is_npu_fused_optimizer
        if self.already_combined and not self.process_zero_grad and kind.stash is not None:
            sizes = [parameter.numel() for parameter in kind.model]
            parts = torch.split(kind.stash, sizes)
            stashed = [part.view_as(p) for part, p in zip(parts, kind.model, strict=True)]
        fresh: list[torch.Tensor] = []
        added: list[tuple[torch.Tensor, torch.Tensor]] = []
        for parameter, before in zip(kind.model, stashed, strict=True):
            if parameter.grad is None:
                parameter.grad = before
            elif before is None or self.process_zero_grad:
                fresh.append(parameter.grad)
            else:
                added.append((parameter.grad, before))
        if fresh:
            scaler.unscale(fresh, fresh, models_are_masters=True)
        if added:
            gradients = [gradient for gradient, _ in added]
            scaler.unscale_with_stashed(
                gradients, [before for _, before in added], gradients, use_npu_fused_optimizer=fused
            )


class CombinedAccess:
    """The methods that an optimizer has from ``initialize`` on: its buffers, and the norm of its gradients."""

    def __init__(self, stash: AmpStash) -> None:
        self._stash = stash

    def get_model_combined_params(self) -> list[torch.Tensor | None]:
        """Return the buffers of the model's values; none of float16, where the masters have them."""
        return self._chosen("params", lambda kind: None if kind.has_masters else kind.values)

    def get_model_combined_grads(self) -> list[torch.Tensor | None]:
        """Return the buffers of the model's gradients."""
        return self._chosen("grads", lambda kind: kind.gradients)

    def get_model_combined_grad_masks(self) -> list[torch.Tensor | None]:
        """Return ones where the model's buffers have gradients, which is everywhere."""
        return self._chosen("grad_masks", lambda kind: _ones(kind.gradients))

    def get_optimizer_combined_params(self) -> list[torch.Tensor | None]:
        """Return the buffers of the values that the optimizer updates."""
        return self._chosen("params", lambda kind: kind.values)

    def get_optimizer_combined_grads(self) -> list[torch.Tensor | None]:
        """Return the buffers of the gradients that the optimizer takes."""
        return self._chosen("grads", lambda kind: kind.master_gradients)

    def get_optimizer_combined_grad_masks(self) -> list[torch.Tensor | None]:
        """Return ones where the optimizer's buffers have gradients, which is everywhere."""
        return self._chosen("grad_masks", lambda kind: _ones(kind.master_gradients))

    def clip_model_grad_norm_fused(self, max_norm: float, norm_type: float = 2) -> torch.Tensor:
        """Scale the model's gradients so that their norm is at most *max_norm*; return the norm that they had."""
        if self._stash.master_weights:
            raise RuntimeError("clip_model_grad_norm_fused can only be used when opt_level='O1'")
        return clip_norm(self.get_model_combined_grads(), max_norm, float(norm_type))

    def clip_optimizer_grad_norm_fused(self, max_norm: float, norm_type: float = 2) -> torch.Tensor:
        """Scale the optimizer's gradients so that their norm is at most *max_norm*; return the norm that they had."""
        return clip_norm(self.get_optimizer_combined_grads(), max_norm, float(norm_type))

    def _chosen(self, name: str, choose: Callable[[Kind], torch.Tensor | None]) -> list[torch.Tensor | None]:
        stash = self._stash
        if name == "params" and not stash.optimizer.is_npu_fused_optimizer:
            print_at("To get combined params, please use npu fused optimizer.")
        elif not stash.combines:
            print_at(f"To get combined {name}, please set combine_grad=True or use npu fused optimizer.")
        elif not stash.already_combined:
            print_at(f"Please get the combined {name} after backward phase.")
        else:
            stash.check_combined()
            stash.combine()
            return [choose(kind) for kind in (stash.kinds if stash.master_weights else (stash.full,))]
        return []


def _ones(buffer: torch.Tensor | None) -> torch.Tensor | None:
    return None if buffer is None else torch.ones_like(buffer, dtype=torch.float32)


def process_optimizer(optimizer: Any, properties: Properties) -> Any:
    """
    Give *optimizer* what mixed precision adds to it, and return it.

    Raises
    ------
    RuntimeError
        It was given to ``initialize`` before, or does not go with the options.
    """
    if hasattr(optimizer, "_amp_stash"):
        raise RuntimeError("A given optimizer should only be passed through amp.initialize once.")
    optimizer.accelerate = properties.combine_grad
    optimizer.combine_ddp = properties.combine_ddp
    optimizer.ddp_replica_count = properties.ddp_replica_count
    optimizer.check_combined_tensors = properties.check_combined_tensors
    optimizer.is_npu_fused_optimizer = getattr(optimizer, "is_npu_fused_optimizer", None) is True
    _check(optimizer, properties)
    stash = optimizer._amp_stash = AmpStash(optimizer, properties)
    optimizer._amp_lazy_init = stash.lazy_init
    optimizer._prepare_amp_backward = stash.prepare_backward
    optimizer._post_amp_backward = stash.post_backward
    optimizer._amp_combined_init = stash.combine
    optimizer._check_already_combined_params_and_grads = stash.check_combined
    access = CombinedAccess(stash)
    for name in (name for name in dir(CombinedAccess) if not name.startswith("_")):
        setattr(optimizer, name, getattr(access, name))
    _replace_methods(optimizer, stash)
    if optimizer.is_npu_fused_optimizer:
        optimizer._combine_params_and_grads_by_group = stash.combine_by_group
        load_state_dict = optimizer.load_state_dict

        def load_and_combine_anew(self: Any, state_dict: dict[str, Any]) -> None:
            del self
            load_state_dict(state_dict)
            stash.param_states_are_combined_by_group = False

        optimizer.load_state_dict = types.MethodType(load_and_combine_anew, optimizer)
    return optimizer


def _check(optimizer: Any, properties: Properties) -> None:
    if optimizer.is_npu_fused_optimizer:
        print_at("Use npu fused optimizer")
        if properties.opt_level not in ("O1", "O2"):
            raise RuntimeError("Currently, npu fused optimizer can only be used when opt_level='O1' or opt_level='O2'")
    if properties.combine_grad or optimizer.is_npu_fused_optimizer:
        if properties.opt_level == "O2" and properties.master_weights is not True:
            raise RuntimeError(
                "With opt_level O2, master_weights should be True when combine_grad is True or "
                "npu fused optimizer is used"
            )
    elif properties.check_combined_tensors:
        print_at(
            "Because combine_grad != True and no npu fused optimizer is used, "
            "checking combined tensors function will not take effect!"
        )


def _replace_methods(optimizer: Any, stash: AmpStash) -> None:
    """Replace ``step``, ``zero_grad`` and ``add_param_group``, as methods, which schedulers wrap."""
    step, zero_grad, add_param_group = optimizer.step, optimizer.zero_grad, optimizer.add_param_group

    def step_of_masters(self: Any, closure: object = None) -> Any:
        del self
        if closure is not None:
            raise RuntimeError("Currently, Amp does not support closure use with optimizers.")
        result = step()
        for kind in stash.kinds:
            kind.copy_to_model()
        stash.drop_master_gradients()
        return result

    def zero_grad_of_all(self: Any) -> None:
        del self
        stash.lazy_init()
        stash.check_combined()
        stash.process_zero_grad = stash.process_zero_grad or stash.combines
        if stash.already_combined:
            for kind in stash.kinds:
                kind.zero_buffers()
        elif stash.master_weights:
            for kind in stash.kinds:
                kind.zero_gradients(keeps_masters=stash.combines)
        else:
            zero_grad()

    def add_sorted_group(self: Any, new_group: dict[str, Any]) -> None:
        del self
        stash.lazy_init()
        params = new_group["params"]
        new_group["params"] = [params] if isinstance(params, torch.Tensor) else list(params)
        stash.take_group(new_group)
        add_param_group(new_group)

    if stash.master_weights:
        optimizer.step = types.MethodType(step_of_masters, optimizer)
    if stash.master_weights or stash.combines:
        optimizer.zero_grad = types.MethodType(zero_grad_of_all, optimizer)
    optimizer.add_param_group = types.MethodType(add_sorted_group, optimizer)
