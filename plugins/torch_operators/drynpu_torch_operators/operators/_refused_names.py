"""Names of the operators that drynpu does not compute, with what does the same."""

from __future__ import annotations

from typing import Final

_NAMES: Final = {
    "use torchvision.ops or the formula of the vendor's page": """
        npu_grid_assign_positive npu_nms_rotated npu_normalize_batch npu_random_choice_with_mask
        npu_rotated_box_decode npu_rotated_box_encode npu_rotated_iou npu_rotated_overlaps npu_sub_sample
        crop_and_resize decode_jpeg image_normalize img_to_tensor
    """,
    "use torch.nn.functional.conv1d, conv2d, conv3d or conv_transpose2d": """
        npu_conv2d npu_conv3d npu_conv_transpose2d npu_convolution npu_convolution_transpose npu_fused_causal_conv1d
        npu_fused_causal_conv1d_v2 npu_masked_causal_conv1d
    """,
    "use torch.nn.LSTM or torch.nn.GRU": "npu_gru npu_lstm npu_lstm_cell npu_lstm_data",
    "use torch.nn.functional.scaled_dot_product_attention, or npu_fusion_attention": """
        npu_fused_attention_layernorm_qkv_fwd npu_fused_attention_qkv_grad npu_fused_floyd_attention
        npu_quant_fusion_attention npu_nsa_compress npu_nsa_compress_attention
        npu_nsa_compress_attention_infer npu_nsa_compress_infer npu_nsa_select_attention
        npu_nsa_select_attention_infer npu_kv_quant_sparse_flash_attention npu_ring_mla _npu_paged_attention_quant
    """,
    "compute the scores with matmul and relu, and choose with torch.topk": """
        npu_quant_lightning_indexer npu_sparse_lightning_indexer_grad_kl_loss npu_dense_lightning_indexer_grad_kl_loss
        npu_dense_lightning_indexer_softmax_lse
    """,
    "compute it step by step: matmul, npu_rms_norm, npu_rotary_mul and a write to the cache": """
        npu_mla_prolog_v3_functional npu_mla_preprocess npu_qkv_rms_norm_rope_cache npu_dequant_rope_quant_kvcache
        npu_rope_quant_kvcache
    """,
    "use the recurrence of its documentation, one token after the other": """
        npu_recompute_w_u_fwd npu_chunk_gated_delta_rule_fwd_h npu_chunk_gated_delta_rule_bwd_dhu npu_chunk_fwd_o
        npu_chunk_bwd_dv_local npu_chunk_bwd_dqkwg npu_prepare_wy_repr_bwd_full npu_prepare_wy_repr_bwd_da npu_mhc_pre
        npu_mhc_post npu_mhc_sinkhorn
    """,
    "use the collective of torch.distributed and the matmul one after the other": """
        npu_all_gather_quant_mm npu_all_to_all_quant_matmul npu_alltoallv_quant_gmm npu_quant_gmm_alltoallv
        npu_quant_matmul_all_to_all npu_quant_mm_reduce_scatter npu_moe_distribute_dispatch_setup
        npu_moe_distribute_dispatch_teardown npu_moe_distribute_combine_setup npu_moe_distribute_combine_teardown
        npu_moe_distribute_combine_add_rms_norm npu_attention_to_ffn npu_ffn_to_attention npu_attention_worker_combine
        npu_ffn_worker_batching attention_worker_scheduler ffn_worker_scheduler
    """,
    "use npu_dtype_cast, npu_dynamic_quant or npu_dynamic_mx_quant, and npu_quant_matmul": """
        npu_add_quant_gmm npu_add_quant_gmm_ npu_add_quant_matmul npu_add_quant_matmul_ npu_anti_mx_quant
        npu_dual_level_quant_matmul npu_dynamic_dual_level_mx_quant npu_gelu_quant
        npu_grouped_dynamic_block_quant npu_matmul_compress_dequant npu_quant_matmul_gelu npu_quant_matmul_reduce_sum
        npu_quant_max npu_rms_norm_quant_v2 npu_rotate_quant npu_swiglu_group_quant npu_swiglu_mx_quant
        npu_swiglu_mx_quant_with_dual_axis npu_transpose_quant_batchmatmul npu_weight_quant_preprocess npu_ifmr
    """,
    "use torch.matmul": "npu_fused_matmul npu_batch_gather_matmul npu_batch_gather_matmul_",
    "use npu_moe_init_routing_v2, npu_moe_token_permute or npu_moe_token_unpermute": """
        npu_moe_init_routing_quant npu_moe_update_expert
    """,
    "use indexing, torch.gather, torch.scatter or torch.as_strided": """
        npu_scatter_list npu_scatter_list_ npu_stride_copy npu_view_copy
        npu_advance_step_flashattn npu_scatter
    """,
    "use torch.multinomial on the probabilities of npu_top_k_top_p": "npu_top_k_top_p_sample",
    "use Tensor.exponential_": "npu_sim_exponential_",
    "it serves encrypted models or diagnoses hardware": """
        obfuscation_calculate obfuscation_finalize obfuscation_initialize _npu_silent_check _npu_silent_check_v2
        _npu_silent_check_v3
    """,
    "use npu_fused_infer_attention_score with block_table": "npu_self_attention_prefix_encoder",
    "use npu_grouped_matmul, npu_swiglu and npu_dynamic_quant one after the other": "npu_grouped_matmul_add",
    "use npu_rms_norm, npu_interleave_rope and Tensor.index_put_": """
        npu_qkv_rms_norm_rope_cache_functional npu_scatter_pa_cache npu_scatter_pa_kv_cache_functional
        npu_gather_pa_kv_cache_functional
    """,
    "use npu_moe_token_permute and npu_moe_token_unpermute with indices in place of a map": """
        npu_moe_token_permute_grad npu_moe_token_unpermute_grad npu_moe_gating_top_k_backward _npu_moe_token_unpermute
    """,
    "use torch.nn.functional.pad, slicing, reshape, sign or add": "npu_gather_backward npu_hans_encode npu_hans_decode",
    "use Tensor.to": "_npu_dtype_cast_backward npu_dtype_cast_backward",
    "use npu_apply_adam_w or torch.optim.AdamW": "npu_bert_apply_adam npu_apply_fused_ema_adamw",
    "use npu_rotary_mul": "npu_rotary_position_embedding",
    "use the gradient that PyTorch computes for the operator in its place": """
        npu_layernorm_grad npu_lstm_backward npu_lstm_cell_backward npu_lstm_data_backward npu_gru_backward
        npu_conv2d_backward npu_conv3d_backward npu_conv_transpose2d_backward npu_conv_transpose3d_backward
        npu_convolution_backward npu_convolution_transpose_backward npu_nsa_compress_grad
        npu_nsa_select_attention_grad npu_mhc_post_backward npu_mhc_pre_backward
        npu_mhc_sinkhorn_backward npu_masked_causal_conv1d_backward npu_fused_floyd_attention_backward
        npu_quant_fusion_attention_backward npu_gather_sparse_index_backward npu_swiglu_group_quant_backward
        npu_binary_cross_entropy_with_logits_backward
    """,
}
SUBSTITUTES: Final = {name: substitute for substitute, names in _NAMES.items() for name in names.split()}
"""What computes the same as a refused operator, by the operator's name."""
