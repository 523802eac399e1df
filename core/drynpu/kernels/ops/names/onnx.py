"""What ONNX calls the neutral operators; :class:`drynpu.kernels.Named` says how a row is read."""

from __future__ import annotations

from typing import Final

from drynpu.kernels._named import Named
from drynpu.kernels.ops import conv, creation, elementwise, matmul, movement, norm, pool, recurrent, reduction, scatter

ROWS: Final = (
    # Products.
    Named(matmul.product, "a b turn_a=transA turn_b=transB", "Gemm=MatMulV2"),
    Named(matmul.vector_product, "a b", "MatMul=MatMulV2 MatMulInteger=MatMulV2"),
    Named(matmul.vector_product, "a b@3", "QLinearMatMul=MatMulV2"),
    Named(matmul.einsum, "", "Einsum=BatchMatMulV2"),
    # Convolutions.
    Named(conv.convolution, "x weight groups=group", "Conv=Conv2D ConvInteger=Conv2D ConvTranspose=Conv2DTransposeD"),
    Named(conv.convolution, "x weight@3 groups=group", "QLinearConv=Conv2D"),
    # Pooling and resizing.
    Named(pool.pool, "x window=kernel_shape", "MaxPool AveragePool=AvgPoolV2 LpPool"),
    Named(pool.resize, "x", "Resize= Upsample="),
    Named(pool.global_pool, "x", "GlobalAveragePool=ReduceMeanD GlobalMaxPool=ReduceMaxD"),
    # Normalisation.
    Named(norm.batch_norm, "x scale offset mean variance", "BatchNormalization=BNInfer"),
    Named(
        norm.normalisation,
        "x",
        "LayerNormalization=LayerNorm*8 RMSNormalization=RmsNorm*5 InstanceNormalization=INInferV2*6 "
        "GroupNormalization=GroupNorm*6 LRN=LRN*8",
    ),
    # Recurrent layers.
    Named(recurrent.lstm_directions, "x weight batch_first=layout", "LSTM=DynamicRNN"),
    Named(recurrent.gru_directions, "x weight batch_first=layout", "GRU=DynamicGRUV2"),
    # Element by element.
    Named(
        elementwise.elementwise,
        "",
        "Abs Neg Sign Sqrt Reciprocal Exp Log Sin Cos Tan Sinh Cosh Asin Acos Atan Asinh Acosh Atanh Erf Tanh "
        "Sigmoid HardSigmoid HardSwish Mish Softplus=SoftplusV2 Softsign Relu LeakyRelu PRelu ThresholdedRelu Elu "
        "Celu=CeluV2 Selu Gelu Floor Ceil Round Not=LogicalNot Clip=ClipByValue IsNaN=IsNan IsInf Add Sub Mul "
        "Div=RealDiv Mod=FloorMod Pow And=LogicalAnd Or=LogicalOr Xor=LogicalXor BitShift=LeftShift BitwiseAnd "
        "BitwiseOr BitwiseXor BitwiseNot=Invert Equal Greater GreaterOrEqual=GreaterEqual Less LessOrEqual=LessEqual "
        "Where=SelectV2",
    ),
    Named(elementwise.accumulation, "", "Max=Maximum Min=Minimum Sum=AddN Mean"),
    Named(elementwise.cast, "x", "Cast CastLike=Cast"),
    # Reductions and losses.
    Named(
        reduction.reduction,
        "x",
        "ReduceSum=ReduceSumD ReduceMean=ReduceMeanD ReduceMax=ReduceMaxD ReduceMin=ReduceMinD "
        "ReduceProd=ReduceProdD ReduceL1=LpNorm ReduceL2=LpNorm ReduceSumSquare=SquareSumV1 ReduceLogSum "
        "ReduceLogSumExp",
    ),
    Named(
        reduction.one_pass,
        "x",
        "ArgMax=ArgMaxD ArgMin=ArgMinD TopK=TopKD CumSum=CumsumD Softmax=SoftmaxV2*5 LogSoftmax=LogSoftmaxV2*6 "
        "Hardmax=HardMax*2 LpNormalization=LpNormV2*3 MeanVarianceNormalization=MVNV2*6 QuantizeLinear=AscendQuant*3 "
        "DequantizeLinear=AscendAntiQuant*2 DynamicQuantizeLinear=DynamicQuant*4",
    ),
    # Moves.
    Named(movement.transpose, "x order=perm", "Transpose=TransposeD"),
    Named(movement.move, "x", "Aipp Slice=StridedSliceD DepthToSpace SpaceToDepth Trilu ReverseSequence"),
    Named(movement.gather, "x index", "Gather=GatherV2D GatherElements GatherND=GatherNd"),
    Named(movement.grow, "x", "Pad=PadD Tile=TileD Expand=ExpandD"),
    Named(movement.join, "parts", "Concat=ConcatD"),
    Named(movement.cut_by_sizes, "x", "Split=SplitD"),
    Named(movement.one_hot, "index", "OneHot=OneHotD"),
    # Fills, sequences, dropout.
    Named(creation.make, "", "Range=RangeD"),
    Named(creation.make_on_cpu, "", "NonZero NonMaxSuppression=NonMaxSuppressionV6 Unique=UniqueWithCountsExt2"),
    # Scatters.
    Named(scatter.scatter_result, "x index updates", "ScatterElements ScatterND=ScatterNdUpdate"),
)
