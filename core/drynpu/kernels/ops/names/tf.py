"""What TensorFlow calls the neutral operators; :class:`drynpu.kernels.Named` says how a row is read."""

from __future__ import annotations

from typing import Final

from drynpu.kernels._named import Named
from drynpu.kernels.ops import (
    conv,
    creation,
    elementwise,
    fused,
    matmul,
    movement,
    norm,
    pool,
    recurrent,
    reduction,
    scatter,
    update,
)

ROWS: Final = (
    # Products.
    Named(matmul.product, "a b turn_a=transpose_a turn_b=transpose_b", "MatMul=MatMulV2 _FusedMatMul=MatMulV2"),
    Named(
        matmul.stacked_product,
        "a b turn_a=adj_x turn_b=adj_y",
        "BatchMatMul=BatchMatMulV2 BatchMatMulV2 BatchMatMulV3=BatchMatMulV2 _FusedBatchMatMulV2=BatchMatMulV2",
    ),
    Named(matmul.einsum, "", "Einsum=BatchMatMulV2"),
    # Convolutions.
    Named(
        conv.convolution,
        "x weight stride=strides padding dilation=dilations explicit=explicit_paddings",
        "Conv2D _FusedConv2D=Conv2D DepthwiseConv2dNative=DepthwiseConv2D _FusedDepthwiseConv2dNative=DepthwiseConv2D",
    ),
    Named(
        conv.input_gradient,
        "sizes weight dy",
        "Conv2DBackpropInput=Conv2DBackpropInputD DepthwiseConv2dNativeBackpropInput=DepthwiseConv2DBackpropInputD",
    ),
    Named(
        conv.weight_gradient,
        "x sizes dy",
        "Conv2DBackpropFilter=Conv2DBackpropFilterD DepthwiseConv2dNativeBackpropFilter=DepthwiseConv2DBackpropFilterD",
    ),
    Named(conv.convolution, "x weight stride=strides padding dilation=dilations", "Conv3D"),
    Named(conv.input_gradient, "sizes weight dy", "Conv3DBackpropInputV2=Conv3DBackpropInputD"),
    Named(conv.weight_gradient, "x sizes dy", "Conv3DBackpropFilterV2=Conv3DBackpropFilterD"),
    Named(conv.bias_addition, "x bias", "BiasAdd=Add BiasAddV1=Add"),
    Named(conv.bias_gradient, "dy", "BiasAddGrad"),
    # Pooling and resizing.
    Named(pool.pool, "x window=ksize stride=strides padding", "MaxPool MaxPoolV2=MaxPool MaxPool3D AvgPool AvgPool3D"),
    Named(pool.pool, "x window=ksize stride=strides padding", "MaxPoolWithArgmax"),
    Named(pool.max_pool_gradient, "x y dy window=ksize", "MaxPoolGrad MaxPool3DGrad MaxPoolGradGrad MaxPool3DGradGrad"),
    Named(pool.argmax_pool_gradient, "x dy places", "MaxPoolGradWithArgmax"),
    Named(pool.average_pool_gradient, "sizes dy window=ksize", "AvgPoolGrad=AvgPoolGradD AvgPool3DGrad=AvgPool3DGradD"),
    Named(pool.resample, "x", "ResizeBilinear=ResizeBilinearV2D*8 ResizeNearestNeighbor=ResizeNearestNeighborV2D*1"),
    Named(pool.resample_gradient, "dy x", "ResizeBilinearGrad=ResizeBilinearV2Grad*8"),
    Named(pool.resample_gradient, "dy", "ResizeNearestNeighborGrad=ResizeNearestNeighborV2GradD*1"),
    # Normalisation.
    Named(norm.softmax, "x", "Softmax=SoftmaxV2 LogSoftmax=LogSoftmaxV2"),
    Named(
        norm.training_batch_norm,
        "x! scale! offset! mean variance training=is_training",
        "FusedBatchNorm= FusedBatchNormV2= FusedBatchNormV3=",
    ),
    Named(
        norm.batch_norm_gradient,
        "dy! x! scale! mean variance training=is_training",
        "FusedBatchNormGrad= FusedBatchNormGradV2=",
    ),
    Named(
        norm.batch_norm_gradient,
        "dy! x! scale! mean variance reserve training=is_training",
        "FusedBatchNormGradV3=",
    ),
    Named(norm.normalisation, "x", "LRN*8 LayerNorm*8"),
    Named(norm.layer_norm, "x! scale! offset!", "LayerNormV3"),
    Named(norm.normalisation, "dy x y", "LRNGrad*14"),
    # Reductions and losses.
    Named(
        reduction.cross_entropy,
        "logits labels",
        "SoftmaxCrossEntropyWithLogits SparseSoftmaxCrossEntropyWithLogits",
    ),
    Named(
        reduction.reduction,
        "x",
        "Sum=ReduceSumD Mean=ReduceMeanD Max=ReduceMaxD Min=ReduceMinD Prod=ReduceProdD All=ReduceAllD "
        "Any=ReduceAnyD EuclideanNorm=EuclideanNormD",
    ),
    Named(
        reduction.one_pass,
        "x",
        "L2Loss ArgMax=ArgMaxD ArgMin=ArgMinD TopK=TopKD TopKV2=TopKD Cumsum=CumsumD Cumprod=CumprodD InTopK=InTopKD "
        "InTopKV2=InTopKD",
    ),
    # Fills, sequences, dropout.
    Named(creation.draw_mask, "", "DropOutGenMask DropOutGenMaskV3"),
    Named(creation.apply_mask, "x mask", "DropOutDoMask DropOutDoMaskV3"),
    Named(creation.fill, "x", "OnesLike ZerosLike Fill"),
    Named(creation.sequence, "", "Range=RangeD LinSpace=LinSpaceD"),
    # Recurrent layers.
    Named(recurrent.joined_lstm, "steps x c h weight", "DynamicRNN"),
    Named(recurrent.joined_lstm_gradient, "steps x c h weight", "DynamicRNNGrad"),
    Named(recurrent.turned_gru, "x w_x w_h b_x b_h h", "DynamicGRUV2 DynamicAUGRU"),
    Named(recurrent.turned_gru_gradient, "x w_x w_h h", "DynamicGRUV2Grad DynamicAUGRUGrad"),
    # Fused operators, and vector kernels that few scripts reach.
    Named(fused.vector, "x", "GeluGrad*24 PReluGrad*4 Centralization*2 SquareSumAll*2 LarsV2Update*6"),
    Named(
        fused.vector,
        "x",
        "AdamApplyOneAssign*12 AdamApplyOneWithDecayAssign*14 LambApplyOptimizerAssign*16 LambApplyWeightAssign*4",
    ),
    # Element by element.
    Named(
        elementwise.elementwise,
        "x",
        "Abs Neg Sign Square Sqrt Rsqrt Reciprocal Inv Exp Expm1 Log Log1p Sin Cos Tan Sinh Cosh Asin Acos Atan "
        "Asinh Acosh Atanh Erf Erfc Tanh Sigmoid Softplus Softsign Relu Relu6 Elu Selu LeakyRelu Gelu Floor Ceil "
        "Round Rint LogicalNot Invert Erfinv BesselI0e BesselI1e",
    ),
    Named(elementwise.elementwise, "x", "FakeQuantWithMinMaxArgs*4"),
    Named(elementwise.elementwise, "x low high", "FakeQuantWithMinMaxVars*4 FakeQuantWithMinMaxVarsPerChannel*4"),
    Named(elementwise.comparison, "x", "IsNan IsInf IsFinite"),
    Named(elementwise.elementwise, "dy x", "FakeQuantWithMinMaxArgsGradient*3"),
    Named(
        elementwise.elementwise,
        "x y",
        "Add AddV2=Add Sub Mul MulNoNan Div DivNoNan RealDiv FloorDiv TruncateDiv FloorMod Mod TruncateMod Maximum "
        "Minimum Pow SquaredDifference Xdivy Xlogy Atan2 BitwiseAnd BitwiseOr BitwiseXor LeftShift RightShift",
    ),
    Named(
        elementwise.comparison,
        "x y",
        "LogicalAnd LogicalOr Equal NotEqual Greater GreaterEqual Less LessEqual ApproximateEqual",
    ),
    Named(
        elementwise.elementwise,
        "dy x",
        "ReluGrad Relu6Grad EluGrad SeluGrad LeakyReluGrad SigmoidGrad TanhGrad SqrtGrad RsqrtGrad ReciprocalGrad "
        "InvGrad SoftplusGrad SoftsignGrad",
    ),
    Named(elementwise.elementwise, "x low high", "ClipByValue"),
    Named(elementwise.elementwise, "condition x y", "Select SelectV2"),
    Named(elementwise.accumulation, "x", "AddN AccumulateNV2"),
    Named(elementwise.elementwise, "x", "FastGelu"),
    Named(elementwise.elementwise, "x weight", "PRelu"),
    Named(elementwise.elementwise, "dy x", "FastGeluGrad"),
    Named(elementwise.cast, "x dtype=DstT", "Cast"),
    # Moves.
    Named(movement.transpose, "x", "Transpose=TransposeD"),
    Named(
        movement.move,
        "x",
        "Slice=SliceD StridedSlice=StridedSliceD Reverse=ReverseV2D ReverseV2=ReverseV2D DiagPart=DiagPartD",
    ),
    Named(movement.move, "x lengths", "ReverseSequence"),
    Named(
        movement.move,
        "x",
        "SpaceToDepth DepthToSpace BatchToSpace=BatchToSpaceD BatchToSpaceND=BatchToSpaceNDD MatrixDiagPartV2 "
        "DataFormatVecPermute DataFormatDimMap",
    ),
    Named(
        movement.grow,
        "x",
        "SpaceToBatch=SpaceToBatchD SpaceToBatchND=SpaceToBatchNDD ExtractImagePatches ExtractVolumePatches "
        "MatrixDiagV2=MatrixDiag",
    ),
    Named(movement.gather, "x index", "Gather=GatherV2D GatherV2=GatherV2D ResourceGather=GatherV2D"),
    Named(movement.gather_points, "x index", "GatherNd"),
    Named(movement.gather, "x index", "ResourceGatherNd=GatherNd"),
    Named(
        movement.grow,
        "x",
        "MatrixDiagV3=MatrixDiag Diag=DiagD Tile=TileD BroadcastTo=BroadcastToD Pad=PadD PadV2=PadV2D MirrorPad",
    ),
    Named(movement.place_in_zeros, "x@4", "StridedSliceGrad=StridedSliceGradD"),
    Named(movement.join, "axis parts", "Concat=ConcatD"),
    Named(movement.join, "parts axis", "ConcatV2=ConcatD"),
    Named(movement.join, "parts", "Pack ParallelConcat"),
    Named(movement.cut, "axis x", "Split=SplitD"),
    Named(movement.cut, "x", "SplitV=SplitVD Unpack"),
    Named(movement.one_hot, "index", "OneHot=OneHotD"),
    # Scatters.
    Named(
        scatter.scatter,
        "x index updates",
        "(Resource)ScatterAdd (Resource)ScatterSub (Resource)ScatterMul (Resource)ScatterDiv (Resource)ScatterMax "
        "(Resource)ScatterMin (Resource)ScatterUpdate (Resource)ScatterNdAdd (Resource)ScatterNdSub "
        "(Resource)ScatterNdUpdate (Resource)ScatterNdMax (Resource)ScatterNdMin",
    ),
    Named(
        scatter.scatter_copy,
        "x index updates",
        "TensorScatterUpdate TensorScatterAdd TensorScatterSub TensorScatterMax TensorScatterMin "
        "ScatterNdNonAliasingAdd=ScatterNonAliasingAdd",
    ),
    Named(
        scatter.add_up,
        "updates index",
        "UnsortedSegmentSum=UnsortedSegmentSumD UnsortedSegmentMax=UnsortedSegmentMaxD "
        "UnsortedSegmentMin=UnsortedSegmentMinD UnsortedSegmentProd=UnsortedSegmentProdD SegmentSum",
    ),
    Named(scatter.add_up, "index updates", "ScatterNd"),
    # Updates of weights.
    Named(update.assign, "handle value", "Assign AssignVariableOp=Assign"),
    Named(
        update.assign_with,
        "handle value",
        "AssignAdd AssignAddVariableOp=AssignAdd AssignSub AssignSubVariableOp=AssignSub",
    ),
    Named(update.update_by_handle, "state grad@2", "(Resource)ApplyGradientDescent"),
    Named(update.update_by_handle, "state grad@4", "(Resource)ApplyProximalGradientDescent"),
    Named(
        update.update_by_handle,
        "state state grad@3",
        "(Resource)ApplyMomentum=ApplyMomentumD (Resource)ApplyKerasMomentum=ApplyKerasMomentumD "
        "(Resource)ApplyAdagrad=ApplyAdagradD",
    ),
    Named(update.update_by_handle, "state state grad@4", "(Resource)ApplyAdagradV2=ApplyAdagradV2D"),
    Named(update.update_by_handle, "state state grad@5", "(Resource)ApplyProximalAdagrad=ApplyProximalAdagradD"),
    Named(
        update.update_by_handle,
        "state state grad@6",
        "(Resource)ApplyAddSign=ApplyAddSignD (Resource)ApplyPowerSign=ApplyPowerSignD",
    ),
    Named(
        update.update_by_handle,
        "state state state grad",
        "(Resource)ApplyFtrl=ApplyFtrlD (Resource)ApplyFtrlV2=ApplyFtrlV2D",
    ),
    Named(update.update_by_handle, "state state state grad@6", "(Resource)ApplyAdadelta=ApplyAdadeltaD"),
    Named(update.update_by_handle, "state state state grad@7", "(Resource)ApplyRMSProp=ApplyRMSPropD"),
    Named(update.update_by_handle, "state state state grad@8", "(Resource)ApplyAdaMax=ApplyAdaMaxD"),
    Named(update.update_by_handle, "state state state grad@9", "(Resource)ApplyAdam=ApplyAdamD"),
    Named(
        update.update_by_handle,
        "state state state state grad@8",
        "(Resource)ApplyCenteredRMSProp=ApplyCenteredRMSPropD",
    ),
    Named(
        update.update_by_handle,
        "state state state state grad@10",
        "(Resource)ApplyAdamWithAmsgrad=ApplyAdamWithAmsgradD",
    ),
    Named(
        update.update_rows,
        "state state grad@3 index",
        "(Resource)SparseApplyMomentum (Resource)SparseApplyKerasMomentum "
        "(Resource)SparseApplyAdagrad=SparseApplyAdagradD",
    ),
    Named(update.update_rows, "state state grad@4 index", "(Resource)SparseApplyAdagradV2=SparseApplyAdagradV2D"),
    Named(
        update.update_rows,
        "state state state grad index",
        "(Resource)SparseApplyFtrl=SparseApplyFtrlD (Resource)SparseApplyFtrlV2=SparseApplyFtrlV2D",
    ),
    Named(update.update_rows, "state state state grad@6 index", "(Resource)SparseApplyAdadelta=SparseApplyAdadeltaD"),
    Named(update.update_rows, "state state state grad@7 index", "(Resource)SparseApplyRMSProp=SparseApplyRMSPropD"),
    Named(update.update_rows, "state grad@4 index", "(Resource)SparseApplyProximalGradientDescent"),
    Named(
        update.update_rows,
        "state state grad@5 index",
        "(Resource)SparseApplyProximalAdagrad=SparseApplyProximalAdagradD",
    ),
    Named(update.update_rows, "state state state grad index", "(Resource)SparseApplyAdagradDA"),
    Named(update.update_rows, "state state state state grad@8 index", "(Resource)SparseApplyCenteredRMSProp"),
    Named(update.update_by_handle, "state state state grad", "(Resource)ApplyAdagradDA=ApplyAdagradDAD"),
)
