"""What MindSpore calls products, convolutions, pooling, normalisation and recurrent layers."""

from __future__ import annotations

from typing import Final

from drynpu.kernels._named import Named
from drynpu.kernels.ops import conv, matmul, norm, pool, recurrent

ROWS: Final = (
    # Products.
    Named(
        matmul.product,
        "a b turn_a=transpose_a turn_b=transpose_b",
        "MatMul=MatMulV2 Mm=MatMulV2 MatMulExt=MatMulV2 BatchMatMul=BatchMatMulV2 BatchMatMulExt=BatchMatMulV2",
    ),
    Named(matmul.named_product, "a b turn_a@6 turn_b", "QuantBatchMatmul=QuantBatchMatmulV3"),
    Named(matmul.named_product, "a b turn_a@7 turn_b", "WeightQuantBatchMatmul=WeightQuantBatchMatmulV2"),
    Named(matmul.exchanged_product, "a b", "AllGatherMatmul MatmulReduceScatter"),
    Named(matmul.turned_product, "a b", "TransposeBatchMatmulTranspose=TransposeBatchMatMul"),
    Named(matmul.product, "bias a b", "Addmm=MatMulV2 Baddbmm=BatchMatMulV2"),
    Named(matmul.dense, "x weight bias", "Dense=MatMulV2"),
    Named(matmul.named_product, "a b", "FusedMatMulBiasAdd=MatMulV2 MatMulBiasAddReluFusion=MatMulV2"),
    Named(matmul.product, "bias a b", "InplaceAddmm=MatMulV2"),
    Named(matmul.turned_rows, "a b", "InplaceMatmulAdd=MatMulV2"),
    Named(matmul.vector_product, "a b", "Mv=MatMulV2 Dot=MatMulV2"),
    Named(matmul.vector_product, "bias a b", "Addmv=MatMulV2"),
    Named(matmul.named_product, "bias a b", "Addbmm=BatchMatMulV2"),
    # Convolutions.
    Named(conv.convolution, "x weight", "Conv2D Conv3D"),
    Named(
        conv.convolution,
        "x weight bias stride padding dilation groups",
        "Conv2DExt=Conv2D Conv1DExt=Conv2D Conv3DExt=Conv3D Conv1DPadding=Conv2D Conv2DPadding=Conv2D "
        "Conv3DPadding=Conv3D",
    ),
    Named(
        conv.convolution,
        "x weight bias stride padding output_padding groups dilation",
        "ConvTranspose2D=Conv2DTranspose",
    ),
    Named(
        conv.convolution,
        "x weight bias stride padding dilation transposed output_padding groups",
        "Convolution=Conv2D ConvolutionStr=Conv2D",
    ),
    Named(conv.gradients, "dy x weight transposed@7 groups@9", "ConvolutionGrad=Conv2D ConvolutionStrGrad=Conv2D"),
    Named(conv.input_gradient, "dy weight sizes", "Conv2DBackpropInput Conv2DTranspose=Conv2DBackpropInput"),
    Named(conv.weight_gradient, "dy x sizes", "Conv2DBackpropFilter"),
    Named(conv.input_gradient, "dy weight", "Conv3DTranspose=Conv3DTransposeD"),
    Named(conv.input_gradient, "weight dy sizes", "Conv3DBackpropInput=Conv3DBackpropInputD"),
    Named(conv.weight_gradient, "x dy sizes", "Conv3DBackpropFilter=Conv3DBackpropFilterD"),
    Named(conv.bias_addition, "x bias", "BiasAdd"),
    Named(conv.bias_gradient, "dy", "BiasAddGrad"),
    # Pooling and resizing.
    Named(pool.pool, "x window=kernel_size", "MaxPool MaxPoolWithArgmax AvgPool MaxPool3D AvgPool3D"),
    Named(pool.max_pool_gradient, "x y dy window=kernel_size", "MaxPoolGrad"),
    Named(pool.argmax_pool_gradient, "x dy places", "MaxPoolGradWithArgmax"),
    Named(pool.average_pool_gradient, "x y dy window=kernel_size", "AvgPoolGrad"),
    Named(
        pool.resample,
        "x",
        "UpsampleBilinear2D=UpsampleBilinear2d*8 UpsampleBicubic2D=UpsampleBicubic2d*20 "
        "UpsampleLinear1D=UpsampleLinear1d*4",
    ),
    Named(
        pool.resample_gradient,
        "dy",
        "UpsampleBilinear2DGrad=UpsampleBilinear2dGrad*8 UpsampleBicubic2DGrad=UpsampleBicubic2dGrad*20 "
        "UpsampleLinear1DGrad=UpsampleLinear1dGrad*4",
    ),
    Named(pool.place_pooled, "x index", "MaxUnpool2DExt=MaxUnpool2D"),
    Named(pool.plain_adaptive_gradient, "dy", "AdaptiveAvgPool2DGrad=AdaptiveAvgPool2dGrad"),
    # Normalisation.
    Named(norm.softmax, "x", "Softmax=SoftmaxV2 LogSoftmax=LogSoftmaxV2 LogSoftmaxExt=LogSoftmaxV2"),
    Named(norm.softmax_gradient, "dy y", "SoftmaxBackward=SoftmaxGrad"),
    Named(norm.softmax_gradient, "y dy", "SoftmaxGrad LogSoftmaxGrad"),
    Named(norm.batch_norm, "x! scale! offset! mean! variance! training=is_training", "BatchNorm=BNTrainingUpdate"),
    Named(norm.batch_norm, "x scale offset mean variance training", "BatchNormExt=BNTrainingUpdate"),
    Named(norm.batch_norm_gradient, "dy x scale mean variance training@7", "BatchNormGradExt=BNTrainingReduceGrad"),
    Named(
        norm.batch_norm_gradient,
        "dy! x! scale! mean variance reserve training=is_training",
        "BatchNormGrad=BNTrainingReduceGrad",
    ),
    Named(norm.batch_sums, "x!", "BNTrainingReduce"),
    Named(norm.batch_update, "x! scale!@3 offset! mean! variance!", "BNTrainingUpdate"),
    Named(norm.batch_gradient_sums, "dy! x!", "BNTrainingUpdateGrad"),
    Named(norm.batch_input_gradient, "dy! x! scale!@4", "BNTrainingReduceGrad"),
    Named(norm.layer_norm, "x! scale! offset!", "LayerNorm=LayerNormV3"),
    Named(norm.layer_norm, "x! scale!@2 offset!", "LayerNormExt=LayerNormV3"),
    Named(norm.affine_gradient, "x dy variance mean scale", "LayerNormGrad=LayerNormGradV3"),
    Named(norm.affine_gradient, "dy x shape mean deviation scale", "LayerNormGradExt=LayerNormGradV3"),
    Named(norm.normalisation, "x", "RmsNorm*5 AddRmsNorm*6 AddLayerNormV2=AddLayerNorm*8 LinalgVectorNorm=LpNormV2*4"),
    Named(norm.normalisation, "x", "LRN*6"),
    Named(norm.normalisation, "dy x", "RmsNormGrad*11 AddLayerNormGrad*14"),
    Named(norm.group_norm, "x! groups scale! offset!", "GroupNorm"),
    Named(norm.affine_gradient, "dy x mean deviation scale", "GroupNormGrad"),
    # Recurrent layers.
    Named(recurrent.stacked_lstm, "x", "LSTM=DynamicRNN"),
    Named(recurrent.joined_lstm, "x weight h@4 c", "DynamicRNN"),
    Named(recurrent.joined_lstm_gradient, "x weight h@4 c", "DynamicRNNGrad"),
    Named(recurrent.turned_gru, "x w_x w_h b_x b_h h@6", "DynamicGRUV2"),
    Named(recurrent.turned_gru_gradient, "x w_x w_h h@4", "DynamicGRUV2Grad"),
    Named(recurrent.stacked_lstm_gradient, "x", "LSTMGrad=DynamicRNNGrad"),
)
