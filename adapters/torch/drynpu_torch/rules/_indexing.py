"""
Gathering, scattering, joining, padding.

Gathers read only what they output (device_and_cost_model.md 3.4), scatters write only what they change.
"""

from __future__ import annotations

from drynpu.kernels import KernelPlan, Signature, TaskType, TensorDesc
from drynpu.kernels.ops import replaced
from drynpu_torch.rules._elementwise import cast
from drynpu_torch.rules._shapes import attribute, integers, whole
from drynpu_torch.rules._work import Rule, kernel, like, plan, scalar, tensor, to_host

__all__ = ["indexing_rules"]

_INDEX = "INT64"


def _gathered(out: TensorDesc, index: TensorDesc) -> int:
    """Bytes that a gather reads: the rows it returns and the index."""
    return out.size_bytes + index.size_bytes


def _embedding(signature: Signature) -> KernelPlan | None:
    table, index = signature.tensor(0), signature.tensor(1)
    if table is None or index is None or not table.shape:
        return None
    out = tensor((*index.shape, *table.shape[1:]), table.dtype, "ND")
    inputs = [like(table, layout="ND"), like(index, layout="ND"), TensorDesc((1,), _INDEX)]
    spec = kernel("aclnnEmbedding", None, "GatherV2", inputs, [out], cost=0, read=_gathered(out, index))
    return plan("aclnnEmbedding", spec)


def _embedding_backward(signature: Signature) -> KernelPlan | None:
    """``embedding_dense_backward(dy, index, num_weights, padding_idx, scale_grad_by_freq)``."""
    dy, index = signature.tensor(0), signature.tensor(1)
    rows = attribute(signature, 2)
    if dy is None or index is None or not isinstance(rows, int) or rows < 0 or not dy.shape:
        return None
    api, flat = "aclnnEmbeddingDenseBackward", TensorDesc((index.elements,), _INDEX)
    convert = cast(api, flat, "FLOAT")  # the sort works on FLOAT keys, as measured
    keys = convert.outputs[0]
    positions = like(keys, dtype="INT32")
    sort = kernel(
        api, None, "Sort", [keys], [keys, positions], task=TaskType.MIX_AIV, cost=max(index.elements, 1).bit_length()
    )
    out = tensor((rows, dy.shape[-1]), dy.dtype)
    grad = kernel(
        api,
        "EmbeddingDenseGradV2",
        "EmbeddingDenseGradV2",
        [dy, positions, positions],
        [out],
        task=TaskType.MIX_AIV,
        over=dy.elements,
        written=min(dy.size_bytes, out.size_bytes),
    )
    return plan(api, convert, sort, kernel(api, "MemSet", "MemSet", [], [out], cost=0), grad)


def _index_select(signature: Signature) -> KernelPlan | None:
    x, index = signature.tensor(0), signature.tensor(2)
    axis = attribute(signature, 1)
    if x is None or index is None or not isinstance(axis, int):
        return None
    out = tensor(replaced(x.shape, axis, index.elements), x.dtype)
    inputs = [x, index, TensorDesc((1,), _INDEX)]
    spec = kernel("aclnnIndexSelect", None, "GatherV3", inputs, [out], cost=0, read=_gathered(out, index))
    return plan("aclnnIndexSelect", spec)


def _gather(signature: Signature) -> KernelPlan | None:
    x, index = signature.tensor(0), signature.tensor(2)
    if x is None or index is None:
        return None
    out = tensor(index.shape, x.dtype)
    spec = kernel(
        "aclnnGather",
        "GatherElementsV2",
        "GatherElementsV2",
        [x, index],
        [out],
        cost=0,
        read=_gathered(out, index),
    )
    return plan("aclnnGather", spec)


def _index(signature: Signature) -> KernelPlan | None:
    """
    ``index(x, indices)``.

    Kineto records nothing of the list of optional indices, so the result is unknown: no output is stated, and the
    bytes are the upper bound of a selection, all of *x*.
    """
    x = signature.tensor(0)
    if x is None:
        return None
    sizes = TensorDesc((max(len(x.shape), 1),), _INDEX)
    inputs = [x, sizes, TensorDesc((1,), _INDEX)]
    spec = kernel("aclnnIndex", None, "Index", inputs, [], cost=0, read=x.size_bytes, written=x.size_bytes)
    # A mask is turned into positions first, here and on an NPU: nonzero is among the children and speaks.
    return plan("aclnnIndex", spec, claims=False)


