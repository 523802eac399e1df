"""
What each framework calls the operators of the vector unit.

A row is ``framework | operator (arguments) | names``: a neutral operator, its arguments in the order of the framework,
and the framework's names for it, with the kernel's type where it is another (``AddV2=Add``) and with its element
operations where they are others (``FusedWeightApplyMomentum=ApplyMomentum*6``). A dot stands for an argument that no
operator reads; ``(Resource)Assign`` is both ``Assign`` and ``ResourceAssign``.
"""

from __future__ import annotations

ELEMENTWISE = """
tf | elementwise (x) | Abs Neg Sign Square Sqrt Rsqrt Reciprocal Inv Exp Expm1 Log Log1p Sin Cos Tan Sinh Cosh Asin
    Acos Atan Asinh Acosh Atanh Erf Erfc Tanh Sigmoid Softplus Softsign Relu Relu6 Elu Selu LeakyRelu Gelu Floor Ceil
    Round Rint LogicalNot Invert Erfinv BesselI0e BesselI1e
tf | elementwise (x) | FakeQuantWithMinMaxArgs*4
tf | elementwise (x low high) | FakeQuantWithMinMaxVars*4 FakeQuantWithMinMaxVarsPerChannel*4
tf | comparison (x) | IsNan IsInf IsFinite
tf | elementwise (dy x) | FakeQuantWithMinMaxArgsGradient*3
tf | elementwise (x y) | Add AddV2=Add Sub Mul MulNoNan Div DivNoNan RealDiv FloorDiv TruncateDiv FloorMod Mod
    TruncateMod Maximum Minimum Pow SquaredDifference Xdivy Xlogy Atan2 BitwiseAnd BitwiseOr BitwiseXor LeftShift
    RightShift
tf | comparison (x y) | LogicalAnd LogicalOr Equal NotEqual Greater GreaterEqual Less LessEqual ApproximateEqual
tf | elementwise (dy x) | ReluGrad Relu6Grad EluGrad SeluGrad LeakyReluGrad SigmoidGrad TanhGrad SqrtGrad RsqrtGrad
    ReciprocalGrad InvGrad SoftplusGrad SoftsignGrad
tf | elementwise (x low high) | ClipByValue
tf | elementwise (condition x y) | Select SelectV2
tf | accumulation (x) | AddN AccumulateNV2
tf | elementwise (x) | FastGelu
tf | elementwise (x weight) | PRelu
tf | elementwise (dy x) | FastGeluGrad
tf | cast (x dtype=DstT) | Cast

mindspore | elementwise (x) | Abs Neg Sign Square Sqrt Rsqrt Reciprocal Exp Expm1 Log Log1p Sin Cos Tan Sinh Cosh Asin
    Acos Atan Asinh Acosh Atanh Erf Erfc Tanh Sigmoid Softplus SoftplusExt=SoftplusV2 Softsign Mish MishExt=Mish
    SeLUExt=Selu ReLU=Relu
    ReLU6=Relu6 Elu EluExt=Elu SeLU=Selu LeakyReLUExt=LeakyRelu HSwish=HardSwish HSigmoid=HardSigmoid
    HShrink=HardShrink SiLU=Swish GeLU=Gelu GeluExt=GeluV2 FastGeLU=FastGelu Floor Ceil Round Trunc Rint LogicalNot
    BitwiseNot=Invert
mindspore | comparison (x) | IsNan IsInf IsFinite
mindspore | elementwise (x y) | Add AddExt=Add Sub SubExt=Sub Mul Muls Div=RealDiv RealDiv DivMod=FloorDiv DivNoNan
    FloorDiv FloorMod Mod TruncateDiv TruncateMod Maximum Minimum Pow PowTensorScalar=Pow SquaredDifference Xdivy
    Xlogy Atan2 BitwiseAnd BitwiseOr BitwiseXor InplaceAddExt=Add InplaceSubExt=Sub InplaceMul=Mul InplaceDiv=RealDiv
    PReLU=PRelu
mindspore | comparison (x y) | GreaterEqualScalar=GreaterEqual
mindspore | comparison (x y) | Equal NotEqual Greater GreaterEqual Less LessEqual LogicalAnd LogicalOr
    LogicalXor=NotEqual
mindspore | elementwise (x y) | ReluGrad ReLU6Grad=Relu6Grad EluGrad SeluGrad HSwishGrad=HardSwishGrad
    HSigmoidGrad=HardSigmoidGrad SigmoidGrad TanhGrad SqrtGrad RsqrtGrad ReciprocalGrad SoftplusGrad SiLUGrad=SwishGrad
    GeLUGrad=GeluGrad*24 FastGeLUGrad=FastGeluGrad MishGrad*16 AbsGrad LeakyReLUGradExt=LeakyReluGrad
mindspore | elementwise (x target) | MSELossExt=MseLoss L1LossExt=LpLoss KLDiv SoftMarginLoss
mindspore | elementwise (dy x target) | MSELossGradExt=MseLossGrad L1LossBackwardExt=L1LossGrad
    KLDivGrad=KlDivLossGrad
mindspore | elementwise (x target dy) | SoftMarginLossGrad
mindspore | elementwise (x target) | SigmoidCrossEntropyWithLogits BinaryCrossEntropy KLDivLoss
    SmoothL1Loss=SmoothL1LossV2 BCEWithLogitsLoss
mindspore | elementwise (x target dy) | SigmoidCrossEntropyWithLogitsGrad BinaryCrossEntropyGrad
    SmoothL1LossGrad=SmoothL1LossV2Grad KLDivLossGrad
mindspore | elementwise (x y z) | ClipByValue MaskedFill PReLUGrad=PReluGrad
mindspore | elementwise (condition x y) | Select=SelectV2
mindspore | elementwise (x) | FormatCast=TransData
mindspore | elementwise (x) | AcosExt=Acos AcoshExt=Acosh AsinExt=Asin AsinhExt=Asinh AtanExt=Atan Exp2=Pow Log2=Log
    Log10=Log Frac=Sub IsNegInf LogSigmoid Hardtanh=ClipByValueV2 Threshold=ThresholdV2
    Swiglu=SwiGlu*10 InplaceReLU=Relu InplaceSiLU=Swish InplaceSigmoid=Sigmoid InplaceTanh=Tanh InplaceElu=Elu
    InplaceHardtanh=ClipByValueV2 InplaceThreshold=ThresholdV2 InplaceErfinv=Erfinv InplaceExp=Exp
    InplaceFloor=Floor InplaceLog=Log InplaceSign=Sign
mindspore | elementwise (x y) | AddScalar=Add SubScalar=Sub DivMods=FloorDiv FloorDivScalar=FloorDiv
    RemainderTensorTensor=FloorMod RemainderTensorScalar=FloorMod RemainderScalarTensor=FloorMod EqualExt=TensorEqual
mindspore | elementwise (x y) | Atan2Ext=Atan2 LogAddExp LogAddExp2=LogAddExp FmodTensor=Mod FmodScalar=Mod
    BitwiseAndScalar=BitwiseAnd BitwiseOrScalar=BitwiseOr BitwiseXorScalar=BitwiseXor BitwiseOrTensor=BitwiseOr
    BitwiseXorTensor=BitwiseXor XLogYScalarOther=Xlogy XLogYScalarSelf=Xlogy InplaceAddsExt=Add InplaceSubScalar=Sub
    InplaceMuls=Mul InplaceDivs=RealDiv InplaceDivMod=FloorDiv InplaceDivMods=FloorDiv InplaceFloorDivide=FloorDiv
    InplaceFloorDivides=FloorDiv InplaceRemainderTensorTensor=FloorMod InplaceRemainderTensorScalar=FloorMod
mindspore | elementwise (x y z) | LerpScalar=Lerp MaskedFillScalar=MaskedFill
mindspore | elementwise (x y z) | AddcdivExt=Addcdiv AddcmulExt=Addcmul InplaceClampScalar=ClipByValueV2
    InplaceClampTensor=ClipByValueV2 InplaceMaskedFillScalar=MaskedFill InplaceMaskedFillTensor=MaskedFill
mindspore | elementwise (dy x) | GeluGradExt=GeluGradV2*24 EluGradExt=EluGradV2 HardtanhGrad LogSigmoidGrad
    ThresholdGrad=ThresholdGradV2D SwigluGrad=SwiGluGrad*20 SoftplusGradExt=SoftplusV2Grad MishGradExt=MishGrad*16
mindspore | elementwise (x) | ACos=Acos Erfinv Inv Invert BesselI0e BesselI1e CeLU=CeluV2 SoftShrink PopulationCount
    NanToNum
mindspore | elementwise (x y) | LeftShift RightShift
mindspore | elementwise (x y z) | Lerp Addcmul Addcdiv
mindspore | comparison (x y) | IsClose
mindspore | elementwise (condition x y) | SelectV2
mindspore | elementwise (x y) | Outer=Mul
mindspore | accumulation (x) | AddN AccumulateNV2
mindspore | cast (x) | Cast

onnx | elementwise () | Abs Neg Sign Sqrt Reciprocal Exp Log Sin Cos Tan Sinh Cosh Asin Acos Atan Asinh Acosh Atanh
    Erf Tanh Sigmoid HardSigmoid HardSwish Mish Softplus=SoftplusV2 Softsign Relu LeakyRelu PRelu ThresholdedRelu Elu
    Celu=CeluV2 Selu Gelu Floor Ceil Round Not=LogicalNot Clip=ClipByValue IsNaN=IsNan IsInf Add Sub Mul Div=RealDiv
    Mod=FloorMod Pow And=LogicalAnd Or=LogicalOr Xor=LogicalXor BitShift=LeftShift BitwiseAnd BitwiseOr BitwiseXor
    BitwiseNot=Invert Equal Greater GreaterOrEqual=GreaterEqual Less LessOrEqual=LessEqual Where=SelectV2
onnx | accumulation () | Max=Maximum Min=Minimum Sum=AddN Mean
onnx | cast (x) | Cast CastLike=Cast
"""

