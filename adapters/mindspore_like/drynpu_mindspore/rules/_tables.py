"""What is known of primitives by their names: the API that launches them, and which launch no vector or cube kernel."""

from __future__ import annotations

from typing import Final

from drynpu.kernels import OperatorCall, Rule, bind, launches_nothing, ops
from drynpu_mindspore.rules._launch import LaunchCall

# Changes of shape are views on a device, though the CPU copies for some of them.
_SHAPES: Final = (
    "Reshape ReshapeView Flatten FlattenExt ExpandDims Squeeze View Shape TensorShape DynamicShape Rank Size"
)
_VIEWS: Final = """
TransposeView TransposeExtView SelectExtView SplitTensorView ExpandDimsView NarrowView BroadcastToView SliceExtView
"""
_GRAPH: Final = """
Load UpdateState Depend MakeTuple TupleGetItem Return Identity StopGradient Partial Switch SwitchLayer Call
TupleToTensor ScalarToTensor TensorToTuple TensorToScalar RealMakeTuple RealTupleGetItem InitDataSetQueue GetNext
Generator MoveTo Empty EmptyLike NewEmpty AShardIdentity IdentityN
"""
# Python values of a graph (numbers, tuples, shapes, calls of Python): the host computes them between launches. Those
# that MindSpore's register of AI CPU kernels has as well (SequenceAdd, SequenceConcat) stand below.
_HOST: Final = """
PyExecute ShapeCalc BoolNot ScalarAdd ScalarBool ScalarCast ScalarDiv ScalarEq ScalarFloorDiv ScalarGe ScalarGt ScalarLe
ScalarLog ScalarLt ScalarMax ScalarMin ScalarMod ScalarMul ScalarPow ScalarSub ScalarUadd ScalarUsub InSequence
ListAppend ListAppendAndInsertGrad ListInsert ListToTensor TensorToList SequenceCount SequenceIndex SequenceMax
SequenceMin SequenceMul SequenceSlice SequenceSliceGrad SequenceSliceSetItem SequenceUnstack SequenceZerosLike
ShapeMulGrad DynamicBroadcastGradientArgs
Assert CustomOpPlugin Debug ConvertToDynamic EllipsisToSlice EnvironCreate EnvironDestroyAll EnvironGet EnvironSet
TensorDump GetSqueezeSliceShape GetTupleIndexInfo JoinedStr ListToTuple TupleToList NormalizeDimIndex NormalizeSlice
NormalizeTupleIndex Print PyFunc RemakeTupleIndex RemoveExpandedDims SliceToIndices TileSize array_len bit_and bit_or
bool_and bool_eq bool_or list_equal list_greater_equal list_greater_than list_le list_lt list_setitem make_range raise
sequence_len shape_mul tuple_equal tuple_greater_equal tuple_greater_than tuple_le tuple_lt tuple_setitem FFTShapeCopy
"""
# The recording makes rows of communication of them, which are no kernels of a core.
_COMMUNICATION: Final = """
AllGather AllGatherV AllReduce AlltoAll AlltoAllV AlltoAllVC Barrier BatchISendIRecv Broadcast CollectiveGather
InnerCommAllGather InnerCommAllReduce InnerCommAllToAllV InnerCommIrecv InnerCommIsend InnerCommReduceScatter
CollectiveScatter NeighborExchange NeighborExchangeV2 NeighborExchangeV2Grad Receive Reduce ReduceScatter ReduceScatterV
Send
"""
NOTHING: Final = frozenset(f"{_SHAPES} {_VIEWS} {_GRAPH} {_HOST} {_COMMUNICATION}".split())
_AI_CPU: Final = """
CholeskyTrsmWithOptions UpdateThorGradient
UniformReal UniformInt StandardNormal StandardLaplace Gamma Poisson Multinomial RandomChoiceWithMask RandpermV2
RandomShuffle TruncatedNormal Unique UniqueWithPad Where NonZero Bincount MatrixDiagV3 MatrixDiagPartV3 MatrixInverse
Cholesky Qr Svd FFT IFFT SearchSorted Histogram NonMaxSuppressionV3 CropAndResize CTCLoss CTCGreedyDecoder Range Real
Imag Conj Polar Complex MatrixSetDiagV3 MatrixBandPart MatrixDeterminant LogMatrixDeterminant MatrixPower MatrixSolve
MatrixInverseExt MatrixExp CholeskySolve CholeskyInverse Lu LuSolve LuUnpack Lstsq Eig Geqrf Cross Pdist Median FFT2
FFTN IFFT2 IFFTN RFFT RFFT2 RFFTN IRFFT IRFFT2 IRFFTN FFTWithSize BesselI0 BesselI1 BesselJ0 BesselJ1 BesselK0
BesselK0e BesselK1 BesselK1e BesselY0 BesselY1 Digamma Lgamma Mvlgamma Polygamma Igamma Igammac Zeta Sinc Gcd Lcm
Hypot Heaviside NextAfter Fmax Fmin Logit Eps IndexFill AffineGrid ChannelShuffle Im2Col Col2Im Padding HammingWindow
BartlettWindow BlackmanWindow LogSpace CumulativeLogsumexp MaxPool3DWithArgmax MaxUnpool2D MultiMarginLoss
MultilabelMarginLoss TriangularSolve LinalgQr Unique2 UniqueDim Bucketize RandpermExt
MultinomialExt
ComputeAccidentalHits Randperm RNNTLoss TopPRouter GenerateEodMaskV2 InsertGemV2InBackward InnerNonZero InnerUnique
UniqueConsecutive MaskedSelect TrilIndices TriuIndices FFTFreq RFFTFreq
Meshgrid Angle BatchNormGradGrad Betainc ConcatOffset GridSampler3D GridSampler3DGrad LayerNormGradGrad LogitGrad
MaximumGradGrad MinimumGradGrad ResizeBicubic ResizeBicubicGrad SequenceAdd SequenceAddN SequenceAddOffset
SequenceConcat SequenceStack UpsampleNearest3D UpsampleNearest3DGrad UpsampleTrilinear3D UpsampleTrilinear3DGrad
AdjustContrastv2 AdjustHue AdjustSaturation AffineGridGrad Bernoulli CSRSparseMatrixToDense
CSRSparseMatrixToSparseTensor Cauchy CheckNumerics Coalesce CombinedNonMaxSuppression CompareAndBitpack ComplexAbs
ConcatOffsetV1 ConjugateTranspose Correlate CropAndResizeGradBoxes CropAndResizeGradImage DCT DCTN DataFormatVecPermute
DenseToCSRSparseMatrix DenseToDenseSetOperation DenseToSparseSetOperation Dropout2D Dropout3D DynamicStitch
EditDistance Eigh ExtractGlimpse FFTOrtho FractionalAvgPool FractionalAvgPoolGrad FractionalMaxPool
FractionalMaxPool3DGradWithFixedKsize FractionalMaxPool3DWithFixedKsize FractionalMaxPoolGrad
FractionalMaxPoolGradWithFixedKsize FractionalMaxPoolWithFixedKsize FusedSparseAdam FusedSparseFtrl FusedSparseLazyAdam
FusedSparseProximalAdagrad GRUV2 GRUV2Grad HFFT HFFT2 HFFTN HSVToRGB IDCT IDCTN IHFFT IHFFT2 IHFFTN IRFFTDouble
IgammaGradA LU LUSolver LinearSumAssignment ListDiff LogNormalReverse LogUniformCandidateSampler LowerBound LstsqV2
LstsqV2Grad LuUnpackGrad MapCacheIdx MapUniform MatrixLogarithm MatrixSolveLs MatrixTriangularSolve MaxUnpool2DGrad
MaxUnpool3D MaxUnpool3DGrad MedianGrad MultiMarginLossGrad MultinomialWithReplacement MvlgammaGrad NoRepeatNGram
NonDeterministicInts NonMaxSuppressionWithOverlaps NthElement Orgqr PadAndShift ParameterizedTruncatedNormal PdistGrad
QR RGBToHSV RaggedRange RaggedTensorToSparse RaggedTensorToTensor RandomCategorical RandomGamma RandomPoisson RangeV2
ResizeArea STFT SampleDistortedBoundingBoxV2 ScaleAndTranslate ScaleAndTranslateGrad SegmentMax SegmentMean SegmentMin
SegmentProd SegmentSum SelfAdjointEig SetSize SolveTriangular SolveTriangularGrad SparseAdd SparseAddGrad SparseAddmm
SparseApplyAdagradDA SparseApplyCenteredRMSProp SparseApplyMomentum SparseApplyProximalGradientDescent SparseConcat
SparseCountSparseOutput SparseDenseCwiseAdd SparseDenseCwiseMul SparseFillEmptyRows SparseFillEmptyRowsGrad
SparseMatrixAdd SparseMatrixMatMul SparseMatrixMul SparseMatrixNNZ SparseMatrixOrderingAMD SparseMatrixSoftmax
SparseMatrixTranspose SparseReorder SparseReshape SparseSegmentMean SparseSegmentMeanGrad
SparseSegmentMeanWithNumSegments SparseSegmentSqrtN SparseSegmentSqrtNGrad SparseSegmentSqrtNWithNumSegments
SparseSegmentSum SparseSegmentSumWithNumSegments SparseSlice SparseSliceGrad SparseSoftmax SparseSparseMaximum
SparseSparseMinimum SparseTensorDenseAdd SparseTensorDenseMatmul SparseTensorToCSRSparseMatrix SparseToDense
SparseToDenseV2 Sspaddmm SubAndFilter TridiagonalMatMul TridiagonalSolve Uniform UniformCandidateSampler UnravelIndex
UpdateCache UpperBound
"""
# From Real on most are in MindSpore's own register of AI CPU kernels (mindspore/ops/_op_impl/aicpu of its package) and
# have no kernel of a core in the operator library. Bessel functions, transforms and decompositions that are not in the
# register are assumed to run there as their kin does.


