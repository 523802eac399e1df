"""
Recurrent layers.

``aten::lstm`` is a composite: per layer and direction the CPU runs ``mkldnn_rnn_layer``, which is where torch_npu
runs one DynamicRNN over the joined weights [input + hidden, 4 x hidden] (after a ConcatD of the two weight matrices
and an Add of the two biases), and DynamicRNNGrad backwards. The cube and vector units work together in them
(MIX_AIC). ``aten::gru`` and an LSTM that oneDNN cannot take fall apart into products and gates on the CPU, forward
and backward; they are shown so, step by step, where torch_npu would run one DynamicGRUV2 per layer.
"""

from __future__ import annotations

from drynpu.kernels import KernelPlan, KernelSpec, Signature, TaskType, TensorDesc
from drynpu_torch.rules._work import Rule, cube_kernel, kernel, output_tiles, plan, tensor

__all__ = ["rnn_rules"]

_GATES = 4
_CELL_OPS, _CELL_GRAD_OPS = 30, 40
"""Element operations per hidden unit and step: four activations and the cell update; more for the gradient."""


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


def _tensors(signature: Signature, count: int) -> list[TensorDesc] | None:
    found = [signature.tensor(i) for i in range(count)]
    return [t for t in found if t is not None] if all(t is not None for t in found) else None


def _is_lstm(x: TensorDesc, w_x: TensorDesc, w_h: TensorDesc) -> bool:
    return len(x.shape) == 3 and len(w_x.shape) == len(w_h.shape) == 2 and w_x.shape[0] == _GATES * w_h.shape[1]


def _layer(signature: Signature) -> KernelPlan | None:
    """``mkldnn_rnn_layer(x, w_x, w_h, b_x, b_h, hx, cx, ...)``, time first."""
    given = _tensors(signature, 7)
    if given is None or not _is_lstm(*given[:3]):
        return None
    x, w_x, w_h, b_x, b_h, hx, cx = given
    before, weight, bias = _prepare(x, w_x, w_h, [b_x, b_h])
    steps, batch, _ = x.shape
    hidden = w_h.shape[1]
    sequence = tensor((steps, batch, hidden), x.dtype)
    main = cube_kernel(
        "DynamicRNN1",
        "DynamicRNN",
        [x, weight, bias, hx, cx],
        [sequence] * 8,
        flops=2 * steps * batch * (w_x.elements + w_h.elements),
        vector_ops=_CELL_OPS * sequence.elements,
        tiles=output_tiles(batch, _GATES * hidden),
        task=TaskType.MIX_AIC,
    )
    return plan("", *before, main)


def _layer_backward(signature: Signature) -> KernelPlan | None:
    """``mkldnn_rnn_layer_backward(x, w_x, w_h, b_x, b_h, hx, cx, output, hy, cy, dy, ...)``."""
    given = _tensors(signature, 7)
    if given is None or not _is_lstm(*given[:3]):
        return None
    x, w_x, w_h, b_x, b_h, hx, cx = given
    before, weight, bias = _prepare(x, w_x, w_h, [b_x, b_h])
    steps, batch, _ = x.shape
    hidden = w_h.shape[1]
    sequence = tensor((steps, batch, hidden), x.dtype)
    main = cube_kernel(
        "DynamicRNNGrad1",
        "DynamicRNNGrad",
        [x, weight, bias, sequence, hx, cx, *[sequence] * 8],
        [weight, bias, x, hx, cx],
        flops=4 * steps * batch * (w_x.elements + w_h.elements),
        vector_ops=_CELL_GRAD_OPS * sequence.elements,
        tiles=output_tiles(batch, _GATES * hidden),
        task=TaskType.MIX_AIC,
    )
    return plan("", *before, main)


def rnn_rules() -> dict[str, Rule]:
    """Return the rules by operator name."""
    return {"aten::mkldnn_rnn_layer": _layer, "aten::mkldnn_rnn_layer_backward": _layer_backward}
