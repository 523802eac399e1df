"""By module of ``tf.contrib`` of TensorFlow 1.15: the modules of today that hold its names, the first first."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

SLIM = "tf_slim"
"""The package that contrib's slim, layers, losses, metrics and arg_scope became."""

_PART_NAMES = """
all_reduce autograph batching bayesflow boosted_trees checkpoint cloud cluster_resolver compiler
constrained_optimization copy_graph crf cudnn_rnn data deprecated distribute distributions eager estimator
factorization feature_column framework gan graph_editor grid_rnn hooks image input_pipeline integrate keras
kernel_methods labeled_tensor layers learn legacy_seq2seq libsvm linear_optimizer lookup losses memory_stats metrics
mixed_precision model_pruning nearest_neighbor nn opt optimizer_v2 periodic_resample predictor proto quantization
quantize receptive_field recurrent reduce_slice_ops resampler rnn rpc saved_model seq2seq signal slim solvers
sparsemax specs staging stat_summarizer stateless summary tensorboard tensorrt testing tfprof timeseries tpu
training util
"""
PARTS = frozenset(_PART_NAMES.split())
"""The parts that TensorFlow 1.15 had. Each can be imported, so that a script that never uses it goes on."""

_TEXT = """
all_reduce                                  tensorflow.python.distribute.v1.all_reduce
all_reduce.python.all_reduce                tensorflow.python.distribute.v1.all_reduce
autograph                                   tensorflow.autograph
checkpoint                                  tensorflow.compat.v1.train.experimental tensorflow.compat.v1.train
cluster_resolver                            tensorflow.compat.v1.distribute.cluster_resolver
compiler.jit                                tensorflow.python.compiler.xla.jit
compiler.xla                                @estimators tensorflow.python.compiler.xla.xla
crf                                         @crf
crf.python.ops.crf                          @crf
cudnn_rnn                                   @cudnn @cells
cudnn_rnn.python.layers                     @cudnn @cells
cudnn_rnn.python.layers.cudnn_rnn           @cudnn @cells
cudnn_rnn.python.ops.cudnn_rnn_ops          @cudnn @cells
data                                        @data tensorflow.compat.v1.data.experimental
distribute                                  @estimators tensorflow.compat.v1.distribute
                                            tensorflow.compat.v1.distribute.experimental
distributions                               tensorflow.compat.v1.distributions
eager                                       tensorflow.python.eager.context
estimator                                   @estimators tensorflow.compat.v1.estimator.experimental
                                            tensorflow.compat.v1.estimator
                                            tensorflow_estimator.python.estimator.canned.saved_model_estimator
                                            tensorflow_estimator.python.estimator.export.export
feature_column                              tensorflow.compat.v1.feature_column
framework                                   @tensors tf_slim.ops.arg_scope tf_slim.ops.variables
                                            tf_slim.ops.framework_ops tensorflow.python.framework.smart_cond
                                            tensorflow.python.framework.tensor_util tensorflow.python.ops.check_ops
                                            tensorflow.python.training.checkpoint_utils
                                            tensorflow.python.util.deprecation tensorflow.python.ops.init_ops @framework
framework.nest                              tensorflow.python.util.nest
framework.python.framework.checkpoint_utils tensorflow.python.training.checkpoint_utils
framework.python.framework.tensor_util      @tensors tensorflow.python.framework.tensor_util
                                            tensorflow.python.ops.check_ops
framework.python.ops                        tf_slim.ops.arg_scope tf_slim.ops.variables
framework.python.ops.arg_scope              tf_slim.ops.arg_scope
framework.python.ops.audio_ops              tensorflow.python.ops.gen_audio_ops
framework.python.ops.variables              tf_slim.ops.variables
graph_editor                                @graph_walks
image                                       @image
image.python.ops.distort_image_ops          @image
image.python.ops.image_ops                  @image
keras                                       tensorflow.compat.v1.keras
layers                                      @tensors tf_slim.layers tensorflow.python.ops.embedding_ops
layers.python.layers                        @tensors tf_slim.layers
layers.python.layers.initializers           tf_slim.layers.initializers
layers.python.layers.layers                 tf_slim.layers.layers
layers.python.layers.normalization          tf_slim.layers.normalization
layers.python.layers.optimizers             tf_slim.layers.optimizers
layers.python.layers.regularizers           tf_slim.layers.regularizers
layers.python.layers.rev_block_lib          tf_slim.layers.rev_block_lib
layers.python.layers.summaries              tf_slim.layers.summaries
layers.python.layers.utils                  tf_slim.layers.utils
learn                                       @estimators
learn.monitors                              @estimators
learn.preprocessing                         @vocabulary
learn.preprocessing.categorical_vocabulary  @vocabulary
learn.preprocessing.text                    @vocabulary
learn.python.learn.preprocessing            @vocabulary
legacy_seq2seq                              @legacy_seq2seq
lookup                                      tensorflow.python.ops.lookup_ops
losses                                      tf_slim.losses
losses.metric_learning                      tf_slim.losses.metric_learning
losses.python.losses                        tf_slim.losses
losses.python.losses.loss_ops               tf_slim.losses.loss_ops
losses.python.metric_learning               tf_slim.losses.metric_learning
metrics                                     tf_slim.metrics
metrics.python.ops.metric_ops               tf_slim.metrics.metric_ops
mixed_precision                             @estimators drynpu_tf.bridge.loss_scale
nn                                          tensorflow.compat.v1.nn
opt                                         @optimizers @external
predictor                                   @predictor
recurrent                                   @networks
resampler                                   @tensors
rnn                                         @cells @networks tensorflow.compat.v1.nn.rnn_cell
rnn.ops.gen_lstm_ops                        tensorflow.python.ops.gen_rnn_ops
rnn.python.ops.core_rnn_cell                @cells tensorflow.compat.v1.nn.rnn_cell
rnn.python.ops.gen_lstm_ops                 tensorflow.python.ops.gen_rnn_ops
rnn.python.ops.lstm_ops                     @cells
rnn.python.ops.rnn                          @networks tensorflow.python.ops.rnn
rnn.python.ops.rnn_cell                     @cells tensorflow.compat.v1.nn.rnn_cell
saved_model                                 tensorflow.compat.v1.saved_model
seq2seq                                     @decoding @attention @beams @helpers
seq2seq.python.ops.attention_wrapper        @attention
seq2seq.python.ops.basic_decoder            @decoding
seq2seq.python.ops.beam_search_ops          @beams
seq2seq.python.ops.decoder                  @decoding
seq2seq.python.ops.helper                   @helpers
seq2seq.python.ops.loss                     @beams
signal                                      tensorflow.compat.v1.signal
slim                                        @tensors tf_slim
slim.data                                   tf_slim.data
slim.init_ops                               tensorflow.python.ops.init_ops
slim.nets                                   tf_slim.nets
slim.python.slim                            tf_slim
slim.variable_scope                         tensorflow.python.ops.variable_scope
staging                                     tensorflow.python.ops.data_flow_ops
stateless                                   tensorflow.compat.v1.random
summary                                     @summaries tensorflow.python.ops.summary_ops_v2
tensorrt                                    tensorflow.python.compiler.tensorrt.trt_convert
tensorrt.python.trt_convert                 tensorflow.python.compiler.tensorrt.trt_convert
tfprof                                      @model_analyzer
tfprof.model_analyzer                       @model_analyzer
tpu                                         tensorflow_estimator.python.estimator.tpu.tpu_config
                                            tensorflow_estimator.python.estimator.tpu.tpu_estimator
                                            tensorflow.compat.v1.tpu
                                            tensorflow.compat.v1.tpu.experimental tensorflow.python.tpu.tpu
                                            tensorflow.python.tpu.tpu_feed tensorflow.python.tpu.training_loop
                                            tensorflow.python.tpu.async_checkpoint tensorflow.python.tpu.datasets
                                            tensorflow.python.tpu.ops.tpu_ops
tpu.proto.compilation_result_pb2            tensorflow.core.protobuf.tpu.compilation_result_pb2
tpu.proto.topology_pb2                      tensorflow.core.protobuf.tpu.topology_pb2
tpu.python.ops.tpu_ops                      tensorflow.python.tpu.ops.tpu_ops
tpu.python.tpu.async_checkpoint             tensorflow.python.tpu.async_checkpoint
tpu.python.tpu.bfloat16                     tensorflow.python.tpu.bfloat16
tpu.python.tpu.datasets                     tensorflow.python.tpu.datasets
tpu.python.tpu.error_handling               tensorflow_estimator.python.estimator.tpu.error_handling
tpu.python.tpu.session_support              tensorflow.python.tpu.session_support
tpu.python.tpu.tensor_tracer                tensorflow.python.tpu.tensor_tracer
tpu.python.tpu.tpu                          tensorflow.python.tpu.tpu_replication tensorflow.python.tpu.tpu
tpu.python.tpu.tpu_config                   tensorflow_estimator.python.estimator.tpu.tpu_config
tpu.python.tpu.tpu_context                  tensorflow_estimator.python.estimator.tpu.tpu_context
tpu.python.tpu.tpu_estimator                tensorflow_estimator.python.estimator.tpu.tpu_estimator
tpu.python.tpu.tpu_feed                     tensorflow.python.tpu.tpu_feed
tpu.python.tpu.tpu_function                 tensorflow.python.tpu.tpu_function
tpu.python.tpu.tpu_optimizer                tensorflow.python.tpu.tpu_optimizer
tpu.python.tpu.training_loop                tensorflow.python.tpu.training_loop
tpu.python.tpu.util                         tensorflow_estimator.python.estimator.tpu.util
training                                    @hyperparameters tf_slim.training.evaluation tf_slim.training.training
                                            tensorflow.python.training.checkpoint_utils
                                            tensorflow.compat.v1.train
training.python.training.evaluation         tf_slim.training.evaluation
training.python.training.hparam             @hyperparameters
training.python.training.training           tf_slim.training.training
util                                        tensorflow.python.framework.tensor_util tensorflow.python.util.compat
"""