def placement_rules(call_type: type[OperatorCall] = LaunchCall) -> dict[str, Rule]:
    """Return the rules by primitive, for calls that *call_type* reads."""
    rules: dict[str, Rule] = dict.fromkeys(sorted(NOTHING), launches_nothing)
    return rules | {name: bind(ops.make_on_cpu, f"{name}()", call_type) for name in _AI_CPU.split()}


_PREFIX: Final = "aclnn"

# MindSpore makes the name of the API from the primitive's, unless its own table (ops_generate, aclnn_config) has
# another: those are here, without the prefix.
_FROM_MINDSPORE: Final = """
AcosExt Acos | AcoshExt Acosh | AdamW ApplyAdamWV2 | AddExt Add | ArgMaxExt ArgMax | ArgMaxWithValue MaxDim
ArgMinWithValue MinDim | Atan2Ext Atan2 | BatchMatMulExt BatchMatMul | BatchNormExt BatchNorm
BatchNormGradExt BatchNormBackward | Bmm BatchMatMul | Concat Cat | CumsumExt Cumsum | Equal EqTensor
GatherD Gather | GatherDGradV2 ScatterAdd | GeLU Gelu | GeLUGrad GeluBackward | Greater GtTensor
GreaterEqual GeTensor | GroupNormGrad GroupNormBackward | HShrink Hardshrink | HShrinkGrad HardshrinkBackward
LayerNormExt LayerNorm | LayerNormGradExt LayerNormBackward | LeakyReLUExt LeakyRelu
LeakyReLUGradExt LeakyReluBackward | Less LtTensor | LessEqual LeTensor | MaskedFill InplaceMaskedFillTensor
MatMulExt Matmul | NotEqual NeTensor | OneHotExt OneHot | Pow PowTensorTensor | ReLU Relu
ReduceAny Any | ReverseV2 Flip | ScatterAddExt ScatterAdd | Select SWhere | SiLU Silu
SiLUGrad SiluBackward | SigmoidGrad SigmoidBackward | SoftplusExt Softplus | SortExt Sort | StackExt Stack
SubExt Sub | Tile Repeat | TopkExt Topk | Transpose Permute
"""
# Where that table is silent because the kernel is written by hand, the name comes from the same operator of PyTorch (as
# the rules there have it) or of the aclnn library.
_FROM_PYTORCH: Final = """
AdaptiveAvgPool2D AdaptiveAvgPool2d | ArgMinExt ArgMin | Argmax ArgMax | Argmin ArgMin | AvgPool AvgPool2d
AvgPoolGrad AvgPool2dBackward | BatchNormGrad BatchNormBackward | BitwiseAnd BitwiseAndTensor
BitwiseOr BitwiseOrTensor | BitwiseXor BitwiseXorTensor | Conv2D Convolution | Conv2DBackpropFilter ConvolutionBackward
Conv2DBackpropInput ConvolutionBackward | CumProd Cumprod | CumSum Cumsum | EluExt Elu | EluGrad EluBackward
FloorDiv FloorDivide | FloorMod RemainderTensorTensor | GeluExt Gelu | HSigmoid Hardsigmoid
HSigmoidGrad HardsigmoidBackward | HSwish Hardswish | HSwishGrad HardswishBackward | InplaceAddExt InplaceAdd
InplaceSubExt InplaceSub | IsNan NeTensor | LayerNormGrad LayerNormBackward | LogSoftmaxGrad LogSoftmaxBackward
MatMul Matmul | MaxPool MaxPool2dWithMask | MaxPoolGrad MaxPool2dWithMaskBackward | MeanExt Mean
MishGrad MishBackward | Mod FmodTensor | ProdExt Prod | RealDiv Div | ReduceAll All | ReduceMax Amax | ReduceMean Mean
ReduceMin Amin | ReduceProd Prod | ReluGrad ThresholdBackward | SeLU Selu | SoftmaxGrad SoftmaxBackward
SoftplusGrad SoftplusBackward | SumExt ReduceSum | TanhGrad TanhBackward | TopK Topk | Xlogy XLogYTensor
"""


def _table(text: str) -> dict[str, str]:
    pairs = (pair.split() for line in text.strip().splitlines() for pair in line.split("|"))
    return {primitive: f"{_PREFIX}{name}" for primitive, name in pairs}


_APIS: Final = _table(_FROM_MINDSPORE) | _table(_FROM_PYTORCH)


def api_of(primitive: str) -> str:
    """Return the aclnn operator that a primitive is launched by."""
    return _APIS.get(primitive, f"{_PREFIX}{primitive}")
