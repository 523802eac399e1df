"""
Operators that are no vector or cube kernels: nothing at all, work of the host, work of the AI CPU.

The graph engine turns values known at compile time, variables, changes of shape and control flow into no kernel; input
pipelines, summaries, checkpoints and texts stay with TensorFlow on the host; random numbers, lists, stacks and tensor
arrays run on the AI CPU (device_and_cost_model.md 4.3), most under TensorFlow's types.

Where the engine knows shapes when it compiles, whatever is made of shapes and constants alone is a constant: it is
computed once and launches nothing in any step (:func:`folded`).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from drynpu.kernels import KernelPlan, Rule, Signature, bind, launches_nothing, ops
from drynpu.kernels.ops import GraphOperator, takers_of
from drynpu_tf.ranks import NODE_TYPES
from drynpu_tf.rules._call import TfCall

_VALUES: Final = """
Const Placeholder PlaceholderV2 PlaceholderWithDefault VarHandleOp VariableV2 Variable TemporaryVariable
DestroyTemporaryVariable ReadVariableOp VarIsInitializedOp IsVariableInitialized DestroyResourceOp VariableShape
_Arg _Retval _DeviceArg _DeviceRetval _EagerConst _ArrayToList _ListToArray ImmutableConst GuaranteeConst
"""
_SHAPES: Final = """
Identity IdentityN _UnaryIdentity StopGradient PreventGradient Snapshot EnsureShape Bitcast Shape ShapeN Size Rank
Reshape ExpandDims Squeeze BroadcastGradientArgs BroadcastArgs
"""
_CONTROL: Final = """
NoOp ControlTrigger Assert Abort Enter Exit NextIteration Merge Switch LoopCond RefEnter RefExit RefIdentity
RefNextIteration RefMerge RefSwitch RefSelect _SwitchN While StatelessWhile If StatelessIf Case StatelessCase For
PartitionedCall StatefulPartitionedCall RemoteCall SymbolicGradient _If _While DeviceIndex Timestamp
_Send _Recv _HostSend _HostRecv _ScopedAllocator DisableCopyOnRead HostConst FakeParam DebugGradientIdentity
"""
_HOST: Final = """
MakeIterator DeleteIterator DeleteMultiDeviceIterator SerializeIterator DeserializeIterator DatasetCardinality
DatasetToGraph DatasetToGraphV2 DatasetToSingleElement DatasetFromGraph DeleteMemoryCache DeleteSeedGenerator
DeleteRandomSeedGenerator AnonymousMemoryCache AnonymousRandomSeedGenerator AnonymousSeedGenerator DummyMemoryCache
DummySeedGenerator MapDefun OptionalGetValue OptionalHasValue OptionalFromValue OptionalNone
QueueEnqueueV2 QueueEnqueueManyV2 QueueDequeueV2 QueueDequeueManyV2 QueueDequeueUpToV2 QueueCloseV2 QueueSizeV2
QueueIsClosedV2 FIFOQueueV2 RandomShuffleQueueV2 PaddingFIFOQueueV2 PriorityQueueV2 Stage Unstage
ScalarSummary HistogramSummary ImageSummary AudioSummary TensorSummary TensorSummaryV2 MergeSummary SummaryWriter
CreateSummaryFileWriter CreateSummaryDbWriter FlushSummaryWriter CloseSummaryWriter WriteSummary WriteScalarSummary
WriteHistogramSummary WriteImageSummary WriteAudioSummary WriteGraphSummary WriteRawProtoSummary ImportEvent
Save SaveSlices SaveV2 Restore RestoreSlice RestoreV2 MergeV2Checkpoints ShardedFilename ShardedFilespec
Print PrintV2 PyFunc PyFuncStateless EagerPyFunc StringFormat StringJoin StringLength StringLower StringUpper
StringSplit StringSplitV2 StringStrip StringToHashBucket StringToHashBucketFast StringToHashBucketStrong StringToNumber
StringNGrams Substr AsString RegexReplace RegexFullMatch StaticRegexReplace StaticRegexFullMatch ReduceJoin
UnicodeDecode UnicodeEncode UnicodeScript UnicodeTranscode EncodeBase64 DecodeBase64
ReadFile WriteFile MatchingFiles TFRecordReaderV2 WholeFileReaderV2 TextLineReaderV2 IdentityReaderV2 ReaderReadV2
ReaderReadUpToV2 ParseExample ParseExampleV2 ParseSingleExample ParseSequenceExample ParseSequenceExampleV2
ParseSingleSequenceExample ParseTensor SerializeTensor DecodeRaw DecodePaddedRaw DecodeCSV DecodeJSONExample
DecodeCompressed DecodeJpeg DecodeAndCropJpeg DecodePng DecodeBmp DecodeGif DecodeImage DecodeWav EncodeJpeg EncodePng
EncodeWav ExtractJpegShape HashTableV2 MutableHashTableV2 MutableDenseHashTableV2 MutableHashTableOfTensorsV2
AnonymousHashTable InitializeTableV2 InitializeTableFromTextFileV2 LookupTableFindV2 LookupTableInsertV2
LookupTableSizeV2 LookupTableExportV2 LookupTableImportV2 LookupTableRemoveV2 InitializeTable
InitializeTableFromTextFile UnicodeDecodeWithOffsets EncodeProto DecodeProtoV2 EncodeJpegVariableQuality Fact
SerializeSparse SerializeManySparse DeserializeSparse DeserializeManySparse LoadAndRemapMatrix GenerateVocabRemapping
StageClear StagePeek StageSize MapStage MapUnstage MapPeek MapClear OrderedMapStage OrderedMapUnstage OrderedMapPeek
"""
_PIPELINE: Final = """
IteratorGetNext IteratorGetNextSync IteratorGetNextAsOptional Iterator IteratorV2 AnonymousIterator AnonymousIteratorV2
AnonymousIteratorV3 OneShotIterator IteratorToStringHandle IteratorFromStringHandle IteratorFromStringHandleV2
AnonymousMultiDeviceIterator AnonymousMultiDeviceIteratorV3 MultiDeviceIterator MultiDeviceIteratorInit
MultiDeviceIteratorGetNextFromShard MultiDeviceIteratorToStringHandle MultiDeviceIteratorFromStringHandle
BatchDataset BatchDatasetV2 CacheDataset CacheDatasetV2 ConcatenateDataset FilterDataset FlatMapDataset
FixedLengthRecordDataset FixedLengthRecordDatasetV2 GeneratorDataset InterleaveDataset MapDataset MapAndBatchDataset
ModelDataset OptionsDataset OptimizeDataset OptimizeDatasetV2 PaddedBatchDataset PaddedBatchDatasetV2
ParallelBatchDataset ParallelInterleaveDataset ParallelInterleaveDatasetV2 ParallelInterleaveDatasetV3
ParallelInterleaveDatasetV4 ParallelMapDataset ParallelMapDatasetV2 PrefetchDataset PrivateThreadPoolDataset
MaxIntraOpParallelismDataset RangeDataset RebatchDataset RebatchDatasetV2 RepeatDataset ShardDataset ShuffleDataset
ShuffleDatasetV2 ShuffleDatasetV3 ShuffleAndRepeatDataset ShuffleAndRepeatDatasetV2 SkipDataset TakeDataset
TensorDataset TensorSliceDataset TextLineDataset TFRecordDataset TFRecordDatasetV2 UnbatchDataset WindowDataset
GetOptions GetElementAtIndex ComputeBatchSize WrapDatasetVariant UnwrapDatasetVariant DatasetToTFRecord DistributedSave
ExperimentalDatasetToTFRecord ExperimentalDatasetCardinality IteratorGetDevice ExperimentalIteratorGetDevice
ZipDataset AutoShardDataset AutoShardDatasetV2 FinalizeDataset SparseTensorSliceDataset
"""
_AI_CPU: Final = """
GetNext RandomUniform RandomUniformInt RandomStandardNormal TruncatedNormal ParameterizedTruncatedNormal RandomShuffle
RandomGamma RandomPoissonV2 Multinomial StatelessRandomUniform StatelessRandomUniformInt StatelessRandomNormal
StatelessTruncatedNormal StatelessRandomUniformV2 StatelessRandomUniformIntV2 StatelessRandomNormalV2
StatelessTruncatedNormalV2 StatelessMultinomial StatelessRandomGetKeyCounter StatelessRandomGetAlg
StatelessRandomGetKeyCounterAlg StatefulUniform StatefulUniformInt StatefulStandardNormalV2 StatefulTruncatedNormal
RngReadAndSkip RngSkip StackV2 StackPushV2 StackPopV2 StackCloseV2
TensorArrayV3 TensorArrayWriteV3 TensorArrayReadV3 TensorArrayGatherV3 TensorArrayScatterV3 TensorArraySplitV3
TensorArrayConcatV3 TensorArraySizeV3 TensorArrayCloseV3 TensorArrayGradV3 TensorArrayGradWithShape
EmptyTensorList TensorListReserve TensorListElementShape TensorListLength TensorListResize TensorListFromTensor
TensorListStack TensorListGetItem TensorListSetItem TensorListPushBack TensorListPopBack TensorListGather
TensorListScatter TensorListScatterV2 TensorListScatterIntoExistingList TensorListConcat TensorListConcatV2
TensorListSplit TensorListPushBackBatch TensorListConcatLists
Unique UniqueV2 UniqueWithCounts UniqueWithCountsV2 Where ListDiff InvertPermutation DynamicStitch
ParallelDynamicStitch DynamicPartition Bincount DenseBincount Bucketize HistogramFixedWidth SearchSorted UpperBound
LowerBound MatrixBandPart MatrixDiag MatrixDiagPart MatrixDiagPartV3 MatrixSetDiagV3 MatrixInverse
MatrixDeterminant MatrixSolve MatrixTriangularSolve Cholesky CholeskyGrad Qr Svd SelfAdjointEigV2
FFT IFFT FFT2D IFFT2D RFFT IRFFT NonMaxSuppression NonMaxSuppressionV2 NonMaxSuppressionV3 NonMaxSuppressionV4
NonMaxSuppressionV5 CombinedNonMaxSuppression CropAndResize ResizeArea SparseToDense SparseTensorDenseMatMul
SparseReshape SparseSegmentSum SparseSegmentMean SparseSegmentSqrtN SparseFillEmptyRows SparseReorder SparseConcat
SegmentMean SegmentMax SegmentMin SegmentProd Digamma Lgamma Igamma Igammac Betainc Zeta Polygamma
Multinomial CTCLoss CTCLossV2 CTCGreedyDecoder CTCBeamSearchDecoder EditDistance Roll CheckNumerics CheckNumericsV2
RGBToHSV HSVToRGB AdjustHue AdjustSaturation AdjustContrast AdjustContrastv2 ResizeBicubic ResizeBicubicGrad
ScaleAndTranslate ScaleAndTranslateGrad CropAndResizeGradBoxes CropAndResizeGradImage DrawBoundingBoxes
DrawBoundingBoxesV2 SampleDistortedBoundingBox SampleDistortedBoundingBoxV2 ImageProjectiveTransformV2 ExtractGlimpse
ExtractGlimpseV2 NonMaxSuppressionWithOverlaps MirrorPadGrad FractionalAvgPool FractionalAvgPoolGrad FractionalMaxPool
FractionalMaxPoolGrad Complex Real Imag Conj ComplexAbs Angle Cross NextAfter NthElement IgammaGradA RandomGammaGrad
RandomPoisson RandomCrop StatelessRandomGammaV2 StatelessRandomBinomial StatelessRandomPoisson StatefulRandomBinomial
StatelessRandomUniformFullInt StatelessRandomUniformFullIntV2 StatelessShuffle StatelessParameterizedTruncatedNormal
UniformCandidateSampler LogUniformCandidateSampler LearnedUnigramCandidateSampler FixedUnigramCandidateSampler
AllCandidateSampler ComputeAccidentalHits CountUpTo ResourceCountUpTo UnravelIndex BlockLSTM BlockLSTMV2 BlockLSTMGrad
BlockLSTMGradV2 LSTMBlockCell LSTMBlockCellGrad GRUBlockCell GRUBlockCellGrad Lu LogMatrixDeterminant MatrixSolveLs
MatrixExponential MatrixLogarithm MatrixSquareRoot SelfAdjointEig TridiagonalSolve FFT3D IFFT3D RFFT2D IRFFT2D RFFT3D
IRFFT3D QuantizeAndDequantize QuantizeAndDequantizeV2 QuantizeAndDequantizeV3 SegmentSumV2 SegmentMaxV2 SegmentMinV2
SegmentProdV2 SparseAdd SparseAddGrad SparseSlice SparseSliceGrad SparseSplit SparseSoftmax SparseCross SparseReduceSum
SparseReduceMax SparseDenseCwiseAdd SparseDenseCwiseMul SparseDenseCwiseDiv SparseTensorDenseAdd SparseFillEmptyRowsGrad
SparseSegmentSumGrad SparseSegmentMeanGrad SparseSegmentSqrtNGrad SparseSegmentSumWithNumSegments
SparseSegmentMeanWithNumSegments SparseSegmentSqrtNWithNumSegments SparseMatMul SparseToSparseSetOperation
DenseToDenseSetOperation DenseToSparseSetOperation SetSize RaggedGather RaggedRange RaggedTensorToTensor
RaggedTensorToSparse RaggedTensorFromVariant RaggedTensorToVariant RaggedCross
"""
_WITHOUT_VERSION: Final = ("Stack", "TensorArray", "AdjustContrast")
"""What the graph engine's types begin with that TensorFlow has in several versions (``StackPushV2``, ``StackPush``)."""
_VERSION: Final = re.compile(r"[Vv]\d+$")
_CALLS: Final = re.compile(r"__(?:inference|forward|backward)_")
_ANY_PIPELINE: Final = re.compile(r"\w*(?:Dataset|Iterator)(?:V\d+)?$|\w*IteratorGetNext\w*$")
_ANY_HOST: Final = re.compile(
    r"\w*(?:Summary|Checkpoint|HashTable|LookupTable|String|Example|Queue|Reader|Barrier|Accumulator|Mutex|"
    r"SessionHandle|SessionTensor)\w*$"
)