REDUCTION = """
tf | reduction (x) | Sum=ReduceSumD Mean=ReduceMeanD Max=ReduceMaxD Min=ReduceMinD Prod=ReduceProdD All=ReduceAllD
    Any=ReduceAnyD EuclideanNorm=EuclideanNormD
tf | one_pass (x) | L2Loss ArgMax=ArgMaxD ArgMin=ArgMinD TopK=TopKD TopKV2=TopKD Cumsum=CumsumD Cumprod=CumprodD
    InTopK=InTopKD InTopKV2=InTopKD

mindspore | paired_pass (x) | ReduceSum SumExt=ReduceSum ReduceMean MeanExt=ReduceMean
mindspore | one_pass (x) | ReduceMax ReduceMin ReduceProd
    ProdExt=ReduceProd ReduceAll ReduceAny Max=ReduceMax Min=ReduceMin L2Loss Argmax=ArgMaxV2 Argmin=ArgMinV2
    ArgMaxExt=ArgMaxV2 ArgMinExt=ArgMin ArgMaxWithValue ArgMinWithValue MaxDim=ArgMaxWithValue
    MinDim=ArgMinWithValue TopK=TopKV2 TopkExt=TopKV2 CumSum=Cumsum
    CumsumExt=Cumsum CumProd=Cumprod AdaptiveAvgPool2D=AdaptiveAvgPool2d AdaptiveMaxPool2D=AdaptiveMaxPool2d
    ResizeNearestNeighborV2Grad LpNorm=LpNormV2 NormCalculateFloatStatus=LpNormV2 Var=ReduceVar Std=ReduceStdV2
    VarMean=ReduceVar StdMean=ReduceStdV2 LogSumExp=ReduceLogSumExp CountNonZero=ReduceSum Nansum=ReduceSum
    SortExt=Sort ArgSort=Sort MedianDim=TopKV2 MedianExt=TopKV2 Kthvalue=TopKV2 CumminExt=Cummin TraceExt=Trace
    HistcExt=Histogram BincountExt=Bincount AvgPool1D=AvgPoolV2 AvgPool2D=AvgPoolV2 AvgPool3DExt=AvgPool3D
    AdaptiveAvgPool1D=AdaptiveAvgPool2d AdaptiveAvgPool2DExt=AdaptiveAvgPool2d AdaptiveMaxPool1D=AdaptiveMaxPool2d
    ReduceStd=ReduceStdV2 Cummax Cummin Sort Trace Renorm InTopK=InTopKD AdaptiveAvgPool3D=AdaptiveAvgPool3d
    MaxPoolWithArgmaxV2 AdaptiveAvgPool3DExt=AdaptiveAvgPool3d MaxPoolWithMask=MaxPoolWithArgmaxV1
    MaxPoolWithIndices=MaxPoolWithArgmaxV3

onnx | reduction (x) | ReduceSum=ReduceSumD ReduceMean=ReduceMeanD ReduceMax=ReduceMaxD ReduceMin=ReduceMinD
    ReduceProd=ReduceProdD ReduceL1=LpNorm ReduceL2=LpNorm ReduceSumSquare=SquareSumV1 ReduceLogSum ReduceLogSumExp
onnx | one_pass (x) | ArgMax=ArgMaxD ArgMin=ArgMinD TopK=TopKD CumSum=CumsumD Softmax=SoftmaxV2*5
    LogSoftmax=LogSoftmaxV2*6 Hardmax=HardMax*2 LpNormalization=LpNormV2*3 MeanVarianceNormalization=MVNV2*6
    QuantizeLinear=AscendQuant*3 DequantizeLinear=AscendAntiQuant*2 DynamicQuantizeLinear=DynamicQuant*4
"""

