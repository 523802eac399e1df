"""The loss scale: gradients divided by it, infinities in them found, the scale moved."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

import torch

from drynpu_apex.amp._state import print_at
from drynpu_torch.device import DEVICE_TYPE

Gradients: TypeAlias = Sequence[torch.Tensor | None]


class LossScaler:
    """
    A loss scale, constant or dynamic.

    A dynamic scale is multiplied by *scale_backoff_factor* when a gradient is infinite or not a number, and by
    *scale_growth_factor* after *scale_window* backward passes without that; *min_loss_scale* and *max_loss_scale*
    bound it. The check is one operator over all gradients, as on chips with infinities; on chips that saturate the
    vendor's apex reads a flag of the device instead, which is not simulated.
    """

    warned_unscaling_non_fp32_grad = False

    def __init__(
        self,
        loss_scale: float | str,
        init_scale: float = 2.0**16,
        scale_growth_factor: float = 2.0,
        scale_backoff_factor: float = 0.5,
        scale_window: int = 2000,
        min_loss_scale: float | None = None,
        max_loss_scale: float = 2.0**24,
    ) -> None:
        self.dynamic = loss_scale == "dynamic"
        self._loss_scale = min(max_loss_scale, init_scale) if self.dynamic else float(loss_scale)
        self._max_loss_scale = max_loss_scale
        self._min_loss_scale = min_loss_scale
        self._scale_growth_factor = scale_growth_factor
        self._scale_backoff_factor = scale_backoff_factor
        self._scale_seq_len = scale_window
        self._unskipped = 0
        self._has_overflow = False
        self._overflow_buf = torch.zeros(1, device=DEVICE_TYPE)

    def loss_scale(self) -> float:
        """Return the scale."""
        return self._loss_scale

    def clear_overflow_state(self) -> None:
        """Forget what the last backward pass has shown."""
        self._has_overflow = False

    def update_scale(self) -> bool:
        """Move a dynamic scale after a backward pass, and return whether the step is to be skipped."""
        skips = self._has_overflow and self.dynamic
        if skips:
            self._loss_scale = max(self._min_loss_scale or 0.0, self._loss_scale * self._scale_backoff_factor)
            self._unskipped = 0
        else:
            self._unskipped += 1
        if self.dynamic and self._unskipped == self._scale_seq_len:
            self._loss_scale = min(self._max_loss_scale, self._loss_scale * self._scale_growth_factor)
            self._unskipped = 0
        return skips

    @torch.no_grad()
    def unscale(
        self,
        model_grads: Gradients,
        master_grads: Sequence[torch.Tensor],
        unused_scale: object = None,
        models_are_masters: bool = False,
        scale_override: float | None = None,
    ) -> None:
        """
        Write gradients divided by the scale.

        Parameters
        ----------
        model_grads:
            The gradients of the backward pass; a dynamic scale divides them in place.
        master_grads:
            Where the results are written, the same tensors where the model has no masters.
        unused_scale:
            Not read.
        models_are_masters:
            Whether nothing has to be done at a constant scale of 1.
        scale_override:
            The divisor, in place of the scale.
        """
        del unused_scale
        scale = self._loss_scale if scale_override is None else scale_override
        if self._has_overflow or (scale == 1.0 and models_are_masters and not self.dynamic):
            return
        pairs = [(model, master) for model, master in zip(model_grads, master_grads, strict=True) if model is not None]
        self._warn_of_types([master for _, master in pairs])
        if self.dynamic:
            if self.find_overflow([model for model, _ in pairs], 1.0 / scale):
                return
            for model, master in pairs:
                if master is not model:
                    master.copy_(model)
            return
        for model, master in pairs:
            if master is not model:
                master.copy_(model)
            if scale != 1.0:
                master.mul_(1.0 / scale)

    @torch.no_grad()
    def unscale_with_stashed(
        self,
        model_grads: Gradients,
        stashed_master_grads: Gradients,
        master_grads: Sequence[torch.Tensor],
        scale_override: tuple[float, float, float] | None = None,
        use_npu_fused_optimizer: bool = False,
    ) -> None:
        """
        Write gradients divided by the scale and added to the gradients of earlier backward passes.

        Parameters
        ----------
        model_grads, stashed_master_grads:
            The gradients of this backward pass, and of those before.
        master_grads:
            Where the sums are written.
        scale_override:
            The scales of the gradients, of the earlier ones and of the sums; otherwise the loss scale, 1 and 1.
        use_npu_fused_optimizer:
            Whether the sums have to stay in the memory of *master_grads*, as parts of a buffer do.
        """
        if self._has_overflow:
            return
        have, stashed_have, out = scale_override or (self._loss_scale, 1.0, 1.0)
        rows = [
            (model, stashed, master)
            for model, stashed, master in zip(model_grads, stashed_master_grads, master_grads, strict=True)
            if model is not None and stashed is not None
        ]
        self._warn_of_types([master for *_, master in rows])
        if self.dynamic and self.find_overflow([model for model, *_ in rows], out / have):
            return
        for model, stashed, master in rows:
            gradient = model.to(master.dtype)
            if not self.dynamic:
                gradient = gradient * (out / have)
            total = gradient + stashed * (out / stashed_have)
            if use_npu_fused_optimizer:
                master.copy_(total)
            else:
                master.data = total

    @torch.no_grad()
    def unscale_combined(
        self,
        combined: torch.Tensor,
        gradients: Sequence[torch.Tensor],
        stashed: torch.Tensor | None = None,
        scale_override: tuple[float, float, float] | None = None,
    ) -> None:
        """
        Divide a buffer of gradients by the scale.

        Parameters
        ----------
        combined, gradients:
            The buffer, and the tensors that are its parts.
        stashed:
            The buffer of earlier backward passes, which is added.
        scale_override:
            As for :meth:`unscale_with_stashed`.
        """
        if self._has_overflow or (self.dynamic and self.find_overflow(gradients, 1.0)):
            return
        have, _, out = scale_override or (self._loss_scale, 1.0, 1.0)
        combined.mul_(out / have)
        if stashed is not None:
            combined.add_(stashed)

    @torch.no_grad()
    def unscale_to_masters(
        self,
        combined: torch.Tensor,
        gradients: Sequence[torch.Tensor],
        masters: torch.Tensor,
        stashed: torch.Tensor | None = None,
    ) -> None:
        """
        Write a buffer of gradients into the masters' buffer, divided by the scale.

        Parameters
        ----------
        combined, gradients:
            The buffer of the model's gradients, and the tensors that are its parts.
        masters:
            The masters' buffer, of the same number of elements.
        stashed:
            What earlier backward passes have left in *masters*, which is added.
        """
        if self._has_overflow or (self.dynamic and self.find_overflow(gradients, 1.0)):
            return
        masters.copy_(combined)
        masters.mul_(1.0 / self._loss_scale)
        if stashed is not None:
            masters.add_(stashed)

    def find_overflow(self, gradients: Sequence[torch.Tensor], factor: float) -> bool:
        """Multiply *gradients* by *factor* in place, note whether one is infinite or not a number, and return that."""
        if not gradients:
            return False
        with torch.no_grad():
            scale = torch.tensor(factor).to(self._overflow_buf.device)
            torch._amp_foreach_non_finite_check_and_unscale_(list(gradients), self._overflow_buf, scale)
        self._has_overflow = self._overflow_buf.item() > 0
        self._overflow_buf.zero_()
        return self._has_overflow

    def _warn_of_types(self, masters: Sequence[torch.Tensor]) -> None:
        odd = next((master for master in masters if master.dtype != torch.float32), None)
        if odd is None or LossScaler.warned_unscaling_non_fp32_grad:
            return
        print_at(
            f"Attempting to unscale a grad with type {odd.type()} Unscaling non-fp32 grads may indicate an error. "
            "When using Amp, you don't need to call .half() on your model."
        )
        LossScaler.warned_unscaling_non_fp32_grad = True
