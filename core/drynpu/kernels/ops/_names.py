"""
What each framework calls the neutral operators, and where it keeps their arguments.

A row is ``framework | operator (arguments) | names``: a neutral operator, its arguments in the framework's order, and
the framework's names for it, with ``=api:kernel`` where that is not the name (just ``=`` where the operator chooses the
kernel). ``argument=attribute`` gives the framework's name of an attribute, ``argument!`` must be a tensor; see
:meth:`drynpu.kernels.Binding.from_text`.
"""

from __future__ import annotations

MATMUL = """
torch | product (a b) | aten::bmm=aclnnBatchMatMul:
torch | product (bias a b) | aten::addmm=aclnnAddmm: aten::addmm_=aclnnInplaceAddmm: aten::baddbmm=aclnnBaddbmm:
    aten::baddbmm_=aclnnInplaceBaddbmm:

tf | product (a b turn_a=transpose_a turn_b=transpose_b) | MatMul=MatMulV2 _FusedMatMul=MatMulV2
tf | stacked_product (a b turn_a=adj_x turn_b=adj_y) | BatchMatMul=BatchMatMulV2 BatchMatMulV2
    BatchMatMulV3=BatchMatMulV2 _FusedBatchMatMulV2=BatchMatMulV2
tf | einsum () | Einsum=BatchMatMulV2

mindspore | product (a b turn_a=transpose_a turn_b=transpose_b) | MatMul=MatMulV2 Mm=MatMulV2 MatMulExt=MatMulV2
    BatchMatMul=BatchMatMulV2 BatchMatMulExt=BatchMatMulV2
mindspore | named_product (a b . . . . turn_a turn_b) | QuantBatchMatmul=QuantBatchMatmulV3
mindspore | named_product (a b . . . . . turn_a turn_b) | WeightQuantBatchMatmul=WeightQuantBatchMatmulV2
mindspore | exchanged_product (a b) | AllGatherMatmul MatmulReduceScatter
mindspore | turned_product (a b) | TransposeBatchMatmulTranspose=TransposeBatchMatMul
mindspore | product (bias a b) | Addmm=MatMulV2 Baddbmm=BatchMatMulV2
mindspore | dense (x weight bias) | Dense=MatMulV2
mindspore | named_product (a b) | FusedMatMulBiasAdd=MatMulV2 MatMulBiasAddReluFusion=MatMulV2
mindspore | product (bias a b) | InplaceAddmm=MatMulV2
mindspore | turned_rows (a b) | InplaceMatmulAdd=MatMulV2
mindspore | vector_product (a b) | Mv=MatMulV2 Dot=MatMulV2
mindspore | vector_product (bias a b) | Addmv=MatMulV2
mindspore | named_product (bias a b) | Addbmm=BatchMatMulV2

onnx | product (a b turn_a=transA turn_b=transB) | Gemm=MatMulV2
onnx | vector_product (a b) | MatMul=MatMulV2 MatMulInteger=MatMulV2
onnx | vector_product (a . . b) | QLinearMatMul=MatMulV2
onnx | einsum () | Einsum=BatchMatMulV2
"""

