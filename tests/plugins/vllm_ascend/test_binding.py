"""Every operator of vLLM-Ascend's binding is served, or refused by a line that names it."""

from __future__ import annotations

from types import ModuleType

import pytest

from drynpu_vllm_ascend.operators import operator_names

BINDING = [
    "batch_matmul_transpose",
    "bgmv_expand",
    "bgmv_shrink",
    "chunk_fwd_o",
    "chunk_gated_delta_rule_fwd_h",
    "compressor",
    "compressor_metadata",
    "compressor_metadata_out",
    "device_print",
    "device_print_tensor",
    "dispatch_ffn_combine",
    "get_npu_storage_shape",
    "grouped_matmul_swiglu_quant",
    "grouped_matmul_swiglu_quant_v2",
    "grouped_matmul_swiglu_quant_weight_nz",
    "grouped_matmul_swiglu_quant_weight_nz_tensor_list",
    "indexer_compress_epilog_v2",
    "inplace_partial_rotary_mul",
    "kv_compress_epilog",
    "mla_preprocess",
    "moe_gating_top_k",
    "moe_gating_top_k_hash",
    "moe_grouped_matmul",
    "npu_add_rms_norm_bias",
    "npu_causal_conv1d_310",
    "npu_causal_conv1d_custom",
    "npu_copy_and_expand_eagle_inputs",
    "npu_dequant_swiglu_quant",
    "npu_gemma_rms_norm",
    "npu_hc_post",
    "npu_hc_pre_v2",
    "npu_k2q_csr",
    "npu_kv_quant_sparse_attn_sharedkv",
    "npu_kv_quant_sparse_attn_sharedkv_metadata",
    "npu_kv_quant_sparse_flash_attention",
    "npu_lightning_indexer",
    "npu_lightning_indexer_quant",
    "npu_recurrent_gated_delta_rule",
    "npu_recurrent_gated_delta_rule_310",
    "npu_rms_norm_dynamic_quant",
    "npu_scatter_nd_update_v2",
    "npu_sign_bits_pack",
    "npu_sparse_attention_score",
    "npu_sparse_attention_score_prefill",
    "npu_sparse_attn_sharedkv",
    "npu_sparse_attn_sharedkv_metadata",
    "npu_sparse_flash_attention",
    "npu_swiglu_group_quant",
    "npu_vllm_quant_lightning_indexer",
    "npu_vllm_quant_lightning_indexer_metadata",
    "sgmv_expand",
    "sgmv_shrink",
    "store_kv_block",
    "store_kv_block_metadata",
    "swap_blocks",
    "swap_blocks_batch",
    "transpose_kv_cache_by_block",
]
"""All operators that csrc/torch_binding.cpp of commit 182b75ea84 defines, for every chip."""
SERVED = [name.partition("::")[2] for name in operator_names()]


def test_nothing_is_served_that_the_binding_does_not_have() -> None:
    assert len(BINDING) == 57
    assert set(SERVED) <= set(BINDING)
    assert len(SERVED) == len(set(SERVED))


@pytest.mark.parametrize("name", BINDING)
def test_an_operator_is_served_or_refused_by_its_name(operators: ModuleType, name: str) -> None:
    if name in SERVED:
        assert getattr(operators, name).default._schema.name == f"_C_ascend::{name}"
        return
    with pytest.raises(AttributeError, match=rf"^torch\.ops\._C_ascend\.{name}: drynpu does not compute"):
        getattr(operators, name)
