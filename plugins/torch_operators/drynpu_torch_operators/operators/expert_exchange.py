"""Mixture of experts across ranks: tokens are sent to the ranks of their experts, and the results come back."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import torch
from attrs import frozen
from torch import Tensor

from drynpu.kernels import TaskType
from drynpu_torch_operators.operators import errors
from drynpu_torch_operators.operators._call import Call
from drynpu_torch_operators.operators._hcom import Communicator
from drynpu_torch_operators.operators._launch import Launch
from drynpu_torch_operators.operators._numbers import quantised_by_row, torch_dtype, wide
from drynpu_torch_operators.operators._operator import Launches, NpuOperator

SCHEMAS = """
npu_moe_distribute_dispatch(Tensor x, Tensor expert_ids, str group_ep, int ep_world_size, int ep_rank_id,
    int moe_expert_num, *, Tensor? scales=None, Tensor? x_active_mask=None, Tensor? expert_scales=None,
    str group_tp="", int tp_world_size=0, int tp_rank_id=0, int expert_shard_type=0, int shared_expert_num=1,
    int shared_expert_rank_num=0, int quant_mode=0, int global_bs=0, int expert_token_nums_type=1) ->
    (Tensor, Tensor, Tensor, Tensor, Tensor, Tensor, Tensor)
npu_moe_distribute_dispatch_v2(Tensor x, Tensor expert_ids, str group_ep, int ep_world_size, int ep_rank_id,
    int moe_expert_num, *, Tensor? scales=None, Tensor? x_active_mask=None, Tensor? expert_scales=None,
    Tensor? elastic_info=None, Tensor? performance_info=None, str group_tp="", int tp_world_size=0,
    int tp_rank_id=0, int expert_shard_type=0, int shared_expert_num=1, int shared_expert_rank_num=0,
    int quant_mode=0, int global_bs=0, int expert_token_nums_type=1, str comm_alg="", int zero_expert_num=0,
    int copy_expert_num=0, int const_expert_num=0, int? y_dtype=None, int? x_dtype=None, int? scales_dtype=None) ->
    (Tensor, Tensor, Tensor, Tensor, Tensor, Tensor, Tensor)
npu_moe_distribute_combine(Tensor expand_x, Tensor expert_ids, Tensor expand_idx, Tensor ep_send_counts,
    Tensor expert_scales, str group_ep, int ep_world_size, int ep_rank_id, int moe_expert_num, *,
    Tensor? tp_send_counts=None, Tensor? x_active_mask=None, Tensor? activation_scale=None,
    Tensor? weight_scale=None, Tensor? group_list=None, Tensor? expand_scales=None, Tensor? shared_expert_x=None,
    str group_tp="", int tp_world_size=0, int tp_rank_id=0, int expert_shard_type=0, int shared_expert_num=1,
    int shared_expert_rank_num=0, int global_bs=0, int out_dtype=0, int comm_quant_mode=0,
    int group_list_type=0) -> Tensor
npu_moe_distribute_combine_v2(Tensor expand_x, Tensor expert_ids, Tensor assist_info_for_combine,
    Tensor ep_send_counts, Tensor expert_scales, str group_ep, int ep_world_size, int ep_rank_id,
    int moe_expert_num, *, Tensor? tp_send_counts=None, Tensor? x_active_mask=None, Tensor? expand_scales=None,
    Tensor? shared_expert_x=None, Tensor? elastic_info=None, Tensor? ori_x=None, Tensor? const_expert_alpha_1=None,
    Tensor? const_expert_alpha_2=None, Tensor? const_expert_v=None, Tensor? performance_info=None, str group_tp="",
    int tp_world_size=0, int tp_rank_id=0, int expert_shard_type=0, int shared_expert_num=1,
    int shared_expert_rank_num=0, int global_bs=0, int comm_quant_mode=0, str comm_alg="", int zero_expert_num=0,
    int copy_expert_num=0, int const_expert_num=0) -> Tensor