CONVOLUTION = """
torch | convolution (x weight bias stride padding dilation transposed output_padding groups) | aten::convolution=
    aten::_convolution= aten::convolution_overrideable=
torch | convolution (x weight bias padding stride dilation groups) | aten::mkldnn_convolution=

tf | convolution (x weight stride=strides padding dilation=dilations explicit=explicit_paddings) | Conv2D
    _FusedConv2D=Conv2D DepthwiseConv2dNative=DepthwiseConv2D _FusedDepthwiseConv2dNative=DepthwiseConv2D
tf | input_gradient (sizes weight dy) | Conv2DBackpropInput=Conv2DBackpropInputD
    DepthwiseConv2dNativeBackpropInput=DepthwiseConv2DBackpropInputD
tf | weight_gradient (x sizes dy) | Conv2DBackpropFilter=Conv2DBackpropFilterD
    DepthwiseConv2dNativeBackpropFilter=DepthwiseConv2DBackpropFilterD
tf | convolution (x weight stride=strides padding dilation=dilations) | Conv3D
tf | input_gradient (sizes weight dy) | Conv3DBackpropInputV2=Conv3DBackpropInputD
tf | weight_gradient (x sizes dy) | Conv3DBackpropFilterV2=Conv3DBackpropFilterD
tf | bias_addition (x bias) | BiasAdd=Add BiasAddV1=Add
tf | bias_gradient (dy) | BiasAddGrad

mindspore | convolution (x weight) | Conv2D Conv3D
mindspore | convolution (x weight bias stride padding dilation groups) | Conv2DExt=Conv2D
    Conv1DExt=Conv2D Conv3DExt=Conv3D Conv1DPadding=Conv2D Conv2DPadding=Conv2D Conv3DPadding=Conv3D
mindspore | convolution (x weight bias stride padding output_padding groups dilation) |
    ConvTranspose2D=Conv2DTranspose
mindspore | convolution (x weight bias stride padding dilation transposed output_padding groups) | Convolution=Conv2D
    ConvolutionStr=Conv2D
mindspore | gradients (dy x weight . . . . transposed . groups) | ConvolutionGrad=Conv2D ConvolutionStrGrad=Conv2D
mindspore | input_gradient (dy weight sizes) | Conv2DBackpropInput Conv2DTranspose=Conv2DBackpropInput
mindspore | weight_gradient (dy x sizes) | Conv2DBackpropFilter
mindspore | input_gradient (dy weight) | Conv3DTranspose=Conv3DTransposeD
mindspore | input_gradient (weight dy sizes) | Conv3DBackpropInput=Conv3DBackpropInputD
mindspore | weight_gradient (x dy sizes) | Conv3DBackpropFilter=Conv3DBackpropFilterD
mindspore | bias_addition (x bias) | BiasAdd
mindspore | bias_gradient (dy) | BiasAddGrad

onnx | convolution (x weight groups=group) | Conv=Conv2D ConvInteger=Conv2D ConvTranspose=Conv2DTransposeD
onnx | convolution (x . . weight groups=group) | QLinearConv=Conv2D
"""

POOLING = """
torch | masked_max_pool (x edge stride padding dilation ceil_mode) |
    aten::max_pool2d_with_indices=aclnnMaxPool2dWithMask:
torch | masked_max_pool_gradient (dy x edge) | aten::max_pool2d_with_indices_backward=aclnnMaxPool2dWithMaskBackward:
torch | pool (x edge stride padding ceil_mode) | aten::avg_pool2d=aclnnAvgPool2d:AvgPoolV2
torch | average_pool_gradient (dy x edge) | aten::avg_pool2d_backward=aclnnAvgPool2dBackward:AvgPoolV2Grad
torch | adaptive_average_pool (x size) | aten::_adaptive_avg_pool2d=aclnnAdaptiveAvgPool2d:
torch | adaptive_average_pool_gradient (dy x) | aten::_adaptive_avg_pool2d_backward=aclnnAdaptiveAvgPool2dBackward:

tf | pool (x window=ksize stride=strides padding) | MaxPool MaxPoolV2=MaxPool MaxPool3D AvgPool AvgPool3D
tf | pool (x window=ksize stride=strides padding) | MaxPoolWithArgmax
tf | max_pool_gradient (x y dy window=ksize) | MaxPoolGrad MaxPool3DGrad MaxPoolGradGrad MaxPool3DGradGrad
tf | argmax_pool_gradient (x dy places) | MaxPoolGradWithArgmax
tf | average_pool_gradient (sizes dy window=ksize) | AvgPoolGrad=AvgPoolGradD AvgPool3DGrad=AvgPool3DGradD
tf | resample (x) | ResizeBilinear=ResizeBilinearV2D*8 ResizeNearestNeighbor=ResizeNearestNeighborV2D*1
tf | resample_gradient (dy x) | ResizeBilinearGrad=ResizeBilinearV2Grad*8
tf | resample_gradient (dy) | ResizeNearestNeighborGrad=ResizeNearestNeighborV2GradD*1

mindspore | pool (x window=kernel_size) | MaxPool MaxPoolWithArgmax AvgPool MaxPool3D AvgPool3D
mindspore | max_pool_gradient (x y dy window=kernel_size) | MaxPoolGrad
mindspore | argmax_pool_gradient (x dy places) | MaxPoolGradWithArgmax
mindspore | average_pool_gradient (x y dy window=kernel_size) | AvgPoolGrad
mindspore | resample (x) | UpsampleBilinear2D=UpsampleBilinear2d*8 UpsampleBicubic2D=UpsampleBicubic2d*20
    UpsampleLinear1D=UpsampleLinear1d*4
mindspore | resample_gradient (dy) | UpsampleBilinear2DGrad=UpsampleBilinear2dGrad*8
    UpsampleBicubic2DGrad=UpsampleBicubic2dGrad*20 UpsampleLinear1DGrad=UpsampleLinear1dGrad*4
mindspore | place_pooled (x index) | MaxUnpool2DExt=MaxUnpool2D
mindspore | plain_adaptive_gradient (dy) | AdaptiveAvgPool2DGrad=AdaptiveAvgPool2dGrad

onnx | pool (x window=kernel_shape) | MaxPool AveragePool=AvgPoolV2 LpPool
onnx | resize (x) | Resize= Upsample=
onnx | global_pool (x) | GlobalAveragePool=ReduceMeanD GlobalMaxPool=ReduceMaxD
"""

