"""
Operators of fused kernels: attention over layouts and caches, products of groups, routing of tokens.

Operation counts of attention come from :mod:`drynpu.kernels.ops.attention`. Over a cache it is taken to reach as far
as the table of blocks, because lengths are data. A product of groups multiplies every row by one matrix.
"""

from __future__ import annotations

import math

from attrs import evolve, frozen

from drynpu.kernels._call import OperatorCall
from drynpu.kernels._specs import output_tiles
from drynpu.kernels._types import KernelPlan, TaskType, TensorDesc
from drynpu.kernels.ops.attention import attention_gradient_work, attention_tiles, attention_work

# Numbers of ``input_layout`` in MindSpore (FASInputLayoutMode); letters are batch, heads, sequence, size of a head, and
# hidden, which is heads times size.
_LAYOUTS = ("BSH", "BNSD", "SBH", "BSND", "TND", "TH", "NSD", "SH", "BNSD")
_CAUSAL = (2, 3)
"""``sparse_mode`` of masks that hide what comes later; half of the blocks are skipped."""


@frozen
class _Heads:
    """Sizes of attention: tokens of queries and keys, heads, and the widths of a head."""

    batch: int
    heads: int
    queries: int
    keys: int
    width: int
    value_width: int

    def pairs(self, *, causal: bool) -> int:
        """Return how many pairs of a query and a key are computed."""
        pairs = self.batch * self.heads * self.queries * self.keys
        return (pairs + self.batch * self.heads * self.queries) // 2 if causal else pairs


