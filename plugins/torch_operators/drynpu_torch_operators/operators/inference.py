"""Attention of inference: prompts, single queries, and the fused form of both, with paged caches."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import torch
from torch import Tensor

from drynpu.kernels import TaskType, ops
from drynpu_torch_operators.operators._call import Call
from drynpu_torch_operators.operators._infer import Inference, Piece
from drynpu_torch_operators.operators._launch import Launch, no_kernels
from drynpu_torch_operators.operators._numbers import saturated
from drynpu_torch_operators.operators._operator import Launches, NpuOperator
from drynpu_torch_operators.operators._softmax import attend
from drynpu_torch_operators.operators.matmul import scale_numbers

_FIRST = """
Tensor query, Tensor key, Tensor value, *, Tensor? pse_shift=None, Tensor? atten_mask=None,
int[]? actual_seq_lengths=None, int[]? actual_seq_lengths_kv=None, Tensor? dequant_scale1=None,
Tensor? quant_scale1=None, Tensor? dequant_scale2=None, Tensor? quant_scale2=None, Tensor? quant_offset2=None,
Tensor? antiquant_scale=None, Tensor? antiquant_offset=None, Tensor? key_antiquant_scale=None,
Tensor? key_antiquant_offset=None, Tensor? value_antiquant_scale=None, Tensor? value_antiquant_offset=None,
Tensor? block_table=None, Tensor? query_padding_size=None, Tensor? kv_padding_size=None,
Tensor? key_shared_prefix=None, Tensor? value_shared_prefix=None, int[]? actual_shared_prefix_len=None,
Tensor? query_rope=None, Tensor? key_rope=None, Tensor? key_rope_antiquant_scale=None, int num_heads=1,
float scale=1.0, int pre_tokens=2147483647, int next_tokens=2147483647, str input_layout="BSH",
int num_key_value_heads=0, int sparse_mode=0, int inner_precise=0, int block_size=0, int antiquant_mode=0,
int key_antiquant_mode=0, int value_antiquant_mode=0, bool softmax_lse_flag=False
"""
_TYPES = " ".join(
    f"int? {name}_dtype=None,"
    for name in (
        *("query", "key", "value", "query_rope", "key_rope", "key_shared_prefix", "value_shared_prefix"),
        *("dequant_scale_query", "dequant_scale_key", "dequant_scale_value", "dequant_scale_key_rope"),
    )
)
_SECOND = f"""
Tensor query, Tensor key, Tensor value, *, Tensor? query_rope=None, Tensor? key_rope=None, Tensor? pse_shift=None,
Tensor? atten_mask=None, int[]? actual_seq_qlen=None, int[]? actual_seq_kvlen=None, Tensor? block_table=None,
Tensor? dequant_scale_query=None, Tensor? dequant_scale_key=None, Tensor? dequant_offset_key=None,
Tensor? dequant_scale_value=None, Tensor? dequant_offset_value=None, Tensor? dequant_scale_key_rope=None,
Tensor? quant_scale_out=None, Tensor? quant_offset_out=None, Tensor? quant_scale_p=None,
Tensor? learnable_sink=None, int num_query_heads=1, int num_key_value_heads=0, float softmax_scale=1.0,
int pre_tokens=2147483647, int next_tokens=2147483647, str input_layout="BSH", int sparse_mode=0,
int block_size=0, int query_quant_mode=0, int key_quant_mode=0, int value_quant_mode=0, int inner_precise=0,
bool return_softmax_lse=False, {_TYPES} int? out_dtype=None
"""
_OUT = "Tensor? workspace=None, Tensor(a!) attention_out, Tensor(b!) softmax_lse"
_FUSED, _FUSED_SECOND = "npu_fused_infer_attention_score", "npu_fused_infer_attention_score_v2"


def _one_line(text: str) -> str:
    return " ".join(text.split())


SCHEMAS = f"""
{_FUSED}({_one_line(_FIRST)}) -> (Tensor, Tensor)
{_FUSED}.out({_one_line(_FIRST)}, {_OUT}) -> (Tensor(a!), Tensor(b!))
_{_FUSED}_get_max_workspace({_one_line(_FIRST)}) -> Tensor
{_FUSED_SECOND}({_one_line(_SECOND)}) -> (Tensor, Tensor)
{_FUSED_SECOND}.out({_one_line(_SECOND)}, {_OUT}) -> (Tensor(a!), Tensor(b!))
_{_FUSED_SECOND}_get_max_workspace({_one_line(_SECOND)}) -> Tensor
npu_prompt_flash_attention(Tensor query, Tensor key, Tensor value, *, Tensor? padding_mask=None,
    Tensor? atten_mask=None, Tensor? pse_shift=None, int[]? actual_seq_lengths=None, Tensor? deq_scale1=None,
    Tensor? quant_scale1=None, Tensor? deq_scale2=None, Tensor? quant_scale2=None, Tensor? quant_offset2=None,
    int num_heads=1, float scale_value=1.0, int pre_tokens=2147483647, int next_tokens=0, str input_layout="BSH",
    int num_key_value_heads=0, int[]? actual_seq_lengths_kv=None, int sparse_mode=0) -> Tensor