NORMALISATION = """
torch | softmax (x dim to_float) | aten::_softmax=aclnnSoftmax:SoftmaxV2 aten::_log_softmax=aclnnLogSoftmax:LogSoftmaxV2
torch | softmax_gradient (dy y dim dtype) | aten::_softmax_backward_data=aclnnSoftmaxBackward:SoftmaxGrad
    aten::_log_softmax_backward_data=aclnnLogSoftmaxBackward:LogSoftmaxGrad
torch | layer_norm (x shape scale offset epsilon) | aten::native_layer_norm=aclnnLayerNorm:
torch | layer_norm_gradient (dy x shape mean deviation scale) | aten::native_layer_norm_backward=aclnnLayerNormBackward:
torch | batch_norm (x scale offset mean variance training) | aten::native_batch_norm=aclnnBatchNorm:
    aten::_native_batch_norm_legit=aclnnBatchNorm:
torch | training_batch_norm (x scale offset mean variance) | aten::_batch_norm_with_update=aclnnBatchNorm:
torch | batch_norm_gradient (dy x scale) | aten::native_batch_norm_backward=aclnnBatchNormBackward:
torch | group_norm (x scale offset samples channels size groups) | aten::native_group_norm=aclnnGroupNorm:
torch | group_norm_gradient (dy x mean deviation scale) | aten::native_group_norm_backward=aclnnGroupNormBackward:
torch | rms_norm (x shape scale epsilon) | aten::_fused_rms_norm=aclnnRmsNorm:

tf | softmax (x) | Softmax=SoftmaxV2 LogSoftmax=LogSoftmaxV2
tf | training_batch_norm (x! scale! offset! mean variance training=is_training) | FusedBatchNorm= FusedBatchNormV2=
    FusedBatchNormV3=
tf | batch_norm_gradient (dy! x! scale! mean variance training=is_training) | FusedBatchNormGrad= FusedBatchNormGradV2=
tf | batch_norm_gradient (dy! x! scale! mean variance reserve training=is_training) | FusedBatchNormGradV3=
tf | normalisation (x) | LRN*8 LayerNorm*8
tf | layer_norm (x! scale! offset!) | LayerNormV3
tf | normalisation (dy x y) | LRNGrad*14

mindspore | softmax (x) | Softmax=SoftmaxV2 LogSoftmax=LogSoftmaxV2 LogSoftmaxExt=LogSoftmaxV2
mindspore | softmax_gradient (dy y) | SoftmaxBackward=SoftmaxGrad
mindspore | softmax_gradient (y dy) | SoftmaxGrad LogSoftmaxGrad
mindspore | batch_norm (x! scale! offset! mean! variance! training=is_training) | BatchNorm=BNTrainingUpdate
mindspore | batch_norm (x scale offset mean variance training) | BatchNormExt=BNTrainingUpdate
mindspore | batch_norm_gradient (dy x scale mean variance . . training) | BatchNormGradExt=BNTrainingReduceGrad
mindspore | batch_norm_gradient (dy! x! scale! mean variance reserve training=is_training) |
    BatchNormGrad=BNTrainingReduceGrad
mindspore | batch_sums (x!) | BNTrainingReduce
mindspore | batch_update (x! . . scale! offset! mean! variance!) | BNTrainingUpdate
mindspore | batch_gradient_sums (dy! x!) | BNTrainingUpdateGrad
mindspore | batch_input_gradient (dy! x! . . scale!) | BNTrainingReduceGrad
mindspore | layer_norm (x! scale! offset!) | LayerNorm=LayerNormV3
mindspore | layer_norm (x! . scale! offset!) | LayerNormExt=LayerNormV3
mindspore | affine_gradient (x dy variance mean scale) | LayerNormGrad=LayerNormGradV3
mindspore | affine_gradient (dy x shape mean deviation scale) | LayerNormGradExt=LayerNormGradV3
mindspore | normalisation (x) | RmsNorm*5 AddRmsNorm*6 AddLayerNormV2=AddLayerNorm*8 LinalgVectorNorm=LpNormV2*4
mindspore | normalisation (x) | LRN*6
mindspore | normalisation (dy x) | RmsNormGrad*11 AddLayerNormGrad*14
mindspore | group_norm (x! groups scale! offset!) | GroupNorm
mindspore | affine_gradient (dy x mean deviation scale) | GroupNormGrad

onnx | batch_norm (x scale offset mean variance) | BatchNormalization=BNInfer
onnx | normalisation (x) | LayerNormalization=LayerNorm*8 RMSNormalization=RmsNorm*5 InstanceNormalization=INInferV2*6
    GroupNormalization=GroupNorm*6 LRN=LRN*8
"""