_PIPELINE_TYPES: Final = frozenset(_PIPELINE.split())
_HOST_TYPES: Final = frozenset(_HOST.split()) | _PIPELINE_TYPES
_SHAPE_TYPES: Final = frozenset(_SHAPES.split())
_AI_CPU_TYPES: Final = frozenset(_AI_CPU.split())
_NOTHING_TYPES: Final = frozenset((_VALUES + _CONTROL).split()) | _SHAPE_TYPES
_AT_COMPILE_TIME: Final = frozenset(
    {"InvertPermutation", "DynamicStitch", "MatrixBandPart", "ListDiff", "MatrixDiag", "Bucketize"}
)
"""Types of the AI CPU that the compiler works out where their inputs are constants."""
READS_SHAPE: Final = frozenset({"Shape", "ShapeN", "Size", "Rank"})
CHANGES_STATE: Final = ("Assign", "Resource", "Apply", "Sparse", "Scatter", "Hcom")
"""What the names of operators begin with that write variables or communicate: they have to run in every step."""


def is_call(op_type: str) -> bool:
    """Return whether a function is called: eager code and Keras show those under the function's own name."""
    return _CALLS.match(op_type) is not None


def is_input_pipeline(op_type: str) -> bool:
    """Return whether an operator belongs to an input pipeline (datasets and their iterators)."""
    return op_type in _PIPELINE_TYPES or _ANY_PIPELINE.match(op_type) is not None