MOVEMENT = """
tf | transpose (x) | Transpose=TransposeD
tf | move (x) | Slice=SliceD StridedSlice=StridedSliceD Reverse=ReverseV2D ReverseV2=ReverseV2D DiagPart=DiagPartD
tf | move (x lengths) | ReverseSequence
tf | move (x) | SpaceToDepth DepthToSpace BatchToSpace=BatchToSpaceD BatchToSpaceND=BatchToSpaceNDD MatrixDiagPartV2
    DataFormatVecPermute DataFormatDimMap
tf | grow (x) | SpaceToBatch=SpaceToBatchD SpaceToBatchND=SpaceToBatchNDD ExtractImagePatches ExtractVolumePatches
    MatrixDiagV2=MatrixDiag
tf | gather (x index) | Gather=GatherV2D GatherV2=GatherV2D ResourceGather=GatherV2D
tf | gather_points (x index) | GatherNd
tf | gather (x index) | ResourceGatherNd=GatherNd
tf | grow (x) | MatrixDiagV3=MatrixDiag Diag=DiagD Tile=TileD BroadcastTo=BroadcastToD Pad=PadD PadV2=PadV2D MirrorPad
tf | place_in_zeros (. . . . x) | StridedSliceGrad=StridedSliceGradD
tf | join (axis parts) | Concat=ConcatD
tf | join (parts axis) | ConcatV2=ConcatD
tf | join (parts) | Pack ParallelConcat
tf | cut (axis x) | Split=SplitD
tf | cut (x) | SplitV=SplitVD Unpack
tf | one_hot (index) | OneHot=OneHotD

mindspore | move (x) | Transpose StridedSlice=StridedSliceD Slice SliceExt=Slice ReverseV2 Contiguous=AsStrided
    Copy=TensorMove TensorMove Clone=TensorMove ViewCopy InplaceCopy=TensorMove
mindspore | gather (x index) | InnerIndex=Index EmbeddingLookup=GatherV2 Index Gather=GatherV2 GatherNd Take=GatherV2
    SparseGatherV2=GatherV2
mindspore | gather (index x) | Embedding=GatherV2
mindspore | gather (x . index) | GatherD=GatherElements IndexSelect=GatherV2
mindspore | grow (x) | ExtractImagePatches
mindspore | grow (x) | RepeatInterleaveInt=RepeatInterleave RepeatInterleaveTensor=RepeatInterleave ConstantPadND=PadV3
    ReflectionPad1D=MirrorPad ReflectionPad2D=MirrorPad ReflectionPad3D=MirrorPad ReplicationPad1D=PadV3
    ReplicationPad2D=PadV3 ReplicationPad3D=PadV3 DiagExt=Diag Im2ColExt=Im2col
mindspore | grow (x) | Diag MirrorPad SpaceToBatchND=SpaceToBatchNDD UpsampleNearest2D=UpsampleNearest Ger Cdist IOU=Iou
mindspore | move (x) | Tril Triu FFTShift IFFTShift ReverseSequence BatchToSpaceND=BatchToSpaceNDD Narrow=Slice
    BatchToSpace=BatchToSpaceD BatchToSpaceNDV2=BatchToSpaceND
mindspore | move (x) | Roll TrilExt=Tril ReflectionPad1DGrad=PadV3Grad ReflectionPad2DGrad=PadV3Grad
    ReflectionPad3DGrad=PadV3Grad ReplicationPad1DGrad=PadV3Grad ReplicationPad2DGrad=PadV3Grad
    ReplicationPad3DGrad=PadV3Grad Col2ImExt=Col2im
mindspore | grow (x) | Tile BroadcastTo Pad=PadD PadV3 StridedSliceGrad SliceGrad
    ResizeNearestNeighbor=ResizeNearestNeighborV2 ResizeNearestNeighborV2 RepeatInterleave=Tile Repeat=Tile
    ExpandAs=BroadcastTo
mindspore | join (parts) | Concat=ConcatD Stack=Pack StackExt=Pack
mindspore | cut (x) | Split=SplitD SplitTensor=SplitD SplitV=SplitVD SplitWithSize=SplitVD Unstack=Unpack
mindspore | cut (x) | Chunk=SplitD ChunkView=SplitD SplitWithSizeView=SplitVD UnstackExtView=Unpack
mindspore | move (x) | TExt=Transpose DiagonalView=DiagPart ViewAs=TensorMove
mindspore | one_hot (index depth on off) | OneHot

onnx | transpose (x order=perm) | Transpose=TransposeD
onnx | move (x) | Aipp Slice=StridedSliceD DepthToSpace SpaceToDepth Trilu ReverseSequence
onnx | gather (x index) | Gather=GatherV2D GatherElements GatherND=GatherNd
onnx | grow (x) | Pad=PadD Tile=TileD Expand=ExpandD
onnx | join (parts) | Concat=ConcatD
onnx | cut_by_sizes (x) | Split=SplitD
onnx | one_hot (index) | OneHot=OneHotD
"""