LOSS = """
tf | cross_entropy (logits labels) | SoftmaxCrossEntropyWithLogits SparseSoftmaxCrossEntropyWithLogits

mindspore | cross_entropy (logits labels) | SoftmaxCrossEntropyWithLogits
mindspore | unfolded_cross_entropy (logits labels) | SparseSoftmaxCrossEntropyWithLogits=SoftmaxCrossEntropyWithLogits
"""

DROPOUT = """
tf | draw_mask () | DropOutGenMask DropOutGenMaskV3
tf | apply_mask (x mask) | DropOutDoMask DropOutDoMaskV3

mindspore | dropout (x) | Dropout=DropOutDoMaskV3
mindspore | dropout_gradient (dy mask) | DropoutGrad=DropOutDoMaskV3
"""

RECURRENT = """
torch | lstm_layer (x w_x w_h b_x b_h h c) | aten::mkldnn_rnn_layer= npu::npu_lstm=
torch | lstm_layer_gradient (x w_x w_h b_x b_h h c) | aten::mkldnn_rnn_layer_backward= npu::npu_lstm_backward=
torch | gru_layer (x w_x w_h b_x b_h h) | npu::npu_gru=
torch | gru_layer_gradient (x w_x w_h b_x b_h h) | npu::npu_gru_backward=

tf | joined_lstm (steps x c h weight) | DynamicRNN
tf | joined_lstm_gradient (steps x c h weight) | DynamicRNNGrad
tf | turned_gru (x w_x w_h b_x b_h h) | DynamicGRUV2 DynamicAUGRU
tf | turned_gru_gradient (x w_x w_h h) | DynamicGRUV2Grad DynamicAUGRUGrad

mindspore | stacked_lstm (x) | LSTM=DynamicRNN
mindspore | joined_lstm (x weight . . h c) | DynamicRNN
mindspore | joined_lstm_gradient (x weight . . h c) | DynamicRNNGrad
mindspore | turned_gru (x w_x w_h b_x b_h . h) | DynamicGRUV2
mindspore | turned_gru_gradient (x w_x w_h . h) | DynamicGRUV2Grad
mindspore | stacked_lstm_gradient (x) | LSTMGrad=DynamicRNNGrad

onnx | lstm_directions (x weight batch_first=layout) | LSTM=DynamicRNN
onnx | gru_directions (x weight batch_first=layout) | GRU=DynamicGRUV2
"""

ATTENTION = """
torch | fused_attention (query key value dropout causal mask) |
    aten::_scaled_dot_product_flash_attention_for_cpu=aclnnFlashAttentionScore:
torch | masked_softmax (x mask) | aten::_masked_softmax=aclnnSoftmax:
"""