def _sizes(tensor: TensorDesc, layout: str, heads: int) -> dict[str, int] | None:
    """Return the sizes of a tensor by letter; packed sequences count as one."""
    if len(layout) != len(tensor.shape):
        return None
    sizes = {"B": 1, **dict(zip(layout.replace("T", "S"), tensor.shape, strict=True))}
    if "H" in sizes:
        sizes |= {"N": heads, "D": sizes["H"] // max(heads, 1)}
    return sizes


def _heads(call: OperatorCall) -> _Heads | None:
    query, key, value = (call.tensor(name) for name in ("query", "key", "value"))
    heads, number = call.whole("heads", 0), call.whole("layout", 0)
    if query is None or key is None or value is None or not heads or not 0 <= number < len(_LAYOUTS):
        return None
    layout = _LAYOUTS[number]
    q = _sizes(query, layout, heads)
    if q is None or not q.get("D"):
        return None
    shared = call.whole("key_heads", 0) or heads
    table = call.tensor("table")
    if table is not None:
        blocks = key.shape[1] if len(key.shape) == 3 else key.shape[2]
        return _Heads(q["B"], heads, q["S"], table.shape[-1] * blocks, q["D"], q["D"])
    if "H" in layout:
        shared = max(key.shape[-1] // q["D"], 1)
    k, v = _sizes(key, layout, shared), _sizes(value, layout, shared)
    if k is None or v is None:
        return None
    return _Heads(q["B"], heads, q["S"], k["S"], q["D"], v["D"])


def laid_out_attention(call: OperatorCall) -> KernelPlan | None:
    """``query key value heads key_heads layout mode table``."""
    heads = _heads(call)
    if heads is None:
        return None
    pairs = heads.pairs(causal=call.whole("mode", 0) in _CAUSAL)
    flops, vector_ops = attention_work(pairs, heads.width, heads.value_width)
    return _attention(call, flops, vector_ops, attention_tiles(heads.batch * heads.heads, heads.queries))


def laid_out_attention_gradient(call: OperatorCall) -> KernelPlan | None:
    """``query key value heads layout mode``."""
    heads = _heads(call)
    if heads is None:
        return None
    pairs = heads.pairs(causal=call.whole("mode", 0) in _CAUSAL)
    flops, vector_ops = attention_gradient_work(pairs, heads.width, heads.value_width)
    return _attention(call, flops, vector_ops, attention_tiles(heads.batch * heads.heads, heads.keys))


def cached_attention(call: OperatorCall) -> KernelPlan | None:
    """``query key table heads``: over a cache ``[blocks, size, heads, width]``, for all that the table lists."""
    query, key, table, heads = call.tensor("query"), call.tensor("key"), call.tensor("table"), call.whole("heads", 0)
    if query is None or key is None or table is None or not heads or len(key.shape) < 4 or len(table.shape) != 2:
        return None
    tokens, width = query.elements // max(heads * key.shape[3], 1), key.shape[3]
    pairs = tokens * heads * table.shape[1] * key.shape[1]
    flops, vector_ops = attention_work(pairs, width, width)
    return _attention(
        call, flops, vector_ops, attention_tiles(heads * table.shape[0], max(tokens // table.shape[0], 1))
    )


def _attention(call: OperatorCall, flops: int, vector_ops: int, tiles: int) -> KernelPlan:
    outputs = [out for out in call.outputs if out.elements]
    return call.plan(
        call.cube_kernel(
            call.binding.kernel,
            call.tensors(),
            outputs,
            flops=flops,
            vector_ops=vector_ops,
            tiles=tiles,
            task=TaskType.MIX_AIC,
        )
    )


def grouped_product(call: OperatorCall) -> KernelPlan | None:
    """``x``: rows by a matrix of their group each; with a result for each group, sums over its rows."""
    x, outputs = call.tensor("x"), [out for out in call.outputs if out.elements]
    if x is None or len(x.shape) != 2 or not outputs:
        return None
    # Rows times what they are summed over; in groups of it, each counts in one group alone.
    flops = 2 * x.shape[-1] * sum(math.prod(out.shape[-2:]) for out in outputs)
    tiles = sum(output_tiles(*out.shape[-2:]) * max(out.elements // math.prod(out.shape[-2:]), 1) for out in outputs)
    return call.plan(call.cube_kernel(call.binding.kernel, call.tensors(), outputs, flops=flops, tiles=tiles))


def expert_products(call: OperatorCall) -> KernelPlan | None:
    """``x first second``: two products of rows with matrices of their expert, which hold what each sums over."""
    x, weights = call.tensor("x"), [call.tensor("first"), call.tensor("second")]
    outputs = [out for out in call.outputs if out.elements]
    if x is None or not outputs or any(weight is None or len(weight.shape) < 2 for weight in weights):
        return None
    rows = x.elements // max(x.shape[-1], 1)
    sides = [weight.shape[-2:] for weight in weights if weight is not None]
    flops = sum(2 * rows * math.prod(side) for side in sides)
    tiles = sum(output_tiles(rows, side[-1]) for side in sides)
    return call.plan(call.cube_kernel(call.binding.kernel, call.tensors(), outputs, flops=flops, tiles=tiles))


def vector(call: OperatorCall) -> KernelPlan | None:
    """``x``: one kernel that reads all and writes all, with the binding's operations for each element of ``x``."""
    x, outputs = call.tensor("x"), [out for out in call.outputs if out.elements]
    if x is None or not outputs:
        return None
    cost = call.binding.operations
    return call.plan(call.kernel(call.binding.kernel, call.tensors(), outputs, cost=cost, over=x.elements))


def routed(call: OperatorCall) -> KernelPlan | None:
    """``x``: rows of it are brought to other places; as much of it is read as is written, and all of the rest."""
    x, outputs = call.tensor("x"), [out for out in call.outputs if out.elements]
    if x is None or not outputs:
        return None
    others = sum(t.size_bytes for t in call.tensors()) - x.size_bytes
    over = sum(out.elements for out in outputs)
    read = sum(out.size_bytes for out in outputs[:1]) + others
    return call.plan(call.kernel(call.binding.kernel, call.tensors(), outputs, cost=1, over=over, read=read))


def mixed_routed(call: OperatorCall) -> KernelPlan | None:
    """``x``: as :func:`routed`, by a kernel that runs on pairs of cores."""
    plan = routed(call)
    return plan and call.plan(*(evolve(kernel, task_type=TaskType.MIX_AIV) for kernel in plan.kernels))


def cache_rows(call: OperatorCall) -> KernelPlan | None:
    """``rows more``: rows are written into their places of caches that are not read."""
    rows = call.tensors("rows", "more")
    if not rows:
        return None
    size = sum(t.size_bytes for t in rows)
    return call.plan(call.kernel(call.binding.kernel, call.tensors(), call.outputs, cost=0, read=size, written=size))


def dropped(call: OperatorCall) -> KernelPlan | None:
    """``x``: a mask of bits by the unit that makes random numbers, then its use; both are returned."""
    x, out, mask = call.tensor("x"), call.output(0), call.output(1)
    if x is None or out is None or mask is None:
        return None
    draw = call.kernel("DSAGenBitMask", [], [mask], cost=0, task=TaskType.DSA)
    return call.plan(draw, call.kernel(call.binding.kernel, [x, mask], [out], cost=2, over=x.elements))


def random(call: OperatorCall) -> KernelPlan | None:
    """Draw numbers for the result, by the unit that makes random numbers."""
    out = call.output()
    return None if out is None else call.plan(call.kernel(call.binding.kernel, [], [out], cost=0, task=TaskType.DSA))