"""

_UNQUANTISED, _DYNAMIC = 0, 2
_CUMULATIVE, _COUNTS = 0, 1
_ASSIST_WORDS = 128
"""INT32 words for each received token; the first three name its rank, its number there and which choice it was."""
_RANKS_OF_NODE = 8
"""Ranks of a server, whose number says how many more counts the layered exchange of the A2 returns."""


@frozen
class Sizes:
    """Ranks, experts of each of them, tokens and choices of this rank, and the most tokens that one can receive."""

    ranks: int
    experts: int
    tokens: int
    choices: int
    capacity: int
    all_tokens: int

    @classmethod
    def from_call(cls, call: Call) -> Sizes:
        """Return the sizes of a call. Raises RuntimeError for those that the vendor rejects or drynpu leaves out."""
        ranks, rank, shared = call["ep_world_size"], call["ep_rank_id"], call["shared_expert_rank_num"]
        text = f"ep_rank_id should be in [0, ep_world_size), but got ep_world_size={ranks}, ep_rank_id={rank}."
        errors.require(0 <= rank < ranks, text, errors.VALUE)
        text = "drynpu does not compute ranks of shared experts (shared_expert_rank_num); use shared_expert_x"
        errors.require(shared == 0, text, errors.NOT_SUPPORTED)
        text = f"drynpu does not compute tensor parallel experts; tp_world_size is {call['tp_world_size']}, give 1"
        errors.require(call["tp_world_size"] < 2, text, errors.NOT_SUPPORTED)
        text = f"moe_expert_num ({call['moe_expert_num']}) should be divisible by ep_world_size ({ranks})"
        errors.require(call["moe_expert_num"] % ranks == 0, text)
        experts = call["moe_expert_num"] // ranks
        tokens, choices = call["expert_ids"].shape
        total = call["global_bs"] or tokens * ranks
        return cls(ranks, experts, tokens, choices, total * min(experts, choices), total)


def _active(call: Call) -> Tensor:
    """Return which choices of which tokens are sent, [tokens, choices]."""
    ids: Tensor = call["expert_ids"]
    mask: Tensor | None = call["x_active_mask"]
    if mask is None:
        return torch.ones_like(ids, dtype=torch.bool)
    rows = mask.bool()
    return (rows.unsqueeze(-1) if rows.dim() == 1 else rows).expand(ids.shape)


def _sent_choices(call: Call) -> Tensor:
    """Return the flat numbers of the choices that are sent, ordered by expert and, for one expert, by token."""
    ids = torch.where(_active(call), call["expert_ids"].long(), call["moe_expert_num"]).flatten()
    order = ids.argsort(stable=True)
    return order[: int((ids < call["moe_expert_num"]).sum())]


def _counts(call: Call, sizes: Sizes, choices: Tensor) -> Tensor:
    """Return how many tokens this rank sends to each expert, [ranks, experts of each]."""
    experts = call["expert_ids"].long().flatten()[choices]
    return torch.bincount(experts, minlength=sizes.ranks * sizes.experts).reshape(sizes.ranks, sizes.experts)


def _order_by_expert(received: Tensor) -> Tensor:
    """Return the order of received rows (rank, then expert) that sorts them by expert, then rank."""
    experts = torch.arange(received.shape[1]).repeat(received.shape[0]).repeat_interleave(received.flatten())
    return experts.argsort(stable=True)


def _padded(rows: Tensor, length: int) -> Tensor:
    return torch.cat((rows, rows.new_zeros(length - rows.shape[0], *rows.shape[1:])))


def _rows_to_send(call: Call, choices: Tensor) -> tuple[Tensor, Tensor]:
    """Return the rows of chosen tokens and their scales, which are 0 where rows are not quantised."""
    rows = call["x"][choices // call["expert_ids"].shape[1]]
    if call["quant_mode"] == _UNQUANTISED:
        return rows, rows.new_zeros(rows.shape[0], dtype=torch.float32)
    scaled = wide(rows)
    if call["scales"] is not None:
        scaled = scaled * call["scales"].float()[call["expert_ids"].long().flatten()[choices]]
    return quantised_by_row(scaled, torch.int8)


def _dispatch(call: Call) -> tuple[Tensor, ...]:
    _check_dispatch(call)
    sizes = Sizes.from_call(call)
    hcom = Communicator.from_name(call["group_ep"], sizes.ranks)
    choices = _sent_choices(call)
    sent = _counts(call, sizes, choices)
    received = hcom.exchanged_counts(sent)
    lengths = sent.sum(1).tolist(), received.sum(1).tolist()
    order = _order_by_expert(received)
    places = torch.stack((torch.full_like(choices, hcom.rank), choices // sizes.choices, choices % sizes.choices), 1)
    weights = call["expert_scales"]
    sources = [*_rows_to_send(call, choices), places.int()]
    if weights is not None:
        sources.append(weights.float().flatten()[choices])
    arrived = [hcom.exchanged(source, *lengths)[order] for source in sources]
    rows, scales, places = arrived[:3]
    by_expert = received.t()
    counts = by_expert.sum(1)
    ends = by_expert.flatten().cumsum(0).int()
    outputs = _dispatch_shapes(call)
    return (
        _padded(rows, sizes.capacity).to(outputs[0].dtype),
        _padded(scales, sizes.capacity),
        _assist(places, choices, outputs[2]),
        counts.cumsum(0) if call["expert_token_nums_type"] == _CUMULATIVE else counts,
        _padded(ends, outputs[4].numel()),
        torch.full_like(outputs[5], int(counts.sum())),
        _padded(arrived[3], sizes.capacity) if weights is not None else outputs[6],
    )


def _assist(places: Tensor, choices: Tensor, like: Tensor) -> Tensor:
    """Return what the combining operator is given: the place of each received row, or the order of the sent choices."""
    assist = torch.zeros_like(like)
    if like.numel() >= places.shape[0] * _ASSIST_WORDS and like.numel() % _ASSIST_WORDS == 0:
        assist.reshape(-1, _ASSIST_WORDS)[: places.shape[0], :3] = places
    else:
        assist[: choices.shape[0]] = choices.int()
    return assist


def _check_dispatch(call: Call) -> None:
    text = "the expert_token_nums_type should be 0 or 1"
    errors.require(call["expert_token_nums_type"] in (_CUMULATIVE, _COUNTS), text, errors.VALUE)
    text = f"drynpu computes quant_mode 0 and 2 of the exchange, but got {call['quant_mode']}"
    errors.require(call["quant_mode"] in (_UNQUANTISED, _DYNAMIC), text, errors.NOT_SUPPORTED)


def _dispatch_shapes(call: Call) -> tuple[Tensor, ...]:
    sizes, x = Sizes.from_call(call), call["x"]
    default = x.dtype if call["quant_mode"] == _UNQUANTISED else torch.int8
    counts, weights = sizes.ranks * sizes.experts, call["expert_scales"]
    if weights is not None:
        counts += sizes.all_tokens * 2 * sizes.choices * (sizes.ranks // _RANKS_OF_NODE)
    second = "comm_alg" in call.arguments
    words = sizes.tokens * sizes.choices
    return (
        x.new_empty(sizes.capacity, x.shape[1], dtype=torch_dtype(call.arguments.get("y_dtype"), default)),
        x.new_empty(sizes.capacity, dtype=torch.float32),
        x.new_empty(max(words, sizes.capacity * _ASSIST_WORDS) if second else words, dtype=torch.int32),
        x.new_empty(sizes.experts, dtype=torch.int64),
        x.new_empty(counts, dtype=torch.int32),
        x.new_empty(call["tp_world_size"], dtype=torch.int32),
        x.new_empty(sizes.capacity if weights is not None else 0, dtype=torch.float32),
    )


def _combine(call: Call) -> Tensor:
    sizes = Sizes.from_call(call)
    hcom = Communicator.from_name(call["group_ep"], sizes.ranks)
    choices = _sent_choices(call)
    sent = _counts(call, sizes, choices)
    ends = call["ep_send_counts"].long()[: sizes.ranks * sizes.experts]
    received = ends.diff(prepend=ends.new_zeros(1)).reshape(sizes.experts, sizes.ranks).t()
    order = _order_by_expert(received.contiguous())
    rows = call["expand_x"][: len(order)]
    by_rank = torch.empty_like(rows)
    by_rank[order] = rows
    returned = hcom.exchanged(by_rank, received.sum(1).tolist(), sent.sum(1).tolist())
    weight = wide(call["expert_scales"]).flatten()[choices].unsqueeze(1)
    out: Tensor = wide(rows).new_zeros(sizes.tokens, rows.shape[1])
    out.index_add_(0, choices // sizes.choices, wide(returned) * weight)
    shared = call["shared_expert_x"]
    out = out if shared is None else out + wide(shared).reshape(out.shape)
    return out.to(call["expand_x"].dtype)


def _combine_shapes(expand_x: Tensor, expert_ids: Tensor) -> Tensor:
    return expand_x.new_empty(expert_ids.shape[0], expand_x.shape[1])


def _moving(kernel: str, tokens: str) -> Launches:
    """State the kernel that sends as many rows as there are choices; *tokens* names what holds the rows."""

    def kernels(call: Call) -> Iterable[Launch]:
        width = call[tokens].shape[1]
        moved = call["expert_ids"].numel() * width
        size = moved * call[tokens].element_size()
        options = {"cost": 2, "over": moved, "read": size, "written": size, "task": TaskType.MIX_AIV}
        outputs = [t for t in call.outputs if t.numel()]
        yield Launch(kernel=kernel, inputs=call.inputs, outputs=outputs, **options)

    return kernels


_EXPERTS = ("zero_expert_num", "copy_expert_num", "const_expert_num")
_SHARDS = ("expert_shard_type",)
_INFO = ("elastic_info", "performance_info")
_CONSTANTS = ("ori_x", "const_expert_alpha_1", "const_expert_alpha_2", "const_expert_v", "comm_quant_mode")
_TYPES = "float16, bfloat16, int8"


def _dispatching(kernel: str, left_out: tuple[str, ...]) -> NpuOperator:
    return NpuOperator(
        compute=_dispatch, shapes=_dispatch_shapes, kernels=_moving(kernel, "x"), left_out=left_out, dtypes=_TYPES
    )


def _combining(kernel: str, left_out: tuple[str, ...]) -> NpuOperator:
    return NpuOperator(
        compute=_combine, shapes=_combine_shapes, kernels=_moving(kernel, "expand_x"), left_out=left_out, dtypes=_TYPES
    )


OPERATORS: Mapping[str, NpuOperator] = {
    "npu_moe_distribute_dispatch": _dispatching("MoeDistributeDispatch", _SHARDS),
    "npu_moe_distribute_dispatch_v2": _dispatching("MoeDistributeDispatchV2", (*_SHARDS, *_INFO, *_EXPERTS)),
    "npu_moe_distribute_combine": _combining(
        "MoeDistributeCombine",
        (*_SHARDS, "activation_scale", "weight_scale", "group_list", "out_dtype", "comm_quant_mode", "group_list_type"),
    ),
    "npu_moe_distribute_combine_v2": _combining("MoeDistributeCombineV2", (*_SHARDS, *_INFO, *_EXPERTS, *_CONSTANTS)),
}
