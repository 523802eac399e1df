"""
What MindSpore and npu_bridge call vector kernels that few scripts reach; rows are read like the rows of ``_names.py``.

Each is one kernel of the operator library that reads and writes its tensors once. Where the framework's name is not the
library's, the type is the one that the library's graph operators bear.
"""

from __future__ import annotations

RARE = """
tf | vector (x) | GeluGrad*24 PReluGrad*4 Centralization*2 SquareSumAll*2 LarsV2Update*6
tf | vector (x) | AdamApplyOneAssign*12 AdamApplyOneWithDecayAssign*14 LambApplyOptimizerAssign*16
    LambApplyWeightAssign*4

mindspore | vector (x) | ACosGrad=AcosGrad*4 AcoshGrad*4 AsinGrad*4 AsinhGrad*4 AtanGrad*4 HShrinkGrad=HardShrinkGrad*3
    SoftShrinkGrad*3 InvGrad*3 MaximumGrad*3 MinimumGrad*3 ReLUV3=Relu*1 ScaleGrad=Mul*1 LRNGrad*14
    L2Normalize*4 L2NormalizeGrad*8 ClipByNorm*4 SoftmaxGradFusion=SoftmaxGrad*6 InstanceNormV2=INTrainingUpdateV2*8
    InstanceNormV2Grad=INTrainingUpdateGrad*14
mindspore | vector (x) | BitwiseAndTensor=BitwiseAnd*1 MulNoNan*2 AddV2=Add*1 ApproximateEqual*3 SquareSumAll*2
    EqualCount=ReduceSum*1 NuclearNorm=LpNormV2*4 AllFinite=NonFiniteCheck*2
mindspore | vector (x) | ResizeBilinearV2*8 ResizeBilinearGrad=ResizeBilinearV2Grad*8 ResizeLinear1D=Resize*4
    ResizeLinear1DGrad=ResizeGrad*4 ResizeNearestNeighborGrad=ResizeNearestNeighborV2Grad*1 ResizeV2=Resize*8
    ResizeV2Grad=ResizeGrad*8 UpsampleNearest1D=UpsampleNearest*1 UpsampleNearest1DGrad=UpsampleNearestGrad*1
    ROIAlign*8 ROIAlignGrad*8 PSROIPooling=PSROIPoolingV2*4 PSROIPoolingGrad=PSROIPoolingGradV2D*4
mindspore | vector (x) | TraceV2=Trace*1 TraceV2Grad=Trace*1 TraceGrad=Trace*1 Diagonal=DiagPart*1 DiagPart*1
    MaskedScatter*1 DepthToSpace*1 SpaceToDepth*1 MirrorPadGrad*1 PadV3Grad*1 ParallelConcat*1 Expand=BroadcastTo*1
    DynamicBroadcastTo=BroadcastTo*1 ExtractVolumePatches*1 DataFormatDimMap*1 FillDiagonal*1 DynamicAssign=Assign*1
    FlattenGrad=TensorMove*1 Shift=TensorMove*1 Rolling=TensorMove*1
mindspore | vector (x) | MatrixDiag*1 MatrixDiagPart*1 MatrixSetDiag*1 LARSUpdate=LarsV2Update*6
    LARSUpdateWithOptions=LarsV2Update*6 ThorIm2ColWithOptions=Im2col*1
mindspore | vector (x) | AdaptiveAvgPool3DGrad=AdaptiveAvgPool3dGrad*2 AdaptiveMaxPool3DGrad=AdaptiveMaxPool3dGrad*2
    AvgPool3DGrad*2 MaxPool3DGrad*2 MaxPool3DGradGrad*2 MaxPoolGradGrad*2 MaxPoolGradGradWithArgmax*2
    MaxPool3DGradWithArgmax*2 Dilation2D*9
    Dilation2DBackpropFilter*9 Dilation2DBackpropInput*9 DeformableOffsets*8 DeformableOffsetsGrad*16
mindspore | vector (x) | BoundingBoxDecode*12 BoundingBoxEncode*12 CheckValid*6 NMSWithMask*20
    SparseSoftmaxCrossEntropyWithLogitsV2=SparseSoftmaxCrossEntropyWithLogits*8 CTCLossV2*40 CTCLossV2Grad*40
mindspore | vector (x) | ScatterDiv*1 ScatterMax*1 ScatterMin*1 ScatterMul*1 ScatterSub*1 ScatterUpdate*1
    ScatterNdAdd*1 ScatterNdDiv*1 ScatterNdMax*1 ScatterNdMin*1 ScatterNdMul*1 ScatterNdSub*1
    ScatterValue=ScatterElements*1 ScatterAddWithAxis*1 InplaceAdd*1 InplaceSub*1 InplaceUpdate*1
    InplaceUpdateV2=InplaceUpdate*1 InplaceIndexAdd*1 IndexPut=IndexPutV2*1 TensorCopySlices=ViewCopy*1
mindspore | vector (x) | HistogramFixedWidth=HistogramFixedWidthD*6 ApplyKerasMomentum=ApplyKerasMomentumD*4
mindspore | vector (x) | ApplyAdagradDA=ApplyAdagradDAD*8 ApplyAdamWithAmsgrad=ApplyAdamWithAmsgradD*12
    ApplyAdamWithAmsgradV2=ApplyAdamWithAmsgradV2*12 ApplyAddSign=ApplyAddSignD*6 ApplyPowerSign=ApplyPowerSignD*6
    ApplyProximalGradientDescent*5 AdamNoUpdateParam=ApplyAdamD*10 FusedCastAdamWeightDecay=ApplyAdamW*12
    FusedAdaFactor*16 FusedAdaFactorWithGlobalNorm=FusedAdaFactor*16 SparseApplyAdagrad=SparseApplyAdagradD*4
    SparseApplyAdagradV2=SparseApplyAdagradV2D*4 SparseApplyFtrl=SparseApplyFtrlD*8
    SparseApplyRMSProp=SparseApplyRMSPropD*8 SparseApplyAdadelta=SparseApplyAdadeltaD*10
    SparseApplyProximalAdagrad=SparseApplyProximalAdagradD*8 ApplyNesterovMomentum=ApplyMomentum*4
"""
