"""What MindSpore calls reductions, fills and element-wise operators."""

from __future__ import annotations

from typing import Final

from drynpu.kernels._named import Named
from drynpu.kernels.ops import creation, elementwise, reduction

ROWS: Final = (
    # Reductions and losses.
    Named(reduction.cross_entropy, "logits labels", "SoftmaxCrossEntropyWithLogits"),
    Named(
        reduction.unfolded_cross_entropy,
        "logits labels",
        "SparseSoftmaxCrossEntropyWithLogits=SoftmaxCrossEntropyWithLogits",
    ),
    Named(reduction.paired_pass, "x", "ReduceSum SumExt=ReduceSum ReduceMean MeanExt=ReduceMean"),
    Named(
        reduction.one_pass,
        "x",
        "ReduceMax ReduceMin ReduceProd ProdExt=ReduceProd ReduceAll ReduceAny Max=ReduceMax Min=ReduceMin L2Loss "
        "Argmax=ArgMaxV2 Argmin=ArgMinV2 ArgMaxExt=ArgMaxV2 ArgMinExt=ArgMin ArgMaxWithValue ArgMinWithValue "
        "MaxDim=ArgMaxWithValue MinDim=ArgMinWithValue TopK=TopKV2 TopkExt=TopKV2 CumSum=Cumsum CumsumExt=Cumsum "
        "CumProd=Cumprod AdaptiveAvgPool2D=AdaptiveAvgPool2d AdaptiveMaxPool2D=AdaptiveMaxPool2d "
        "ResizeNearestNeighborV2Grad LpNorm=LpNormV2 NormCalculateFloatStatus=LpNormV2 Var=ReduceVar Std=ReduceStdV2 "
        "VarMean=ReduceVar StdMean=ReduceStdV2 LogSumExp=ReduceLogSumExp CountNonZero=ReduceSum Nansum=ReduceSum "
        "SortExt=Sort ArgSort=Sort MedianDim=TopKV2 MedianExt=TopKV2 Kthvalue=TopKV2 CumminExt=Cummin TraceExt=Trace "
        "HistcExt=Histogram BincountExt=Bincount AvgPool1D=AvgPoolV2 AvgPool2D=AvgPoolV2 AvgPool3DExt=AvgPool3D "
        "AdaptiveAvgPool1D=AdaptiveAvgPool2d AdaptiveAvgPool2DExt=AdaptiveAvgPool2d "
        "AdaptiveMaxPool1D=AdaptiveMaxPool2d ReduceStd=ReduceStdV2 Cummax Cummin Sort Trace Renorm InTopK=InTopKD "
        "AdaptiveAvgPool3D=AdaptiveAvgPool3d MaxPoolWithArgmaxV2 AdaptiveAvgPool3DExt=AdaptiveAvgPool3d "
        "MaxPoolWithMask=MaxPoolWithArgmaxV1 MaxPoolWithIndices=MaxPoolWithArgmaxV3",
    ),
    # Fills, sequences, dropout.
    Named(creation.dropout, "x", "Dropout=DropOutDoMaskV3"),
    Named(creation.dropout_gradient, "dy mask", "DropoutGrad=DropOutDoMaskV3"),
    Named(creation.sequence, "", "LinSpace LinSpaceExt=LinSpace Arange=Range"),
    Named(
        creation.fill,
        "",
        "Fills=Fill NewFull=Fill FillTensor=Fill InplaceFillScalar=Fill InplaceFillTensor=Fill InplaceZero=ZerosLike "
        "NewZeros=ZerosLike NewOnes=OnesLike",
    ),
    Named(creation.fill, "", "OnesLikeExt=OnesLike ZerosLikeExt=ZerosLike"),
    Named(
        creation.fill,
        "",
        "OnesLike ZerosLike Ones=OnesLike Zeros=ZerosLike Fill FillV2=Fill FillScalar=Fill FullLike=Fill Eye",
    ),
    # Element by element.
    Named(
        elementwise.elementwise,
        "x",
        "Abs Neg Sign Square Sqrt Rsqrt Reciprocal Exp Expm1 Log Log1p Sin Cos Tan Sinh Cosh Asin Acos Atan Asinh "
        "Acosh Atanh Erf Erfc Tanh Sigmoid Softplus SoftplusExt=SoftplusV2 Softsign Mish MishExt=Mish SeLUExt=Selu "
        "ReLU=Relu ReLU6=Relu6 Elu EluExt=Elu SeLU=Selu LeakyReLUExt=LeakyRelu HSwish=HardSwish HSigmoid=HardSigmoid "
        "HShrink=HardShrink SiLU=Swish GeLU=Gelu GeluExt=GeluV2 FastGeLU=FastGelu Floor Ceil Round Trunc Rint "
        "LogicalNot BitwiseNot=Invert",
    ),
    Named(elementwise.comparison, "x", "IsNan IsInf IsFinite"),
    Named(
        elementwise.elementwise,
        "x y",
        "Add AddExt=Add Sub SubExt=Sub Mul Muls Div=RealDiv RealDiv DivMod=FloorDiv DivNoNan FloorDiv FloorMod Mod "
        "TruncateDiv TruncateMod Maximum Minimum Pow PowTensorScalar=Pow SquaredDifference Xdivy Xlogy Atan2 "
        "BitwiseAnd BitwiseOr BitwiseXor InplaceAddExt=Add InplaceSubExt=Sub InplaceMul=Mul InplaceDiv=RealDiv "
        "PReLU=PRelu",
    ),
    Named(elementwise.comparison, "x y", "GreaterEqualScalar=GreaterEqual"),
    Named(
        elementwise.comparison,
        "x y",
        "Equal NotEqual Greater GreaterEqual Less LessEqual LogicalAnd LogicalOr LogicalXor=NotEqual",
    ),
    Named(
        elementwise.elementwise,
        "x y",
        "ReluGrad ReLU6Grad=Relu6Grad EluGrad SeluGrad HSwishGrad=HardSwishGrad HSigmoidGrad=HardSigmoidGrad "
        "SigmoidGrad TanhGrad SqrtGrad RsqrtGrad ReciprocalGrad SoftplusGrad SiLUGrad=SwishGrad GeLUGrad=GeluGrad*24 "
        "FastGeLUGrad=FastGeluGrad MishGrad*16 AbsGrad LeakyReLUGradExt=LeakyReluGrad",
    ),
    Named(elementwise.elementwise, "x target", "MSELossExt=MseLoss L1LossExt=LpLoss KLDiv SoftMarginLoss"),
    Named(
        elementwise.elementwise,
        "dy x target",
        "MSELossGradExt=MseLossGrad L1LossBackwardExt=L1LossGrad KLDivGrad=KlDivLossGrad",
    ),
    Named(elementwise.elementwise, "x target dy", "SoftMarginLossGrad"),
    Named(
        elementwise.elementwise,
        "x target",
        "SigmoidCrossEntropyWithLogits BinaryCrossEntropy KLDivLoss SmoothL1Loss=SmoothL1LossV2 BCEWithLogitsLoss",
    ),
    Named(
        elementwise.elementwise,
        "x target dy",
        "SigmoidCrossEntropyWithLogitsGrad BinaryCrossEntropyGrad SmoothL1LossGrad=SmoothL1LossV2Grad KLDivLossGrad",
    ),
    Named(elementwise.elementwise, "x y z", "ClipByValue MaskedFill PReLUGrad=PReluGrad"),
    Named(elementwise.elementwise, "condition x y", "Select=SelectV2"),
    Named(elementwise.elementwise, "x", "FormatCast=TransData"),
    Named(
        elementwise.elementwise,
        "x",
        "AcosExt=Acos AcoshExt=Acosh AsinExt=Asin AsinhExt=Asinh AtanExt=Atan Exp2=Pow Log2=Log Log10=Log Frac=Sub "
        "IsNegInf LogSigmoid Hardtanh=ClipByValueV2 Threshold=ThresholdV2 Swiglu=SwiGlu*10 InplaceReLU=Relu "
        "InplaceSiLU=Swish InplaceSigmoid=Sigmoid InplaceTanh=Tanh InplaceElu=Elu InplaceHardtanh=ClipByValueV2 "
        "InplaceThreshold=ThresholdV2 InplaceErfinv=Erfinv InplaceExp=Exp InplaceFloor=Floor InplaceLog=Log "
        "InplaceSign=Sign",
    ),
    Named(
        elementwise.elementwise,
        "x y",
        "AddScalar=Add SubScalar=Sub DivMods=FloorDiv FloorDivScalar=FloorDiv RemainderTensorTensor=FloorMod "
        "RemainderTensorScalar=FloorMod RemainderScalarTensor=FloorMod EqualExt=TensorEqual",
    ),
    Named(
        elementwise.elementwise,
        "x y",
        "Atan2Ext=Atan2 LogAddExp LogAddExp2=LogAddExp FmodTensor=Mod FmodScalar=Mod BitwiseAndScalar=BitwiseAnd "
        "BitwiseOrScalar=BitwiseOr BitwiseXorScalar=BitwiseXor BitwiseOrTensor=BitwiseOr BitwiseXorTensor=BitwiseXor "
        "XLogYScalarOther=Xlogy XLogYScalarSelf=Xlogy InplaceAddsExt=Add InplaceSubScalar=Sub InplaceMuls=Mul "
        "InplaceDivs=RealDiv InplaceDivMod=FloorDiv InplaceDivMods=FloorDiv InplaceFloorDivide=FloorDiv "
        "InplaceFloorDivides=FloorDiv InplaceRemainderTensorTensor=FloorMod InplaceRemainderTensorScalar=FloorMod",
    ),
    Named(elementwise.elementwise, "x y z", "LerpScalar=Lerp MaskedFillScalar=MaskedFill"),
    Named(
        elementwise.elementwise,
        "x y z",
        "AddcdivExt=Addcdiv AddcmulExt=Addcmul InplaceClampScalar=ClipByValueV2 InplaceClampTensor=ClipByValueV2 "
        "InplaceMaskedFillScalar=MaskedFill InplaceMaskedFillTensor=MaskedFill",
    ),
    Named(
        elementwise.elementwise,
        "dy x",
        "GeluGradExt=GeluGradV2*24 EluGradExt=EluGradV2 HardtanhGrad LogSigmoidGrad ThresholdGrad=ThresholdGradV2D "
        "SwigluGrad=SwiGluGrad*20 SoftplusGradExt=SoftplusV2Grad MishGradExt=MishGrad*16",
    ),
    Named(
        elementwise.elementwise,
        "x",
        "ACos=Acos Erfinv Inv Invert BesselI0e BesselI1e CeLU=CeluV2 SoftShrink PopulationCount NanToNum",
    ),
    Named(elementwise.elementwise, "x y", "LeftShift RightShift"),
    Named(elementwise.elementwise, "x y z", "Lerp Addcmul Addcdiv"),
    Named(elementwise.comparison, "x y", "IsClose"),
    Named(elementwise.elementwise, "condition x y", "SelectV2"),
    Named(elementwise.elementwise, "x y", "Outer=Mul"),
    Named(elementwise.accumulation, "x", "AddN AccumulateNV2"),
    Named(elementwise.cast, "x", "Cast"),
)
