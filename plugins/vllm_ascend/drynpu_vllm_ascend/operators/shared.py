"""Operators that are the ones of torch_npu by another name, or with their arguments in another order."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import torch
from attrs import frozen


@frozen
class SharedOperator:
    """An operator that another one computes: its schema, and the name in ``torch.ops.npu``."""

    schema: str
    other: str

    @property
    def name(self) -> str:
        """The operator's name without its namespace."""
        return self.schema.partition("(")[0]


_LENGTHS: Final = "Tensor? actual_seq_lengths_query=None, Tensor? "
_WINDOW: Final = "int sparse_mode=3, int pre_tokens=9223372036854775807, int next_tokens=9223372036854775807"

OPERATORS: Final = (
    SharedOperator(
        "npu_gemma_rms_norm(Tensor x, Tensor gamma, float epsilon=1e-6) -> (Tensor y, Tensor rstd)",
        "npu_gemma_rms_norm",
    ),
    SharedOperator(
        f"npu_lightning_indexer(Tensor query, Tensor key, Tensor weights, *, {_LENGTHS}actual_seq_lengths_key=None,"
        " Tensor? block_table=None, str layout_query='BSND', str layout_key='BSND', int sparse_count=2048,"
        f" {_WINDOW}, bool return_value=False) -> (Tensor sparse_indices, Tensor sparse_values)",
        "npu_lightning_indexer",
    ),
    SharedOperator(
        "npu_sparse_flash_attention(Tensor query, Tensor key, Tensor value, Tensor sparse_indices, float scale_value,"
        f" *, Tensor? block_table=None, {_LENGTHS}actual_seq_lengths_kv=None, Tensor? query_rope=None,"
        " Tensor? key_rope=None, int sparse_block_size=1, str layout_query='BSND', str layout_kv='BSND',"
        f" {_WINDOW}, int attention_mode=2, bool return_softmax_lse=False)"
        " -> (Tensor attention_out, Tensor softmax_max, Tensor softmax_sum)",
        "npu_sparse_flash_attention",
    ),
    SharedOperator(
        "npu_dequant_swiglu_quant(Tensor x, *, Tensor? weight_scale=None, Tensor? activation_scale=None,"
        " Tensor? bias=None, Tensor? quant_scale=None, Tensor? quant_offset=None, Tensor? group_index=None,"
        " bool activate_left=True, int quant_mode=0, int swiglu_mode=0, float clamp_limit=0.0, float glu_alpha=1.0,"
        " float glu_bias=0.0) -> (Tensor y, Tensor scale)",
        "npu_dequant_swiglu_quant",
    ),
    SharedOperator(
        "npu_recurrent_gated_delta_rule(Tensor query, Tensor key, Tensor value, Tensor(a!) state, *, Tensor? beta=None,"
        " float? scale=None, Tensor? actual_seq_lengths=None, Tensor? ssm_state_indices=None,"
        " Tensor? num_accepted_tokens=None, Tensor? g=None, Tensor? gk=None) -> Tensor",
        "npu_recurrent_gated_delta_rule",
    ),
    SharedOperator(
        "npu_scatter_nd_update_v2(Tensor(a!) var, Tensor indices, Tensor update) -> ()", "npu_scatter_nd_update_"
    ),
)


def define(library: torch.library.Library, operator: SharedOperator) -> None:
    """Register an operator that calls the other one, on every device."""
    library.define(operator.schema)  # type: ignore[no-untyped-call]
    results = not operator.schema.endswith("-> ()")
    library.impl(operator.name, _calling(operator.other, results=results), "CompositeExplicitAutograd")  # type: ignore[no-untyped-call]


def _calling(other: str, *, results: bool) -> Callable[..., object]:
    def call(*args: object, **kwargs: object) -> object:
        outcome = getattr(torch.ops.npu, other)(*args, **kwargs)
        return outcome if results else None

    return call
