"""Matrix products that exchange operands or results with other ranks while they compute."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

from drynpu_torch_operators.operators import errors
from drynpu_torch_operators.operators._call import Call
from drynpu_torch_operators.operators._hcom import Communicator
from drynpu_torch_operators.operators._launch import Launch, product
from drynpu_torch_operators.operators._numbers import torch_dtype, wide
from drynpu_torch_operators.operators._operator import SIXTEEN_BITS, Launches, NpuOperator
from drynpu_torch_operators.operators.matmul import exact_product, scale_numbers, weights

SCHEMAS = """
npu_mm_all_reduce_base(Tensor x1, Tensor x2, str hcom, *, str reduce_op='sum', Tensor? bias=None,
    Tensor? antiquant_scale=None, Tensor? antiquant_offset=None, Tensor? x3=None, Tensor? dequant_scale=None,
    Tensor? pertoken_scale=None, Tensor? comm_quant_scale_1=None, Tensor? comm_quant_scale_2=None,
    int antiquant_group_size=0, int comm_turn=0, int[]? group_sizes=None, int? y_dtype=None, int? x1_dtype=None,
    int? x2_dtype=None, int? dequant_scale_dtype=None, int? pertoken_scale_dtype=None, int comm_quant_mode=0,
    str? comm_mode=None) -> Tensor
npu_all_gather_base_mm(Tensor self, Tensor x2, str hcom, int world_size, *, Tensor? bias=None,
    Tensor? x1_scale=None, Tensor? x2_scale=None, int gather_index=0, bool gather_output=True, int comm_turn=0,
    ScalarType? output_dtype=None, str? comm_mode=None) -> (Tensor, Tensor)
npu_mm_reduce_scatter_base(Tensor self, Tensor x2, str hcom, int world_size, *, str reduce_op='sum',
    Tensor? bias=None, Tensor? x1_scale=None, Tensor? x2_scale=None, int comm_turn=0,
    ScalarType? output_dtype=None, str? comm_mode=None) -> Tensor
npu_matmul_all_to_all(Tensor x1, Tensor x2, str hcom, int world_size, Tensor? bias=None, int[]? all2all_axes=None,
    str? comm_mode=None) -> Tensor
npu_all_to_all_matmul(Tensor x1, Tensor x2, str hcom, int world_size, Tensor? bias=None, int[]? all2all_axes=None,
    bool all2all_out_flag=True, str? comm_mode=None) -> (Tensor, Tensor)
npu_alltoallv_gmm(Tensor gmm_x, Tensor gmm_weight, str hcom, int ep_world_size, int[] send_counts,
    int[] recv_counts, *, Tensor? send_counts_tensor=None, Tensor? recv_counts_tensor=None, Tensor? mm_x=None,
    Tensor? mm_weight=None, bool trans_gmm_weight=False, bool trans_mm_weight=False, bool permute_out_flag=False,
    str? comm_mode=None) -> (Tensor, Tensor, Tensor)
npu_gmm_alltoallv(Tensor gmm_x, Tensor gmm_weight, str hcom, int ep_world_size, int[] send_counts,
    int[] recv_counts, *, Tensor? send_counts_tensor=None, Tensor? recv_counts_tensor=None, Tensor? mm_x=None,
    Tensor? mm_weight=None, bool trans_gmm_weight=False, bool trans_mm_weight=False, str? comm_mode=None) ->
    (Tensor, Tensor)