CREATION = """
tf | fill (x) | OnesLike ZerosLike Fill
tf | sequence () | Range=RangeD LinSpace=LinSpaceD

mindspore | sequence () | LinSpace LinSpaceExt=LinSpace Arange=Range
mindspore | fill () | Fills=Fill NewFull=Fill FillTensor=Fill InplaceFillScalar=Fill InplaceFillTensor=Fill
    InplaceZero=ZerosLike NewZeros=ZerosLike NewOnes=OnesLike
mindspore | fill () | OnesLikeExt=OnesLike ZerosLikeExt=ZerosLike
mindspore | fill () | OnesLike ZerosLike Ones=OnesLike Zeros=ZerosLike Fill FillV2=Fill FillScalar=Fill FullLike=Fill
    Eye

onnx | make () | Range=RangeD
onnx | make_on_cpu () | NonZero NonMaxSuppression=NonMaxSuppressionV6 Unique=UniqueWithCountsExt2
"""

SCATTER = """
tf | scatter (x index updates) | (Resource)ScatterAdd (Resource)ScatterSub (Resource)ScatterMul (Resource)ScatterDiv
    (Resource)ScatterMax (Resource)ScatterMin (Resource)ScatterUpdate (Resource)ScatterNdAdd (Resource)ScatterNdSub
    (Resource)ScatterNdUpdate (Resource)ScatterNdMax (Resource)ScatterNdMin
tf | scatter_copy (x index updates) | TensorScatterUpdate TensorScatterAdd TensorScatterSub TensorScatterMax
    TensorScatterMin ScatterNdNonAliasingAdd=ScatterNonAliasingAdd
tf | add_up (updates index) | UnsortedSegmentSum=UnsortedSegmentSumD UnsortedSegmentMax=UnsortedSegmentMaxD
    UnsortedSegmentMin=UnsortedSegmentMinD UnsortedSegmentProd=UnsortedSegmentProdD SegmentSum
tf | add_up (index updates) | ScatterNd

mindspore | place_values (x) | InplaceScatterSrcReduce=ScatterElements InplaceScatterValue=ScatterElements
    InplaceScatterValueReduce=ScatterElements InplaceIndexCopy=InplaceIndexCopy InplaceMaskedScatter=MaskedScatter
    IndexAddExt=InplaceIndexAdd IndexFillScalar=IndexFill IndexFillTensor=IndexFill
    InplaceIndexFillScalar=IndexFill InplaceIndexFillTensor=IndexFill
mindspore | place_values (x) | InplacePut=ScatterNdUpdate InplaceScatterSrc=ScatterElements
    ScatterAddExt=ScatterElements InplaceScatterAdd=ScatterElements InplaceIndexAddExt=InplaceIndexAdd
mindspore | place_values (x) | InplaceIndexPut=IndexPutV2 InplaceFillDiagonal=FillDiagonal
mindspore | scatter (x index updates) | ScatterNdUpdate ScatterAdd
mindspore | scatter (x index updates) | IndexAdd=InplaceIndexAdd
mindspore | scatter_copy (x index updates) | TensorScatterUpdate TensorScatterAdd TensorScatterSub TensorScatterMul
    TensorScatterDiv TensorScatterMax TensorScatterMin TensorScatterElements=ScatterElements
mindspore | scatter_copy (x . index updates) | Scatter=ScatterElements
mindspore | clear_and_add_up (index updates) | ScatterNd
mindspore | clear_and_add_up (updates index) | UnsortedSegmentMin UnsortedSegmentMax UnsortedSegmentProd
mindspore | clear_and_add_up (updates index) | UnsortedSegmentSum EmbeddingDenseBackward=EmbeddingDenseGrad
mindspore | clear_and_add_up (. . index updates) | GatherDGradV2=ScatterElements

onnx | scatter_result (x index updates) | ScatterElements ScatterND=ScatterNdUpdate
"""