def _index_put(signature: Signature) -> KernelPlan | None:
    """``_index_put_impl_(x, indices, values, accumulate)``; as many elements change as values are given."""
    x, values = signature.tensor(0), signature.tensor(2)
    if x is None or values is None:
        return None
    sizes = TensorDesc((max(len(x.shape), 1),), _INDEX)
    spec = kernel(
        "aclnnIndexPutImpl",
        "IndexPutV2",
        "IndexPutV2",
        [x, values, sizes, sizes],
        [x],
        over=values.elements,
        read=values.size_bytes,
        written=values.size_bytes,
    )
    return plan("aclnnIndexPutImpl", spec)


def _scatter_rule(api: str, op_type: str, function: str) -> Rule:
    """``scatter(x, dim, index, src or value)`` and relatives."""
    inplace = api.startswith("Inplace")
    full = f"aclnn{api}"

    def rule(signature: Signature) -> KernelPlan | None:
        x, index = signature.tensor(0), signature.tensor(2)
        if x is None or index is None:
            return None
        source = signature.tensor(3) or scalar(x.dtype)
        item = x.size_bytes // max(x.elements, 1)
        places = max(index.elements, source.elements)
        changed = places * item
        copy = [] if inplace else [kernel("aclnnInplaceCopy", None, "TensorMove", [x], [x], cost=0)]
        spec = kernel(
            full,
            function,
            op_type,
            [x, index, source],
            [x],
            over=places,
            read=changed + index.size_bytes,
            written=changed,
        )
        return plan(full, *copy, spec)

    return rule


def _nonzero(signature: Signature) -> KernelPlan | None:
    """The size of the result depends on the data: the host waits for it."""
    x = signature.tensor(0)
    if x is None:
        return None
    api, count = "aclnnNonzeroV2", TensorDesc((1,), _INDEX)
    return plan(
        api,
        kernel(api, "MemSet", "MemSet", [], [count], cost=0),
        kernel(api, "NonzeroAiCore", "NonZero", [x], [], task=TaskType.MIX_AIV, cost=2),
        to_host(count),
        synchronizes=True,
    )


def _masked_select(signature: Signature) -> KernelPlan | None:
    x, mask = signature.tensor(0), signature.tensor(1)
    if x is None or mask is None:
        return None
    spec = kernel("aclnnMaskedSelect", "MaskedSelectV3", "MaskedSelectV3", [x, mask], [], task=TaskType.MIX_AIV, cost=2)
    return plan("aclnnMaskedSelect", spec, to_host(TensorDesc((1,), _INDEX)), synchronizes=True)


def _one_hot(signature: Signature) -> KernelPlan | None:
    """Without a class number it is read from the data; the children tell that story."""
    x, classes = signature.tensor(0), whole(signature, 1, -1)
    if x is None or classes <= 0:
        return None
    out = tensor((*x.shape, classes), _INDEX)
    one = scalar(_INDEX)
    return plan("aclnnOneHot", kernel("aclnnOneHot", "OneHot", "OneHot", [x, one, one, one], [out]))


def _cat(signature: Signature) -> KernelPlan | None:
    parts = signature.inputs[0] if signature.inputs else None
    axis = attribute(signature, 1)
    if not isinstance(parts, tuple):
        return None
    real = [part for part in parts if part.elements or len(part.shape) > 1]
    if not real or not isinstance(axis, int):
        return None
    joined = sum(part.shape[axis % len(part.shape)] for part in real if part.shape)
    out = tensor(replaced(real[0].shape, axis, joined), real[0].dtype)
    op_type, function = ("TensorMove", None) if len(real) == 1 else ("ConcatD", "ConcatD")
    return plan("aclnnCat", kernel("aclnnCat", function, op_type, real, [out], cost=0))


