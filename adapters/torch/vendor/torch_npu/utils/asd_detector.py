"""
The facade of ``torch_npu.utils.asd_detector``, the first form of the check for silently wrong gradients.

Its functions return at once, as torch_npu's do where the second form of the check is at work.
"""

from __future__ import annotations


def set_asd_loss_scale(loss_scale: float = 1.0) -> None:
    return


def register_asd_hook(x: object, weight: object) -> None:
    return


__all__ = ["register_asd_hook", "set_asd_loss_scale"]