npu_incre_flash_attention(Tensor query, Tensor key, Tensor value, *, Tensor? padding_mask=None,
    Tensor? atten_mask=None, Tensor? pse_shift=None, int[]? actual_seq_lengths=None, Tensor? antiquant_scale=None,
    Tensor? antiquant_offset=None, Tensor? block_table=None, Tensor? dequant_scale1=None, Tensor? quant_scale1=None,
    Tensor? dequant_scale2=None, Tensor? quant_scale2=None, Tensor? quant_offset2=None,
    Tensor? kv_padding_size=None, int num_heads=1, float scale_value=1.0, str input_layout="BSH",
    int num_key_value_heads=0, int block_size=0, int inner_precise=1) -> Tensor
"""


def _fused(call: Call) -> tuple[Tensor, Tensor]:
    inference = Inference.from_call(call)
    pieces = list(inference.pieces())
    attended = [attend(piece.stack, piece.scoring, piece.mask.kept(piece.stack)) for piece in pieces]
    out = inference.joined([each.out for each in attended], pieces)
    if inference.output_scale is not None:
        scaled = out * scale_numbers(inference.output_scale)
        offset = inference.output_offset
        out = saturated(scaled if offset is None else scaled + offset.float(), torch.int8)
    if not inference.wants_sums:
        return out.to(inference.dtype), out.new_empty(0, dtype=torch.float32)
    return out.to(inference.dtype), inference.joined_sums([each.log_sum for each in attended], pieces).float()


def _fused_shapes(call: Call) -> tuple[Tensor, Tensor]:
    return Inference.from_call(call).empty_results()


def _fused_out(call: Call) -> tuple[Tensor, Tensor]:
    out, sums = _fused(call)
    call["attention_out"].copy_(out.reshape(call["attention_out"].shape))
    if sums.numel():
        call["softmax_lse"].copy_(sums.reshape(call["softmax_lse"].shape))
    return call["attention_out"], call["softmax_lse"]


def _out_shapes(call: Call) -> tuple[Tensor, Tensor]:
    return call["attention_out"], call["softmax_lse"]


def _workspace(query: Tensor) -> Tensor:
    return query.new_empty(1, dtype=torch.uint8)


def _single(call: Call) -> Tensor:
    return _fused(call)[0]


def _single_shapes(call: Call) -> Tensor:
    return _fused_shapes(call)[0]


def _kernels(kernel: str, api: str) -> Launches:
    def launches(call: Call) -> Iterable[Launch]:
        inference = Inference.from_call(call)
        pieces = list(inference.pieces())
        flops, vector_ops = (sum(parts) for parts in zip((0, 0), *map(_work, pieces), strict=True))
        heads = sum(piece.stack.query.shape[1] for piece in pieces)
        outputs = [t for t in call.outputs if t.numel()]
        yield Launch(
            kernel=kernel,
            inputs=call.inputs,
            outputs=outputs,
            api=api,
            task=TaskType.MIX_AIC,
            cost=1,
            over=vector_ops,
            read=inference.bytes_read(call.inputs, pieces),
            flops=flops,
            tiles=ops.attention_tiles(heads, max((p.stack.lengths[0] for p in pieces), default=1)),
        )

    return launches


def _work(piece: Piece) -> tuple[int, int]:
    stack = piece.stack
    return ops.attention_work(piece.mask.pairs(stack), stack.query.shape[-1], stack.value.shape[-1])


_API = "aclnnFusedInferAttentionScoreV3"
_CORE = _kernels("FusedInferAttentionScore", _API)
_DTYPES = "float32, float16, bfloat16; caches int8; output int8"


_PADDING = ("query_padding_size", "kv_padding_size")
_SCALES_INSIDE = ("dequant_scale1", "quant_scale1", "dequant_scale2")
"""Scales between the two products of attention in INT8."""
_PREFIX = ("key_shared_prefix", "value_shared_prefix", "actual_shared_prefix_len")


def _form(left_out: tuple[str, ...], *, out: bool) -> NpuOperator:
    compute, shapes = (_fused_out, _out_shapes) if out else (_fused, _fused_shapes)
    return NpuOperator(compute=compute, shapes=shapes, kernels=_CORE, dtypes=_DTYPES, left_out=left_out)


_FIRST_LEFT_OUT = (*_SCALES_INSIDE, *_PADDING, *_PREFIX)
_SECOND_LEFT_OUT = ("quant_scale_p",)


_WORKSPACE = NpuOperator(compute=_workspace, kernels=no_kernels, dtypes=_DTYPES)

OPERATORS: Mapping[str, NpuOperator] = {
    _FUSED: _form(_FIRST_LEFT_OUT, out=False),
    f"{_FUSED}.out": _form(_FIRST_LEFT_OUT, out=True),
    f"_{_FUSED}_get_max_workspace": _WORKSPACE,
    _FUSED_SECOND: _form(_SECOND_LEFT_OUT, out=False),
    f"{_FUSED_SECOND}.out": _form(_SECOND_LEFT_OUT, out=True),
    f"_{_FUSED_SECOND}_get_max_workspace": _WORKSPACE,
    "npu_prompt_flash_attention": NpuOperator(
        compute=_single,
        shapes=_single_shapes,
        kernels=_kernels("PromptFlashAttention", "aclnnPromptFlashAttentionV3"),
        left_out=("padding_mask", "deq_scale1", "quant_scale1", "deq_scale2"),
        dtypes=_DTYPES,
    ),
    "npu_incre_flash_attention": NpuOperator(
        compute=_single,
        shapes=_single_shapes,
        kernels=_kernels("IncreFlashAttention", "aclnnIncreFlashAttentionV4"),
        left_out=("padding_mask", *_SCALES_INSIDE, "kv_padding_size"),
        dtypes=_DTYPES,
    ),
}
