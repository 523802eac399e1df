"""
Recurrent layers.

The CPU runs a whole LSTM, all layers and directions, as one primitive over one flat weight; a device runs one
DynamicRNN (backwards DynamicRNNGrad) per layer and direction over the joined weights [input + hidden, 4 x hidden], in
which the cube and vector units work together. Cells, GRUs and plain RNNs fall apart into products and gates.
"""

from __future__ import annotations

from attrs import frozen

from drynpu.kernels import KernelPlan, KernelSpec, Rule, TaskType, TensorDesc, output_tiles, plan_of
from drynpu_mindspore.rules._signature import Call
from drynpu_mindspore.rules._work import cube_kernel, rule_of

__all__ = ["recurrent_rules"]

_GATES = 4
_CELL_OPS, _CELL_GRAD_OPS = 30, 40
"""Element operations per hidden unit and step: four activations and the cell update; more for the gradient."""


@frozen(kw_only=True)
class _Layer:
    """One layer in one direction; *x* is [steps, batch, width]."""

    x: TensorDesc
    hidden: int

    @property
    def weight(self) -> TensorDesc:
        return TensorDesc((self.x.shape[2] + self.hidden, _GATES * self.hidden), self.x.dtype)

    @property
    def bias(self) -> TensorDesc:
        return TensorDesc((_GATES * self.hidden,), self.x.dtype)

    @property
    def sequence(self) -> TensorDesc:
        return TensorDesc((*self.x.shape[:2], self.hidden), self.x.dtype)

    @property
    def state(self) -> TensorDesc:
        return TensorDesc((1, self.x.shape[1], self.hidden), self.x.dtype)

    def kernel(self, *, gradient: bool) -> KernelSpec:
        """Every weight is used once per step and sample, twice for the gradients of inputs and weights."""
        steps, batch, _ = self.x.shape
        given = [self.x, self.weight, self.bias, self.state, self.state]
        saved = [self.sequence] * 8
        return cube_kernel(
            "DynamicRNNGrad" if gradient else "DynamicRNN",
            [*given, self.sequence, *saved] if gradient else given,
            [self.weight, self.bias, self.x, self.state, self.state] if gradient else saved,
            flops=(4 if gradient else 2) * steps * batch * self.weight.elements,
            tiles=output_tiles(batch, _GATES * self.hidden),
            vector_ops=(_CELL_GRAD_OPS if gradient else _CELL_OPS) * self.sequence.elements,
            task=TaskType.MIX_AIC,
        )


def _layers(call: Call) -> list[_Layer]:
    """Read ``LSTM(x, h, c, weights)``; nothing where an attribute is not known."""
    x, hidden, layers = call.tensor(0), call.attrs.get("hidden_size"), call.attrs.get("num_layers")
    both = call.attrs.get("bidirectional")
    if x is None or len(x.shape) != 3 or not isinstance(hidden, int) or not isinstance(layers, int) or both is None:
        return []
    directions = 2 if both else 1
    found = []
    for layer in range(layers):
        width = directions * hidden if layer else x.shape[2]
        found += [_Layer(x=TensorDesc((*x.shape[:2], width), x.dtype), hidden=hidden)] * directions
    return found


def _forward(call: Call) -> KernelPlan | None:
    layers = _layers(call)
    return plan_of(*(layer.kernel(gradient=False) for layer in layers)) if layers else None


def _backward(call: Call) -> KernelPlan | None:
    layers = _layers(call)
    return plan_of(*(layer.kernel(gradient=True) for layer in reversed(layers))) if layers else None


def recurrent_rules() -> dict[str, Rule]:
    """Return the rules by primitive."""
    return {"LSTM": rule_of(_forward, "DynamicRNN"), "LSTMGrad": rule_of(_backward, "DynamicRNNGrad")}
