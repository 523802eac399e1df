"""
What MindSpore calls fused operators, and vector kernels that few scripts reach.

Kernel types and element operations equal PyTorch's for the same aclnn operators. Where MindSpore's name is not the
operator library's, the type is the one that the library's graph operators bear.
"""

from __future__ import annotations

from typing import Final

from drynpu.kernels._named import Named
from drynpu.kernels.ops import fused

ROWS: Final = (
    # Fused operators, and vector kernels that few scripts reach.
    Named(fused.laid_out_attention, "query key value heads@10 layout@16 mode", "FlashAttentionScore"),
    Named(fused.laid_out_attention_gradient, "query key value heads@15 layout@21 mode", "FlashAttentionScoreGrad"),
    Named(fused.laid_out_attention, "query key value heads layout mode@18", "SpeedFusionAttention=FlashAttentionScore"),
    Named(
        fused.laid_out_attention_gradient,
        "query key value dy heads layout mode@24",
        "SpeedFusionAttentionGrad=FlashAttentionScoreGrad",
    ),
    Named(fused.laid_out_attention, "query key value heads@12 layout@16 key_heads mode", "PromptFlashAttention"),
    Named(fused.laid_out_attention, "query key value table@13 heads@15 layout key_heads@18", "IncreFlashAttention"),
    Named(
        fused.laid_out_attention,
        "query key value table@14 heads@24 layout@28 key_heads mode",
        "FusedInferAttentionScore",
    ),
    Named(fused.cached_attention, "query key table@3 heads@10", "PagedAttention=PagedAttentionMaskNdKernel"),
    Named(fused.cached_attention, "query key table@3 heads@8", "PagedAttentionMask=PagedAttentionMaskNdKernel"),
    Named(
        fused.vector,
        "x",
        "RingAttentionUpdate*12 MultiScaleDeformableAttn=MultiScaleDeformableAttnFunction*8 "
        "MultiScaleDeformableAttnGrad=MultiScaleDeformableAttnGrad*16",
    ),
    Named(
        fused.vector,
        "x",
        "RotaryPositionEmbedding*4 RotaryPositionEmbeddingGrad=RotaryPositionEmbeddingGrad*6 ApplyRotaryPosEmb*4",
    ),
    Named(fused.cached_attention, "query key@2 table@4 heads@10", "Mla"),
    Named(fused.cache_rows, "rows more", "ReshapeAndCache=ReshapeAndCacheNdKernel"),
    Named(fused.cache_rows, "rows@2", "KVCacheScatterUpdate=Scatter"),
    Named(fused.expert_products, "x first second", "FFNExt=FFN"),
    Named(
        fused.grouped_product,
        "x",
        "GroupedMatmul GroupedMatmulV2=GroupedMatmul GroupedMatmulV4=GroupedMatmul "
        "InplaceGroupedMatmulAdd=GroupedMatmulAdd",
    ),
    Named(fused.routed, "x", "MoeTokenPermute"),
    Named(fused.mixed_routed, "x", "MoeInitRouting MoeInitRoutingV2"),
    Named(
        fused.vector,
        "x",
        "MoeTokenPermuteGrad=MoeTokenUnpermute*1 InnerMoeTokenUnpermute=MoeTokenUnpermute*2 MoeTokenUnpermuteGrad*4 "
        "MoeGatingTopKSoftmax*8 MoeFinalizeRouting=MoeFinalizeRoutingV2*3 MoeComputeExpertTokens*1 GroupTopk*6 "
        "FusedAddTopKDiv=MoeGatingTopK*10 TopKRouter*6",
    ),
    Named(fused.vector, "x", "DynamicNTK*20 RotatedIou*200 AdaptiveMaxPool3D=AdaptiveMaxPool3d*2"),
    Named(fused.vector, "x", "QuantV2=AscendQuantV2*4 DynamicQuantExt=DynamicQuant*5 DequantSwigluQuant*18"),
    Named(
        fused.vector,
        "x",
        "CrossEntropyLoss*8 CrossEntropyLossGrad*6 MultilabelMarginLossGrad=MultilabelMarginLossGrad*6 "
        "CholeskyGrad*3 BatchNormReduceGrad=SyncBatchNormBackwardReduce*4 "
        "BatchNormElemtGrad=SyncBatchNormBackwardElemt*5",
    ),
    Named(
        fused.vector,
        "x",
        "NLLLoss*2 NLLLossGrad*1 Divs=RealDiv*1 AvgPool2DGrad=AvgPoolV2Grad*2 "
        "AdaptiveAvgPool2DGradExt=AdaptiveAvgPool2dGrad*2 AdaptiveMaxPool2DGrad=AdaptiveMaxPool2dGrad*2 "
        "MaxPoolGradWithMask=MaxPoolGradWithArgmaxV1*2 MaxPoolGradWithIndices=MaxPoolGradWithArgmaxV3*2 "
        "RepeatInterleaveGrad*1 OneHotExt=OneHot*1",
    ),
    Named(fused.vector, "x@1", "BatchNormGatherStatsWithCounts=SyncBatchNormGatherStatsWithCounts*6"),
    Named(fused.vector, "x y@10", "ApplyAdamW=ApplyAdamW*12"),
    Named(
        fused.vector,
        "x",
        "AdaptiveAvgPool3DGradExt=AdaptiveAvgPool3dGrad*2 AvgPool3DGradExt=AvgPool3DGrad*2 "
        "BatchNormElemt=SyncBatchNormElemt*4 BatchNormStats=SyncBatchNormStats*4 "
        "BinaryCrossEntropyWithLogitsBackward=SigmoidCrossEntropyWithLogitsGradV2*6 CdistGrad*4 Col2ImGrad=Im2col*1 "
        "DropoutDoMaskExt=DropOutDoMaskV3*2 DropoutGradExt=DropOutDoMaskV3*2 GLU*5 GluGrad=GLUGrad*6 "
        "GridSampler2D*12 GridSampler2DGrad*24 LpNormV2*4 Norm=LpNormV2*4 NLLLoss2d=NLLLoss*2 "
        "NLLLoss2dGrad=NLLLossGrad*1 LayerNormV3*8 LayerNormGradV3*14 MaskedSelectGrad=MaskedScatter*1 "
        "MaxPoolGradWithArgmaxV2*2 UpsampleNearest2DGrad=UpsampleNearestGrad*1",
    ),
    Named(fused.dropped, "x", "DropoutExt=DropOutDoMaskV3"),
    Named(
        fused.random,
        "",
        "BernoulliExt=DSAGenBitMask DropoutGenMaskExt=DSAGenBitMask InplaceBernoulliTensor=DSAGenBitMask "
        "InplaceRandom=DSARandomUniform NormalFloatFloat=DSARandomNormal NormalFloatTensor=DSARandomNormal "
        "NormalTensorFloat=DSARandomNormal NormalTensorTensor=DSARandomNormal RandInt=DSARandomUniform "
        "RandIntLike=DSARandomUniform UniformExt=DSARandomUniform",
    ),
    Named(
        fused.random,
        "",
        "RandExt=DSARandomUniform RandLikeExt=DSARandomUniform Randn=DSARandomNormal RandnLike=DSARandomNormal "
        "InplaceUniform=DSARandomUniform InplaceNormal=DSARandomNormal InplaceBernoulliScalar=DSAGenBitMask",
    ),
    Named(
        fused.vector,
        "x",
        "ACosGrad=AcosGrad*4 AcoshGrad*4 AsinGrad*4 AsinhGrad*4 AtanGrad*4 HShrinkGrad=HardShrinkGrad*3 "
        "SoftShrinkGrad*3 InvGrad*3 MaximumGrad*3 MinimumGrad*3 ReLUV3=Relu*1 ScaleGrad=Mul*1 LRNGrad*14 "
        "L2Normalize*4 L2NormalizeGrad*8 ClipByNorm*4 SoftmaxGradFusion=SoftmaxGrad*6 "
        "InstanceNormV2=INTrainingUpdateV2*8 InstanceNormV2Grad=INTrainingUpdateGrad*14",
    ),
    Named(
        fused.vector,
        "x",
        "BitwiseAndTensor=BitwiseAnd*1 MulNoNan*2 AddV2=Add*1 ApproximateEqual*3 SquareSumAll*2 "
        "EqualCount=ReduceSum*1 NuclearNorm=LpNormV2*4 AllFinite=NonFiniteCheck*2",
    ),
    Named(
        fused.vector,
        "x",
        "ResizeBilinearV2*8 ResizeBilinearGrad=ResizeBilinearV2Grad*8 ResizeLinear1D=Resize*4 "
        "ResizeLinear1DGrad=ResizeGrad*4 ResizeNearestNeighborGrad=ResizeNearestNeighborV2Grad*1 ResizeV2=Resize*8 "
        "ResizeV2Grad=ResizeGrad*8 UpsampleNearest1D=UpsampleNearest*1 UpsampleNearest1DGrad=UpsampleNearestGrad*1 "
        "ROIAlign*8 ROIAlignGrad*8 PSROIPooling=PSROIPoolingV2*4 PSROIPoolingGrad=PSROIPoolingGradV2D*4",
    ),
    Named(
        fused.vector,
        "x",
        "TraceV2=Trace*1 TraceV2Grad=Trace*1 TraceGrad=Trace*1 Diagonal=DiagPart*1 DiagPart*1 MaskedScatter*1 "
        "DepthToSpace*1 SpaceToDepth*1 MirrorPadGrad*1 PadV3Grad*1 ParallelConcat*1 Expand=BroadcastTo*1 "
        "DynamicBroadcastTo=BroadcastTo*1 ExtractVolumePatches*1 DataFormatDimMap*1 FillDiagonal*1 "
        "DynamicAssign=Assign*1 FlattenGrad=TensorMove*1 Shift=TensorMove*1 Rolling=TensorMove*1",
    ),
    Named(
        fused.vector,
        "x",
        "MatrixDiag*1 MatrixDiagPart*1 MatrixSetDiag*1 LARSUpdate=LarsV2Update*6 "
        "LARSUpdateWithOptions=LarsV2Update*6 ThorIm2ColWithOptions=Im2col*1",
    ),
    Named(
        fused.vector,
        "x",
        "AdaptiveAvgPool3DGrad=AdaptiveAvgPool3dGrad*2 AdaptiveMaxPool3DGrad=AdaptiveMaxPool3dGrad*2 AvgPool3DGrad*2 "
        "MaxPool3DGrad*2 MaxPool3DGradGrad*2 MaxPoolGradGrad*2 MaxPoolGradGradWithArgmax*2 MaxPool3DGradWithArgmax*2 "
        "Dilation2D*9 Dilation2DBackpropFilter*9 Dilation2DBackpropInput*9 DeformableOffsets*8 "
        "DeformableOffsetsGrad*16",
    ),
    Named(
        fused.vector,
        "x",
        "BoundingBoxDecode*12 BoundingBoxEncode*12 CheckValid*6 NMSWithMask*20 "
        "SparseSoftmaxCrossEntropyWithLogitsV2=SparseSoftmaxCrossEntropyWithLogits*8 CTCLossV2*40 CTCLossV2Grad*40",
    ),
    Named(
        fused.vector,
        "x",
        "ScatterDiv*1 ScatterMax*1 ScatterMin*1 ScatterMul*1 ScatterSub*1 ScatterUpdate*1 ScatterNdAdd*1 "
        "ScatterNdDiv*1 ScatterNdMax*1 ScatterNdMin*1 ScatterNdMul*1 ScatterNdSub*1 ScatterValue=ScatterElements*1 "
        "ScatterAddWithAxis*1 InplaceAdd*1 InplaceSub*1 InplaceUpdate*1 InplaceUpdateV2=InplaceUpdate*1 "
        "InplaceIndexAdd*1 IndexPut=IndexPutV2*1 TensorCopySlices=ViewCopy*1",
    ),
    Named(fused.vector, "x", "HistogramFixedWidth=HistogramFixedWidthD*6 ApplyKerasMomentum=ApplyKerasMomentumD*4"),
    Named(
        fused.vector,
        "x",
        "ApplyAdagradDA=ApplyAdagradDAD*8 ApplyAdamWithAmsgrad=ApplyAdamWithAmsgradD*12 "
        "ApplyAdamWithAmsgradV2=ApplyAdamWithAmsgradV2*12 ApplyAddSign=ApplyAddSignD*6 "
        "ApplyPowerSign=ApplyPowerSignD*6 ApplyProximalGradientDescent*5 AdamNoUpdateParam=ApplyAdamD*10 "
        "FusedCastAdamWeightDecay=ApplyAdamW*12 FusedAdaFactor*16 FusedAdaFactorWithGlobalNorm=FusedAdaFactor*16 "
        "SparseApplyAdagrad=SparseApplyAdagradD*4 SparseApplyAdagradV2=SparseApplyAdagradV2D*4 "
        "SparseApplyFtrl=SparseApplyFtrlD*8 SparseApplyRMSProp=SparseApplyRMSPropD*8 "
        "SparseApplyAdadelta=SparseApplyAdadeltaD*10 SparseApplyProximalAdagrad=SparseApplyProximalAdagradD*8 "
        "ApplyNesterovMomentum=ApplyMomentum*4",
    ),
)
