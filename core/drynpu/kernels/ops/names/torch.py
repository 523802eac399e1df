"""What PyTorch calls the neutral operators; :class:`drynpu.kernels.Named` says how a row is read."""

from __future__ import annotations

from typing import Final

from drynpu.kernels._named import Named
from drynpu.kernels.ops import attention, conv, matmul, norm, pool, recurrent

ROWS: Final = (
    # Products.
    Named(matmul.product, "a b", "aten::bmm=aclnnBatchMatMul:"),
    Named(
        matmul.product,
        "bias a b",
        "aten::addmm=aclnnAddmm: aten::addmm_=aclnnInplaceAddmm: aten::baddbmm=aclnnBaddbmm: "
        "aten::baddbmm_=aclnnInplaceBaddbmm:",
    ),
    # Convolutions.
    Named(
        conv.convolution,
        "x weight bias stride padding dilation transposed output_padding groups",
        "aten::convolution= aten::_convolution= aten::convolution_overrideable=",
    ),
    Named(conv.convolution, "x weight bias padding stride dilation groups", "aten::mkldnn_convolution="),
    # Pooling and resizing.
    Named(
        pool.masked_max_pool,
        "x edge stride padding dilation ceil_mode",
        "aten::max_pool2d_with_indices=aclnnMaxPool2dWithMask:",
    ),
    Named(
        pool.masked_max_pool_gradient,
        "dy x edge",
        "aten::max_pool2d_with_indices_backward=aclnnMaxPool2dWithMaskBackward:",
    ),
    Named(pool.pool, "x edge stride padding ceil_mode", "aten::avg_pool2d=aclnnAvgPool2d:AvgPoolV2"),
    Named(pool.average_pool_gradient, "dy x edge", "aten::avg_pool2d_backward=aclnnAvgPool2dBackward:AvgPoolV2Grad"),
    Named(pool.adaptive_average_pool, "x size", "aten::_adaptive_avg_pool2d=aclnnAdaptiveAvgPool2d:"),
    Named(
        pool.adaptive_average_pool_gradient,
        "dy x",
        "aten::_adaptive_avg_pool2d_backward=aclnnAdaptiveAvgPool2dBackward:",
    ),
    # Normalisation.
    Named(
        norm.softmax,
        "x dim to_float",
        "aten::_softmax=aclnnSoftmax:SoftmaxV2 aten::_log_softmax=aclnnLogSoftmax:LogSoftmaxV2",
    ),
    Named(
        norm.softmax_gradient,
        "dy y dim dtype",
        "aten::_softmax_backward_data=aclnnSoftmaxBackward:SoftmaxGrad "
        "aten::_log_softmax_backward_data=aclnnLogSoftmaxBackward:LogSoftmaxGrad",
    ),
    Named(norm.layer_norm, "x shape scale offset epsilon", "aten::native_layer_norm=aclnnLayerNorm:"),
    Named(
        norm.layer_norm_gradient,
        "dy x shape mean deviation scale",
        "aten::native_layer_norm_backward=aclnnLayerNormBackward:",
    ),
    Named(
        norm.batch_norm,
        "x scale offset mean variance training",
        "aten::native_batch_norm=aclnnBatchNorm: aten::_native_batch_norm_legit=aclnnBatchNorm:",
    ),
    Named(norm.training_batch_norm, "x scale offset mean variance", "aten::_batch_norm_with_update=aclnnBatchNorm:"),
    Named(norm.batch_norm_gradient, "dy x scale", "aten::native_batch_norm_backward=aclnnBatchNormBackward:"),
    Named(norm.group_norm, "x scale offset samples channels size groups", "aten::native_group_norm=aclnnGroupNorm:"),
    Named(
        norm.group_norm_gradient,
        "dy x mean deviation scale",
        "aten::native_group_norm_backward=aclnnGroupNormBackward:",
    ),
    Named(norm.rms_norm, "x shape scale epsilon", "aten::_fused_rms_norm=aclnnRmsNorm:"),
    # Recurrent layers.
    Named(recurrent.lstm_layer, "x w_x w_h b_x b_h h c", "aten::mkldnn_rnn_layer= npu::npu_lstm="),
    Named(
        recurrent.lstm_layer_gradient,
        "x w_x w_h b_x b_h h c",
        "aten::mkldnn_rnn_layer_backward= npu::npu_lstm_backward=",
    ),
    Named(recurrent.gru_layer, "x w_x w_h b_x b_h h", "npu::npu_gru="),
    Named(recurrent.gru_layer_gradient, "x w_x w_h b_x b_h h", "npu::npu_gru_backward="),
    # Attention.
    Named(
        attention.fused_attention,
        "query key value dropout causal mask",
        "aten::_scaled_dot_product_flash_attention_for_cpu=aclnnFlashAttentionScore:",
    ),
    Named(attention.masked_softmax, "x mask", "aten::_masked_softmax=aclnnSoftmax:"),
)
