"""
Recurrent layers.

``aten::lstm`` is a composite: per layer and direction the CPU runs ``mkldnn_rnn_layer``, which is where torch_npu
runs one DynamicRNN over the joined weights [input + hidden, 4 x hidden] (after a ConcatD of the two weight matrices
and an Add of the two biases), and DynamicRNNGrad backwards. The cube and vector units work together in them
(MIX_AIC). ``aten::gru`` and an LSTM that oneDNN cannot take fall apart into products and gates on the CPU, forward
and backward; they are shown so, step by step, where torch_npu would run one DynamicGRUV2 per layer.
"""

from __future__ import annotations

from attrs import frozen

from drynpu.kernels import KernelPlan, KernelSpec, Signature, TaskType, TensorDesc
from drynpu_torch.rules._work import Rule, cube_kernel, kernel, output_tiles, plan, tensor

__all__ = ["rnn_rules"]

_GATES = 4
_CELL_OPS, _CELL_GRAD_OPS = 30, 40
"""Element operations per hidden unit and step: four activations and the cell update; more for the gradient."""


@frozen
class _Layer:
    """What DynamicRNN and its gradient have in common: the tensors of one layer and direction."""

    before: list[KernelSpec]
    x: TensorDesc
    weight: TensorDesc
    bias: TensorDesc
    hx: TensorDesc
    cx: TensorDesc
    sequence: TensorDesc
    tiles: int

    @property
    def products(self) -> int:
        """Multiplications of one pass over the sequence: every weight once per step and sample."""
        steps, batch, _ = self.x.shape
        return steps * batch * self.weight.elements


def _prepare(x: TensorDesc, w_x: TensorDesc, w_h: TensorDesc, biases: list[TensorDesc]) -> tuple[
    list[KernelSpec], TensorDesc, TensorDesc
]:  # fmt: skip
    """Return (kernels before, joined weight, bias)."""
    width = w_x.shape[1] + w_h.shape[1]
    joined = tensor((w_x.shape[0], width), x.dtype)
    weight = tensor((width, w_x.shape[0]), x.dtype)
    bias = tensor((w_x.shape[0],), x.dtype)
    kernels = [kernel("aclnnCat", "ConcatD", "ConcatD", [w_x, w_h], [joined], cost=0)]
    if len(biases) > 1:
        kernels.append(kernel("aclnnAdd", None, "Add", biases[:2], [bias]))
    else:
        kernels.append(kernel("aclnnInplaceZero", None, "ZerosLike", [bias], [bias], cost=0, read=0))
    return kernels, weight, bias


def _is_lstm(x: TensorDesc, w_x: TensorDesc, w_h: TensorDesc) -> bool:
    return len(x.shape) == 3 and len(w_x.shape) == len(w_h.shape) == 2 and w_x.shape[0] == _GATES * w_h.shape[1]


def _read(signature: Signature) -> _Layer | None:
    """Read ``x, w_x, w_h, b_x, b_h, hx, cx``, with which both operators begin; time comes first in x."""
    found = [signature.tensor(i) for i in range(7)]
    given = [t for t in found if t is not None]
    if len(given) < len(found) or not _is_lstm(*given[:3]):
        return None
    x, w_x, w_h, b_x, b_h, hx, cx = given
    before, weight, bias = _prepare(x, w_x, w_h, [b_x, b_h])
    steps, batch, _ = x.shape
    hidden = w_h.shape[1]
    sequence = tensor((steps, batch, hidden), x.dtype)
    return _Layer(before, x, weight, bias, hx, cx, sequence, output_tiles(batch, _GATES * hidden))


def _layer(signature: Signature) -> KernelPlan | None:
    """``mkldnn_rnn_layer(x, w_x, w_h, b_x, b_h, hx, cx, ...)``."""
    layer = _read(signature)
    if layer is None:
        return None
    main = cube_kernel(
        "DynamicRNN1",
        "DynamicRNN",
        [layer.x, layer.weight, layer.bias, layer.hx, layer.cx],
        [layer.sequence] * 8,
        flops=2 * layer.products,
        vector_ops=_CELL_OPS * layer.sequence.elements,
        tiles=layer.tiles,
        task=TaskType.MIX_AIC,
    )
    return plan("", *layer.before, main)


def _layer_backward(signature: Signature) -> KernelPlan | None:
    """``mkldnn_rnn_layer_backward(x, w_x, w_h, b_x, b_h, hx, cx, output, hy, cy, dy, ...)``."""
    layer = _read(signature)
    if layer is None:
        return None
    main = cube_kernel(
        "DynamicRNNGrad1",
        "DynamicRNNGrad",
        [layer.x, layer.weight, layer.bias, layer.sequence, layer.hx, layer.cx, *[layer.sequence] * 8],
        [layer.weight, layer.bias, layer.x, layer.hx, layer.cx],
        flops=4 * layer.products,
        vector_ops=_CELL_GRAD_OPS * layer.sequence.elements,
        tiles=layer.tiles,
        task=TaskType.MIX_AIC,
    )
    return plan("", *layer.before, main)


def rnn_rules() -> dict[str, Rule]:
    """Return the rules by operator name."""
    return {"aten::mkldnn_rnn_layer": _layer, "aten::mkldnn_rnn_layer_backward": _layer_backward}