"""


def _quantised(call: Call) -> Tensor:
    """Return the product of npu_mm_all_reduce_base with its scales, in FP32."""
    x1: Tensor = call["x1"]
    x2, small = call["x2"], call["antiquant_scale"]
    if small is not None:
        return wide(x1) @ wide(weights(x2, small, call["antiquant_offset"], x1.dtype, x1.shape[-1]))
    output, bias = exact_product(x1, x2), call["bias"]
    if bias is not None and bias.dtype is torch.int32:
        output = output + bias
    scale, rows = call["dequant_scale"], call["pertoken_scale"]
    output = output if scale is None else output * scale_numbers(scale)
    return output if rows is None else output * rows.float().reshape(*x1.shape[:-1], 1)


def _reduced_dtype(call: Call) -> torch.dtype:
    scale = call["dequant_scale"]
    default = call["x1"].dtype
    if scale is not None:
        default = torch.bfloat16 if scale.dtype is torch.bfloat16 else torch.float16
    return torch_dtype(call["y_dtype"], default)


def _all_reduce(call: Call) -> Tensor:
    """Return ``allreduce(x1 @ x2 + bias + x3)`` (aclnnQuantMatmulAllReduce): each rank adds its bias and its x3."""
    _sum_only(call["reduce_op"])
    hcom = Communicator.from_name(call["hcom"])
    bias, more = call["bias"], call["x3"]
    part = _quantised(call)
    part = part if bias is None or bias.dtype is torch.int32 else part + wide(bias)
    part = part if more is None else part + wide(more)
    return hcom.summed(part.to(_reduced_dtype(call)))


def _sum_only(kind: str) -> None:
    errors.require(kind == "sum", f"reduce_op supports 'sum' only, but got {kind!r}")


def _all_reduce_shapes(call: Call) -> Tensor:
    x1: Tensor = call["x1"]
    columns = call["x2"].shape[-1] * (8 if call["x2"].dtype is torch.int32 else 1)
    return x1.new_empty((*x1.shape[:-1], columns), dtype=_reduced_dtype(call))


def _scaled(x: Tensor, weight: Tensor, left: Tensor | None, right: Tensor | None, bias: Tensor | None) -> Tensor:
    """
    Return a product with a scale for each row and each column, and bias, in FP32.

    Without scales it equals the operator `matmul` exactly, because scripts compare the two.
    """
    if left is None and right is None and x.dtype == weight.dtype and x.dtype.is_floating_point:
        output = torch.matmul(x, weight)
        return output if bias is None else output + bias
    output = exact_product(x, weight)
    output = output if right is None else output * scale_numbers(right)
    output = output if left is None else output * left.float().reshape(-1, 1)
    return output if bias is None else output + wide(bias)


def _gather_dtype(x: Tensor, output: torch.dtype | None) -> torch.dtype:
    return output or (x.dtype if x.dtype.is_floating_point else torch.bfloat16)


def _all_gather(call: Call) -> tuple[Tensor, Tensor]:
    text = f"gather_index supports 0 only, but got {call['gather_index']}"
    errors.require(call["gather_index"] == 0, text)
    hcom = Communicator.from_name(call["hcom"], call["world_size"])
    x, left = call["self"], call["x1_scale"]
    whole = hcom.gathered(x)
    left = left if left is None or left.numel() == 1 else hcom.gathered(left.reshape(-1))
    output = _scaled(whole, call["x2"], left, call["x2_scale"], call["bias"])
    return output.to(_gather_dtype(x, call["output_dtype"])), whole if call["gather_output"] else x.new_empty(0)


def _all_gather_shapes(call: Call) -> tuple[Tensor, Tensor]:
    x: Tensor = call["self"]
    rows = x.shape[0] * call["world_size"]
    out = x.new_empty(rows, call["x2"].shape[-1], dtype=_gather_dtype(x, call["output_dtype"]))
    return out, x.new_empty(rows, x.shape[1]) if call["gather_output"] else x.new_empty(0)


def _reduce_scatter(call: Call) -> Tensor:
    _sum_only(call["reduce_op"])
    hcom = Communicator.from_name(call["hcom"], call["world_size"])
    x = call["self"]
    text = f"the rows of self ({x.shape[0]}) should be divisible by world_size ({call['world_size']})"
    errors.require(x.shape[0] % call["world_size"] == 0, text)
    output = _scaled(x, call["x2"], call["x1_scale"], call["x2_scale"], call["bias"])
    return hcom.summed_share(output.to(_gather_dtype(x, call["output_dtype"])))


def _reduce_scatter_shapes(call: Call) -> Tensor:
    x: Tensor = call["self"]
    rows = x.shape[0] // call["world_size"]
    return x.new_empty(rows, call["x2"].shape[-1], dtype=_gather_dtype(x, call["output_dtype"]))


def _axes_only(axes: Sequence[int] | None, only: list[int]) -> None:
    """Refuse other axes than those that the device has, which are the default."""
    errors.require(not axes or list(axes) == only, f"all2all_axes supports {only} only, but got {axes}")


def _matmul_all_to_all(
    x1: Tensor, x2: Tensor, hcom: str, world_size: int, bias: Tensor | None, all2all_axes: Sequence[int] | None
) -> Tensor:
    """Multiply, then give every rank its columns: [rows, columns] becomes [rows * ranks, columns / ranks]."""
    _axes_only(all2all_axes, [-1, -2])
    ranks = Communicator.from_name(hcom, world_size)
    output = _scaled(x1, x2, None, None, bias).to(x1.dtype)
    parts = torch.cat(output.chunk(world_size, 1))
    return ranks.exchanged(parts, [x1.shape[0]] * world_size, [x1.shape[0]] * world_size)


def _matmul_all_to_all_shapes(x1: Tensor, x2: Tensor, world_size: int) -> Tensor:
    return x1.new_empty(x1.shape[0] * world_size, x2.shape[-1] // world_size)


def _all_to_all_matmul(call: Call) -> tuple[Tensor, Tensor]:
    """Give every rank its rows, join their columns, and multiply; rows become fewer, the inner side longer."""
    x, size = call["x1"], call["world_size"]
    _axes_only(call["all2all_axes"], [-2, -1])
    ranks = Communicator.from_name(call["hcom"], size)
    share = x.shape[0] // size
    arrived = ranks.exchanged(x, [share] * size, [share] * size)
    joined = arrived.reshape(size, share, x.shape[1]).transpose(0, 1).flatten(1)
    output = _scaled(joined, call["x2"], None, None, call["bias"]).to(x.dtype)
    return output, joined.contiguous() if call["all2all_out_flag"] else x.new_empty(0)


def _all_to_all_matmul_shapes(call: Call) -> tuple[Tensor, Tensor]:
    x, size = call["x1"], call["world_size"]
    rows = x.shape[0] // size
    joined = x.new_empty(rows, x.shape[1] * size) if call["all2all_out_flag"] else x.new_empty(0)
    return x.new_empty(rows, call["x2"].shape[-1]), joined


def _counts(values: Sequence[int], ranks: int) -> Tensor:
    """Return counts of rows as [ranks, experts of each]."""
    text = f"the number of counts ({len(values)}) should be a multiple of ep_world_size ({ranks})"
    errors.require(ranks > 0 and len(values) % ranks == 0, text)
    return torch.tensor(list(values), dtype=torch.int64, device="cpu").reshape(ranks, -1)


def _by_expert(rows: Tensor, counts: Tensor) -> Tensor:
    """Return rows ordered by rank and expert in the order of expert and rank; *counts* is [ranks, experts]."""
    blocks = torch.split(rows, counts.flatten().tolist())
    ranks, experts = counts.shape
    return torch.cat([blocks[rank * experts + expert] for expert in range(experts) for rank in range(ranks)])


def _products(rows: Tensor, weight: Tensor, sizes: Sequence[int]) -> Tensor:
    parts = [wide(part) @ wide(weight[number]) for number, part in enumerate(torch.split(rows, list(sizes)))]
    return torch.cat(parts).to(rows.dtype)


def _weight(call: Call, unit: str) -> Tensor:
    """Return the weights of the experts (unit ``gmm``) or of the shared product (``mm``), turned where asked."""
    weight: Tensor = call[f"{unit}_weight"]
    return weight.transpose(-1, -2) if call[f"trans_{unit}_weight"] else weight


def _shared(call: Call) -> Tensor | None:
    x: Tensor | None = call["mm_x"]
    return None if x is None else (wide(x) @ wide(_weight(call, "mm"))).to(x.dtype)


def _alltoallv_gmm(call: Call) -> tuple[Any, ...]:
    ranks = Communicator.from_name(call["hcom"], call["ep_world_size"])
    sent, received = (_counts(call[name], ranks.size) for name in ("send_counts", "recv_counts"))
    arrived = ranks.exchanged(call["gmm_x"], sent.sum(1).tolist(), received.sum(1).tolist())
    rows = _by_expert(arrived, received)
    products = _products(rows, _weight(call, "gmm"), received.sum(0).tolist())
    return products, _shared(call), rows if call["permute_out_flag"] else None


def _alltoallv_gmm_shapes(call: Call) -> tuple[Any, ...]:
    x, rows = call["gmm_x"], sum(call["recv_counts"])
    products = x.new_empty(rows, _weight(call, "gmm").shape[-1])
    return products, _shared(call), x.new_empty(rows, x.shape[1]) if call["permute_out_flag"] else None


def _gmm_alltoallv(call: Call) -> tuple[Any, ...]:
    ranks = Communicator.from_name(call["hcom"], call["ep_world_size"])
    sent, received = (_counts(call[name], ranks.size) for name in ("send_counts", "recv_counts"))
    products = _products(call["gmm_x"], _weight(call, "gmm"), sent.sum(0).tolist())
    by_rank = _by_expert(products, sent.t().contiguous())
    return ranks.exchanged(by_rank, sent.sum(1).tolist(), received.sum(1).tolist()), _shared(call)


def _gmm_alltoallv_shapes(call: Call) -> tuple[Any, ...]:
    x = call["gmm_x"]
    return x.new_empty(sum(call["recv_counts"]), _weight(call, "gmm").shape[-1]), _shared(call)


def _plain_kernel(kernel: str, api: str, x: str, *, gathered: bool = False, joined: bool = False) -> Launches:
    """State the one kernel of a product; *gathered* rows and *joined* columns come from all ranks."""

    def kernels(call: Call) -> Iterable[Launch]:
        left, right = call[x], call["x2"]
        size = call.arguments.get("world_size") or 1
        inner = left.shape[-1] * (size if joined else 1)
        rows = left.numel() // left.shape[-1]
        rows = rows * size if gathered else rows // size if joined else rows
        columns = right.shape[-1] * (8 if right.dtype is torch.int32 else 1)
        yield product(kernel, call.inputs, [t for t in call.outputs if t.numel()], [(rows, inner, columns)], api=api)

    return kernels


def _expert_kernel(kernel: str, api: str, counts: str) -> Launches:
    def kernels(call: Call) -> Iterable[Launch]:
        weight = _weight(call, "gmm")
        sizes = _counts(call[counts], call["ep_world_size"]).sum(0).tolist()
        sides = [(size, weight.shape[1], weight.shape[2]) for size in sizes]
        if call["mm_x"] is not None:
            sides.append((call["mm_x"].shape[0], call["mm_x"].shape[1], _weight(call, "mm").shape[-1]))
        yield product(kernel, call.inputs, call.outputs, sides, api=api)

    return kernels


_SCALES = ("comm_quant_scale_1", "comm_quant_scale_2", "group_sizes", "comm_quant_mode")

OPERATORS: Mapping[str, NpuOperator] = {
    "npu_mm_all_reduce_base": NpuOperator(
        compute=_all_reduce,
        shapes=_all_reduce_shapes,
        kernels=_plain_kernel("MatmulAllReduce", "aclnnMatmulAllReduceV2", "x1"),
        left_out=_SCALES,
        dtypes=f"{SIXTEEN_BITS}, int8; weights int8, int4 in int32",
    ),
    "npu_all_gather_base_mm": NpuOperator(
        compute=_all_gather,
        shapes=_all_gather_shapes,
        kernels=_plain_kernel("AllGatherMatmul", "aclnnAllGatherMatmul", "self", gathered=True),
        dtypes=f"{SIXTEEN_BITS}, int8",
    ),
    "npu_mm_reduce_scatter_base": NpuOperator(
        compute=_reduce_scatter,
        shapes=_reduce_scatter_shapes,
        kernels=_plain_kernel("MatmulReduceScatter", "aclnnMatmulReduceScatter", "self"),
        dtypes=f"{SIXTEEN_BITS}, int8",
    ),
    "npu_matmul_all_to_all": NpuOperator(
        compute=_matmul_all_to_all,
        shapes=_matmul_all_to_all_shapes,
        kernels=_plain_kernel("MatmulAlltoAll", "aclnnMatmulAlltoAll", "x1"),
        dtypes=SIXTEEN_BITS,
    ),
    "npu_all_to_all_matmul": NpuOperator(
        compute=_all_to_all_matmul,
        shapes=_all_to_all_matmul_shapes,
        kernels=_plain_kernel("AlltoAllMatmul", "aclnnAlltoAllMatmul", "x1", joined=True),
        dtypes=SIXTEEN_BITS,
    ),
    "npu_alltoallv_gmm": NpuOperator(
        compute=_alltoallv_gmm,
        shapes=_alltoallv_gmm_shapes,
        kernels=_expert_kernel("AlltoAllvGroupedMatMul", "aclnnAlltoAllvGroupedMatMul", "recv_counts"),
        left_out=("send_counts_tensor", "recv_counts_tensor"),
        dtypes=SIXTEEN_BITS,
    ),
    "npu_gmm_alltoallv": NpuOperator(
        compute=_gmm_alltoallv,
        shapes=_gmm_alltoallv_shapes,
        kernels=_expert_kernel("GroupedMatMulAlltoAllv", "aclnnGroupedMatMulAlltoAllv", "send_counts"),
        left_out=("send_counts_tensor", "recv_counts_tensor"),
        dtypes=SIXTEEN_BITS,
    ),
}