def is_host(op_type: str) -> bool:
    """Return whether an operator stays on the host: pipelines, texts, tables, summaries, checkpoints."""
    return op_type in _HOST_TYPES or is_input_pipeline(op_type) or _ANY_HOST.match(op_type) is not None


def runs_on_ai_cpu(op_type: str) -> bool:
    """Return whether the graph engine's AI CPU runs an operator."""
    return op_type in _AI_CPU_TYPES


def launches_kernels(op_type: str) -> bool:
    """Return whether an operator of a graph has work for the device, as far as its type says."""
    return op_type not in _NOTHING_TYPES and not is_host(op_type) and not is_call(op_type)


def pattern_rule(signature: Signature) -> KernelPlan | None:
    """Return an empty plan for types that no table can list: functions, datasets of other packages, texts."""
    return KernelPlan() if is_call(signature.name) or is_host(signature.name) else None


def _on_ai_cpu(name: str) -> Rule:
    """Return the rule of an operator that the graph engine's AI CPU runs, under the type that the engine has for it."""
    kernel = _VERSION.sub("", name) if name.startswith(_WITHOUT_VERSION) else name
    return bind(ops.make_on_cpu, f"{kernel}()", TfCall)


def placement_rules() -> dict[str, Rule]:
    """Return the rules of operators that are no vector or cube kernels, by operator type."""
    rules: dict[str, Rule] = dict.fromkeys(sorted(_NOTHING_TYPES | _HOST_TYPES | NODE_TYPES), launches_nothing)
    return rules | {name: _on_ai_cpu(name) for name in _AI_CPU_TYPES}


def _can_be_folded(op_type: str) -> bool:
    """Return whether the compiler computes an operator all of whose inputs are constants."""
    if op_type.startswith(CHANGES_STATE):
        return False
    if op_type in _AI_CPU_TYPES:
        return op_type in _AT_COMPILE_TIME
    return op_type in _SHAPE_TYPES or launches_kernels(op_type)


def folded(operators: Sequence[GraphOperator]) -> frozenset[str]:
    """Return the names of the operators whose results are known when the graph is compiled."""
    takers = takers_of(operators)
    known = {op.name for op in operators if op.op_type == "Const"}
    todo = [op for op in operators if op.op_type in {"Const", *READS_SHAPE}]
    while todo:
        op = todo.pop()
        known.add(op.name)
        for taker in (taker for place in op.outputs for taker in takers.get(place, ())):
            if taker.name in known or not _can_be_folded(taker.op_type):
                continue
            if all(maker in known for maker, _ in taker.inputs):
                todo.append(taker)
    return frozenset(known)
