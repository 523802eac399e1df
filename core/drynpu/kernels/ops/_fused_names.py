"""
What MindSpore calls the operators of :mod:`drynpu.kernels.ops.fused`; rows are read like the rows of ``_names.py``.

Kernel types and element operations equal PyTorch's for the same aclnn operators.
"""

from __future__ import annotations

FUSED = """
mindspore | laid_out_attention (query key value . . . . . . . heads . . . . . layout mode) | FlashAttentionScore
mindspore | laid_out_attention_gradient (query key value . . . . . . . . . . . . heads . . . . . layout mode) |
    FlashAttentionScoreGrad
mindspore | laid_out_attention (query key value heads layout . . . . . . . . . . . . . mode) |
    SpeedFusionAttention=FlashAttentionScore
mindspore | laid_out_attention_gradient (query key value dy heads layout . . . . . . . . . . . . . . . . . . mode) |
    SpeedFusionAttentionGrad=FlashAttentionScoreGrad
mindspore | laid_out_attention (query key value . . . . . . . . . heads . . . layout key_heads mode) |
    PromptFlashAttention
mindspore | laid_out_attention (query key value . . . . . . . . . . table . heads layout . key_heads) |
    IncreFlashAttention
mindspore | laid_out_attention (query key value . . . . . . . . . . . table . . . . . . . . . heads . . . layout
    key_heads mode) | FusedInferAttentionScore
mindspore | cached_attention (query key . table . . . . . . heads) | PagedAttention=PagedAttentionMaskNdKernel
mindspore | cached_attention (query key . table . . . . heads) | PagedAttentionMask=PagedAttentionMaskNdKernel
mindspore | vector (x) | RingAttentionUpdate*12 MultiScaleDeformableAttn=MultiScaleDeformableAttnFunction*8
    MultiScaleDeformableAttnGrad=MultiScaleDeformableAttnGrad*16
mindspore | vector (x) | RotaryPositionEmbedding*4 RotaryPositionEmbeddingGrad=RotaryPositionEmbeddingGrad*6
    ApplyRotaryPosEmb*4
mindspore | cached_attention (query . key . table . . . . . heads) | Mla
mindspore | cache_rows (rows more) | ReshapeAndCache=ReshapeAndCacheNdKernel
mindspore | cache_rows (. . rows) | KVCacheScatterUpdate=Scatter

mindspore | expert_products (x first second) | FFNExt=FFN
mindspore | grouped_product (x) | GroupedMatmul GroupedMatmulV2=GroupedMatmul GroupedMatmulV4=GroupedMatmul
    InplaceGroupedMatmulAdd=GroupedMatmulAdd
mindspore | routed (x) | MoeTokenPermute
mindspore | mixed_routed (x) | MoeInitRouting MoeInitRoutingV2
mindspore | vector (x) | MoeTokenPermuteGrad=MoeTokenUnpermute*1 InnerMoeTokenUnpermute=MoeTokenUnpermute*2
    MoeTokenUnpermuteGrad*4 MoeGatingTopKSoftmax*8 MoeFinalizeRouting=MoeFinalizeRoutingV2*3
    MoeComputeExpertTokens*1 GroupTopk*6 FusedAddTopKDiv=MoeGatingTopK*10 TopKRouter*6

mindspore | vector (x) | DynamicNTK*20 RotatedIou*200 AdaptiveMaxPool3D=AdaptiveMaxPool3d*2
mindspore | vector (x) | QuantV2=AscendQuantV2*4 DynamicQuantExt=DynamicQuant*5 DequantSwigluQuant*18

mindspore | vector (x) | CrossEntropyLoss*8 CrossEntropyLossGrad*6 MultilabelMarginLossGrad=MultilabelMarginLossGrad*6
    CholeskyGrad*3 BatchNormReduceGrad=SyncBatchNormBackwardReduce*4 BatchNormElemtGrad=SyncBatchNormBackwardElemt*5
mindspore | vector (x) | NLLLoss*2 NLLLossGrad*1 Divs=RealDiv*1 AvgPool2DGrad=AvgPoolV2Grad*2
    AdaptiveAvgPool2DGradExt=AdaptiveAvgPool2dGrad*2 AdaptiveMaxPool2DGrad=AdaptiveMaxPool2dGrad*2
    MaxPoolGradWithMask=MaxPoolGradWithArgmaxV1*2 MaxPoolGradWithIndices=MaxPoolGradWithArgmaxV3*2
    RepeatInterleaveGrad*1 OneHotExt=OneHot*1
mindspore | vector (. x) | BatchNormGatherStatsWithCounts=SyncBatchNormGatherStatsWithCounts*6
mindspore | vector (x . . . . . . . . . y) | ApplyAdamW=ApplyAdamW*12
mindspore | vector (x) | AdaptiveAvgPool3DGradExt=AdaptiveAvgPool3dGrad*2 AvgPool3DGradExt=AvgPool3DGrad*2
    BatchNormElemt=SyncBatchNormElemt*4 BatchNormStats=SyncBatchNormStats*4
    BinaryCrossEntropyWithLogitsBackward=SigmoidCrossEntropyWithLogitsGradV2*6 CdistGrad*4 Col2ImGrad=Im2col*1
    DropoutDoMaskExt=DropOutDoMaskV3*2 DropoutGradExt=DropOutDoMaskV3*2 GLU*5 GluGrad=GLUGrad*6
    GridSampler2D*12 GridSampler2DGrad*24 LpNormV2*4 Norm=LpNormV2*4 NLLLoss2d=NLLLoss*2 NLLLoss2dGrad=NLLLossGrad*1
    LayerNormV3*8 LayerNormGradV3*14 MaskedSelectGrad=MaskedScatter*1 MaxPoolGradWithArgmaxV2*2
    UpsampleNearest2DGrad=UpsampleNearestGrad*1
mindspore | dropped (x) | DropoutExt=DropOutDoMaskV3
mindspore | random () | BernoulliExt=DSAGenBitMask DropoutGenMaskExt=DSAGenBitMask InplaceBernoulliTensor=DSAGenBitMask
    InplaceRandom=DSARandomUniform NormalFloatFloat=DSARandomNormal NormalFloatTensor=DSARandomNormal
    NormalTensorFloat=DSARandomNormal NormalTensorTensor=DSARandomNormal RandInt=DSARandomUniform
    RandIntLike=DSARandomUniform UniformExt=DSARandomUniform
mindspore | random () | RandExt=DSARandomUniform RandLikeExt=DSARandomUniform Randn=DSARandomNormal
    RandnLike=DSARandomNormal InplaceUniform=DSARandomUniform InplaceNormal=DSARandomNormal
    InplaceBernoulliScalar=DSAGenBitMask
"""