UPDATE = """
tf | assign (handle value) | Assign AssignVariableOp=Assign
tf | assign_with (handle value) | AssignAdd AssignAddVariableOp=AssignAdd AssignSub AssignSubVariableOp=AssignSub
tf | update_by_handle (state . grad) | (Resource)ApplyGradientDescent
tf | update_by_handle (state . . . grad) | (Resource)ApplyProximalGradientDescent
tf | update_by_handle (state state . grad) | (Resource)ApplyMomentum=ApplyMomentumD
    (Resource)ApplyKerasMomentum=ApplyKerasMomentumD (Resource)ApplyAdagrad=ApplyAdagradD
tf | update_by_handle (state state . . grad) | (Resource)ApplyAdagradV2=ApplyAdagradV2D
tf | update_by_handle (state state . . . grad) | (Resource)ApplyProximalAdagrad=ApplyProximalAdagradD
tf | update_by_handle (state state . . . . grad) | (Resource)ApplyAddSign=ApplyAddSignD
    (Resource)ApplyPowerSign=ApplyPowerSignD
tf | update_by_handle (state state state grad) | (Resource)ApplyFtrl=ApplyFtrlD (Resource)ApplyFtrlV2=ApplyFtrlV2D
tf | update_by_handle (state state state . . . grad) | (Resource)ApplyAdadelta=ApplyAdadeltaD
tf | update_by_handle (state state state . . . . grad) | (Resource)ApplyRMSProp=ApplyRMSPropD
tf | update_by_handle (state state state . . . . . grad) | (Resource)ApplyAdaMax=ApplyAdaMaxD
tf | update_by_handle (state state state . . . . . . grad) | (Resource)ApplyAdam=ApplyAdamD
tf | update_by_handle (state state state state . . . . grad) | (Resource)ApplyCenteredRMSProp=ApplyCenteredRMSPropD
tf | update_by_handle (state state state state . . . . . . grad) |
    (Resource)ApplyAdamWithAmsgrad=ApplyAdamWithAmsgradD
tf | update_rows (state state . grad index) | (Resource)SparseApplyMomentum (Resource)SparseApplyKerasMomentum
    (Resource)SparseApplyAdagrad=SparseApplyAdagradD
tf | update_rows (state state . . grad index) | (Resource)SparseApplyAdagradV2=SparseApplyAdagradV2D
tf | update_rows (state state state grad index) | (Resource)SparseApplyFtrl=SparseApplyFtrlD
    (Resource)SparseApplyFtrlV2=SparseApplyFtrlV2D
tf | update_rows (state state state . . . grad index) | (Resource)SparseApplyAdadelta=SparseApplyAdadeltaD
tf | update_rows (state state state . . . . grad index) | (Resource)SparseApplyRMSProp=SparseApplyRMSPropD
tf | update_rows (state . . . grad index) | (Resource)SparseApplyProximalGradientDescent
tf | update_rows (state state . . . grad index) | (Resource)SparseApplyProximalAdagrad=SparseApplyProximalAdagradD
tf | update_rows (state state state grad index) | (Resource)SparseApplyAdagradDA
tf | update_rows (state state state state . . . . grad index) | (Resource)SparseApplyCenteredRMSProp
tf | update_by_handle (state state state grad) | (Resource)ApplyAdagradDA=ApplyAdagradDAD

mindspore | update (state) | ApplyGradientDescent
mindspore | update (state state) | ApplyMomentum FusedWeightApplyMomentum=ApplyMomentum*6 ApplyAdagrad=ApplyAdagradD
    ApplyAdagradV2=ApplyAdagradV2D ApplyProximalAdagrad=ApplyProximalAdagradD
mindspore | update (state grad rate state) | SGD
mindspore | update (state state state) | Adam=ApplyAdamD ApplyAdam=ApplyAdamD AdamWeightDecay=ApplyAdamW
    AdamW=ApplyAdamWV2 ApplyAdaMax ApplyAdadelta=ApplyAdadeltaD ApplyRMSProp=ApplyRMSPropD ApplyFtrl Lamb
mindspore | update (state state state state) | ApplyCenteredRMSProp=ApplyCenteredRMSPropD
mindspore | assign (x value) | Assign
mindspore | assign_with (x value) | AssignAdd AssignSub
"""