_MODULES = ("@", "drynpu_tf.", "tensorflow.", "tensorflow_estimator.", SLIM)

_SLIM_MODULES = {
    "data": (
        "data_decoder",
        "data_provider",
        "dataset",
        "dataset_data_provider",
        "parallel_reader",
        "prefetch_queue",
        "tfexample_decoder",
    ),
    "nets": (
        "alexnet",
        "inception",
        "inception_v1",
        "inception_v2",
        "inception_v3",
        "overfeat",
        "resnet_utils",
        "resnet_v1",
        "resnet_v2",
        "vgg",
    ),
    "": ("evaluation", "learning", "model_analyzer", "queues", "summaries"),
}
"""Modules of slim: they stood in ``contrib.slim.python.slim``, and most as names of ``contrib.slim`` as well."""


def _slim_places() -> dict[str, tuple[str, ...]]:
    places: dict[str, tuple[str, ...]] = {}
    for folder, names in _SLIM_MODULES.items():
        for name in names:
            path = ".".join(filter(None, (folder, name)))
            for place in (f"slim.{path}", f"slim.python.slim.{path}"):
                places[place] = (f"{SLIM}.{path}",)
    return places


def _read(text: str) -> dict[str, tuple[str, ...]]:
    """Return the table of a text: every place is followed by its modules; ``@name`` is a module of this package."""
    places: dict[str, tuple[str, ...]] = {}
    place = ""
    for word in text.split():
        if word.startswith(_MODULES):
            places[place] += (word.replace("@", f"{__package__}."),)
        else:
            place = word
            places[place] = ()
    return places


def _with_parents(places: Mapping[str, tuple[str, ...]]) -> dict[str, tuple[str, ...]]:
    """Return the table with the packages in which its modules stand, which hold nothing else."""
    parents = {
        ".".join(parts[:length]): () for parts in (place.split(".") for place in places) for length in range(len(parts))
    }
    return {**parents, **dict.fromkeys(PARTS, ()), **places}


PLACES: Mapping[str, tuple[str, ...]] = MappingProxyType(_with_parents({**_read(_TEXT), **_slim_places()}))
"""A place without modules can be imported and holds nothing else than the places below it."""