def _stack(signature: Signature) -> KernelPlan | None:
    parts = signature.inputs[0] if signature.inputs else None
    axis = attribute(signature, 1)
    if not isinstance(parts, tuple) or not parts or not isinstance(axis, int):
        return None
    shape = parts[0].shape
    at = axis % (len(shape) + 1)
    out = tensor((*shape[:at], len(parts), *shape[at:]), parts[0].dtype)
    return plan("aclnnStack", kernel("aclnnStack", None, "Pack", list(parts), [out], cost=0))


def _rearrangement_rule(api: str, op_type: str, function: str | None = None) -> Rule:
    """Result of the same shape: flip, roll, triangles."""
    full = f"aclnn{api}"

    def rule(signature: Signature) -> KernelPlan | None:
        x = signature.tensor(0)
        return plan(full, kernel(full, function, op_type, [x], [x])) if x is not None else None

    return rule


def _repeat(signature: Signature) -> KernelPlan | None:
    x, times = signature.tensor(0), integers(signature, 1)
    if x is None or times is None or len(times) < len(x.shape) or min(times, default=0) < 0:
        return None
    padded = (1,) * (len(times) - len(x.shape)) + x.shape
    out = tensor([dim * count for dim, count in zip(padded, times, strict=True)], x.dtype)
    return plan(
        "aclnnRepeat", kernel("aclnnRepeat", None, "Tile", [x, TensorDesc((len(times),), _INDEX)], [out], cost=0)
    )


def _pad(signature: Signature) -> KernelPlan | None:
    """``constant_pad_nd(x, pad, value)``: pairs from the last dimension on."""
    x, pad = signature.tensor(0), integers(signature, 1)
    if x is None or pad is None or len(pad) > 2 * len(x.shape):
        return None
    shape = list(x.shape)
    for pair in range(len(pad) // 2):
        shape[-1 - pair] += pad[2 * pair] + pad[2 * pair + 1]
    if min(shape, default=0) < 0:
        return None
    out = tensor(shape, x.dtype)
    inputs = [x, TensorDesc((2 * len(shape),), _INDEX), scalar(x.dtype)]
    return plan("aclnnConstantPadNd", kernel("aclnnConstantPadNd", None, "PadV3", inputs, [out], cost=0))


def indexing_rules() -> dict[str, Rule]:
    """Return the rules by operator name."""
    return {
        "aten::embedding": _embedding,
        "aten::embedding_dense_backward": _embedding_backward,
        "aten::index_select": _index_select,
        "aten::gather": _gather,
        "aten::index": _index,
        "aten::_index_put_impl_": _index_put,
        "aten::scatter": _scatter_rule("Scatter", "ScatterElements", "ScatterElements"),
        "aten::scatter_": _scatter_rule("InplaceScatter", "ScatterElements", "ScatterElements"),
        "aten::scatter_add": _scatter_rule("ScatterAdd", "ScatterElements", "ScatterElements"),
        "aten::scatter_add_": _scatter_rule("InplaceScatterAdd", "ScatterElements", "ScatterElements"),
        "aten::index_add": _scatter_rule("IndexAdd", "InplaceIndexAdd", "InplaceIndexAdd"),
        "aten::index_add_": _scatter_rule("InplaceIndexAdd", "InplaceIndexAdd", "InplaceIndexAdd"),
        "aten::index_copy_": _scatter_rule("InplaceIndexCopy", "ScatterUpdate", "ScatterUpdateAiCore"),
        "aten::index_fill_": _scatter_rule("InplaceIndexFill", "IndexFillD", "IndexFillDAiCore"),
        "aten::nonzero": _nonzero,
        "aten::masked_select": _masked_select,
        "aten::one_hot": _one_hot,
        "aten::cat": _cat,
        "aten::stack": _stack,
        "aten::repeat": _repeat,
        "aten::constant_pad_nd": _pad,
        "aten::flip": _rearrangement_rule("Flip", "ReverseV2"),
        "aten::roll": _rearrangement_rule("Roll", "Roll"),
        "aten::tril": _rearrangement_rule("Tril", "Tril", "Tril"),
        "aten::tril_": _rearrangement_rule("InplaceTril", "Tril", "Tril"),
        "aten::triu": _rearrangement_rule("Triu", "Triu", "Triu"),
        "aten::triu_": _rearrangement_rule("InplaceTriu", "Triu", "Triu"),
    }
