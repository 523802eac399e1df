"""What MindSpore calls operators that move, scatter and update tensors."""

from __future__ import annotations

from typing import Final

from drynpu.kernels._named import Named
from drynpu.kernels.ops import movement, scatter, update

ROWS: Final = (
    # Moves.
    Named(
        movement.move,
        "x",
        "Transpose StridedSlice=StridedSliceD Slice SliceExt=Slice ReverseV2 Contiguous=AsStrided Copy=TensorMove "
        "TensorMove Clone=TensorMove ViewCopy InplaceCopy=TensorMove",
    ),
    Named(
        movement.gather,
        "x index",
        "InnerIndex=Index EmbeddingLookup=GatherV2 Index Gather=GatherV2 GatherNd Take=GatherV2 "
        "SparseGatherV2=GatherV2",
    ),
    Named(movement.gather, "index x", "Embedding=GatherV2"),
    Named(movement.gather, "x index@2", "GatherD=GatherElements IndexSelect=GatherV2"),
    Named(movement.grow, "x", "ExtractImagePatches"),
    Named(
        movement.grow,
        "x",
        "RepeatInterleaveInt=RepeatInterleave RepeatInterleaveTensor=RepeatInterleave ConstantPadND=PadV3 "
        "ReflectionPad1D=MirrorPad ReflectionPad2D=MirrorPad ReflectionPad3D=MirrorPad ReplicationPad1D=PadV3 "
        "ReplicationPad2D=PadV3 ReplicationPad3D=PadV3 DiagExt=Diag Im2ColExt=Im2col",
    ),
    Named(
        movement.grow,
        "x",
        "Diag MirrorPad SpaceToBatchND=SpaceToBatchNDD UpsampleNearest2D=UpsampleNearest Ger Cdist IOU=Iou",
    ),
    Named(
        movement.move,
        "x",
        "Tril Triu FFTShift IFFTShift ReverseSequence BatchToSpaceND=BatchToSpaceNDD Narrow=Slice "
        "BatchToSpace=BatchToSpaceD BatchToSpaceNDV2=BatchToSpaceND",
    ),
    Named(
        movement.move,
        "x",
        "Roll TrilExt=Tril ReflectionPad1DGrad=PadV3Grad ReflectionPad2DGrad=PadV3Grad ReflectionPad3DGrad=PadV3Grad "
        "ReplicationPad1DGrad=PadV3Grad ReplicationPad2DGrad=PadV3Grad ReplicationPad3DGrad=PadV3Grad "
        "Col2ImExt=Col2im",
    ),
    Named(
        movement.grow,
        "x",
        "Tile BroadcastTo Pad=PadD PadV3 StridedSliceGrad SliceGrad ResizeNearestNeighbor=ResizeNearestNeighborV2 "
        "ResizeNearestNeighborV2 RepeatInterleave=Tile Repeat=Tile ExpandAs=BroadcastTo",
    ),
    Named(movement.join, "parts", "Concat=ConcatD Stack=Pack StackExt=Pack"),
    Named(movement.cut, "x", "Split=SplitD SplitTensor=SplitD SplitV=SplitVD SplitWithSize=SplitVD Unstack=Unpack"),
    Named(movement.cut, "x", "Chunk=SplitD ChunkView=SplitD SplitWithSizeView=SplitVD UnstackExtView=Unpack"),
    Named(movement.move, "x", "TExt=Transpose DiagonalView=DiagPart ViewAs=TensorMove"),
    Named(movement.one_hot, "index depth on off", "OneHot"),
    # Scatters.
    Named(
        scatter.place_values,
        "x",
        "InplaceScatterSrcReduce=ScatterElements InplaceScatterValue=ScatterElements "
        "InplaceScatterValueReduce=ScatterElements InplaceIndexCopy=InplaceIndexCopy "
        "InplaceMaskedScatter=MaskedScatter IndexAddExt=InplaceIndexAdd IndexFillScalar=IndexFill "
        "IndexFillTensor=IndexFill InplaceIndexFillScalar=IndexFill InplaceIndexFillTensor=IndexFill",
    ),
    Named(
        scatter.place_values,
        "x",
        "InplacePut=ScatterNdUpdate InplaceScatterSrc=ScatterElements ScatterAddExt=ScatterElements "
        "InplaceScatterAdd=ScatterElements InplaceIndexAddExt=InplaceIndexAdd",
    ),
    Named(scatter.place_values, "x", "InplaceIndexPut=IndexPutV2 InplaceFillDiagonal=FillDiagonal"),
    Named(scatter.scatter, "x index updates", "ScatterNdUpdate ScatterAdd"),
    Named(scatter.scatter, "x index updates", "IndexAdd=InplaceIndexAdd"),
    Named(
        scatter.scatter_copy,
        "x index updates",
        "TensorScatterUpdate TensorScatterAdd TensorScatterSub TensorScatterMul TensorScatterDiv TensorScatterMax "
        "TensorScatterMin TensorScatterElements=ScatterElements",
    ),
    Named(scatter.scatter_copy, "x index@2 updates", "Scatter=ScatterElements"),
    Named(scatter.clear_and_add_up, "index updates", "ScatterNd"),
    Named(scatter.clear_and_add_up, "updates index", "UnsortedSegmentMin UnsortedSegmentMax UnsortedSegmentProd"),
    Named(scatter.clear_and_add_up, "updates index", "UnsortedSegmentSum EmbeddingDenseBackward=EmbeddingDenseGrad"),
    Named(scatter.clear_and_add_up, "index@2 updates", "GatherDGradV2=ScatterElements"),
    # Updates of weights.
    Named(update.update, "state", "ApplyGradientDescent"),
    Named(
        update.update,
        "state state",
        "ApplyMomentum FusedWeightApplyMomentum=ApplyMomentum*6 ApplyAdagrad=ApplyAdagradD "
        "ApplyAdagradV2=ApplyAdagradV2D ApplyProximalAdagrad=ApplyProximalAdagradD",
    ),
    Named(update.update, "state grad rate state", "SGD"),
    Named(
        update.update,
        "state state state",
        "Adam=ApplyAdamD ApplyAdam=ApplyAdamD AdamWeightDecay=ApplyAdamW AdamW=ApplyAdamWV2 ApplyAdaMax "
        "ApplyAdadelta=ApplyAdadeltaD ApplyRMSProp=ApplyRMSPropD ApplyFtrl Lamb",
    ),
    Named(update.update, "state state state state", "ApplyCenteredRMSProp=ApplyCenteredRMSPropD"),
    Named(update.assign, "x value", "Assign"),
    Named(update.assign_with, "x value", "AssignAdd AssignSub"),
)
