"""
Primitives in place of MindSpore's own whose attributes no kernel of the CPU reads: they pass them as arguments.

Imported where MindSpore is loaded.
"""

from __future__ import annotations

from typing import Any

from mindspore.ops import PrimitiveWithInfer
from mindspore.ops import signature as sig
from mindspore.ops.operations import nn_ops
from mindspore.ops.primitive import prim_attr_register

_WRITTEN = sig.sig_rw.RW_WRITE


class ApplyNesterovMomentum(PrimitiveWithInfer):  # type: ignore[misc] # MindSpore has no types
    """A step by momentum that looks ahead; MindSpore's kernel of the CPU takes it for a plain one."""

    __mindspore_signature__ = (
        sig.make_sig("variable", _WRITTEN, dtype=sig.sig_dtype.T),
        sig.make_sig("accumulation", _WRITTEN, dtype=sig.sig_dtype.T),
        sig.make_sig("learning_rate", dtype=sig.sig_dtype.T1),
        sig.make_sig("gradient", dtype=sig.sig_dtype.T),
        sig.make_sig("momentum", dtype=sig.sig_dtype.T2),
    )

    @prim_attr_register  # type: ignore[untyped-decorator]
    def __init__(self) -> None:
        self.init_prim_io_names(
            inputs=["variable", "accumulation", "learning_rate", "gradient", "momentum"], outputs=["output"]
        )
        self.add_prim_attr("side_effect_mem", True)

    def infer_shape(self, variable: Any, *others: Any) -> Any:
        """Return the shape of the weights."""
        del others
        return variable

    def infer_dtype(self, variable: Any, *others: Any) -> Any:
        """Return the type of the weights."""
        del others
        return variable


class _ScaledGradient(PrimitiveWithInfer):  # type: ignore[misc] # MindSpore has no types
    """The gradient that LARS hands on, its options among the arguments."""

    def __init__(self) -> None:
        super().__init__("LARSUpdateWithOptions")
        names = ["weight", "gradient", "norm_weight", "norm_gradient", "weight_decay", "learning_rate"]
        self.init_prim_io_names(inputs=[*names, "epsilon", "hyperpara", "use_clip"], outputs=["new_gradient"])

    def infer_shape(self, weight: Any, *others: Any) -> Any:
        """Return the shape of the weights."""
        del others
        return weight

    def infer_dtype(self, weight: Any, *others: Any) -> Any:
        """Return the type of the weights."""
        del others
        return weight


def _new_momentum(kind: Any, use_nesterov: bool = False, *others: Any, **keywords: Any) -> Any:
    if use_nesterov:
        return ApplyNesterovMomentum()
    return super(nn_ops.ApplyMomentum, kind).__new__(kind, use_nesterov, *others, **keywords)


def _new_lars(kind: Any, epsilon: float = 1e-05, hyperpara: float = 0.001, use_clip: bool = False) -> Any:
    del kind
    scaled, clips = _ScaledGradient(), float(use_clip)

    # GRAPH mode reads the source of a function, and what it holds; a cell it would have to compile by itself.
    def update(weight: Any, gradient: Any, norm_weight: Any, norm_gradient: Any, weight_decay: Any, rate: Any) -> Any:
        return scaled(weight, gradient, norm_weight, norm_gradient, weight_decay, rate, epsilon, hyperpara, clips)

    return update


def replace_steps() -> None:
    """Have MindSpore's classes of primitives make these."""
    nn_ops.ApplyMomentum.__new__ = _new_momentum
    nn_ops.LARSUpdate.__new__ = _new_lars
