"""What a script is told that takes a name of ``tf.contrib`` which is not there."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

INSTEAD: Mapping[str, str] = MappingProxyType(
    {
        "framework.get_or_create_global_step": "tf.train.get_or_create_global_step",
        "framework.get_variables": "tf.global_variables",
        "layers.batch_norm": "tf.layers.batch_normalization",
        "layers.conv2d": "tf.layers.conv2d(..., activation=tf.nn.relu)",
        "layers.flatten": "tf.layers.flatten",
        "layers.fully_connected": "tf.layers.dense(..., activation=tf.nn.relu)",
        "layers.l1_regularizer": "tf.keras.regularizers.l1(scale)",
        "layers.l2_regularizer": "tf.keras.regularizers.l2(scale / 2)",
        "layers.layer_norm": "tf.keras.layers.LayerNormalization",
        "layers.max_pool2d": "tf.layers.max_pooling2d",
        "layers.variance_scaling_initializer": "tf.variance_scaling_initializer(2.0)",
        "layers.xavier_initializer": "tf.glorot_uniform_initializer()",
        "layers.xavier_initializer_conv2d": "tf.glorot_uniform_initializer()",
        "metrics.streaming_accuracy": "tf.metrics.accuracy",
        "metrics.streaming_mean": "tf.metrics.mean",
    }
)
"""What to write for names of tf_slim where it is not installed, with the defaults of `contrib`."""

_REASONS: Mapping[str, str] = MappingProxyType(
    {
        "boosted_trees": "Take a package for trees; TensorFlow 2.15 has none of their operators.",
        "cloud": "It reads from services that are not there; read files with tf.data.",
        "cudnn_rnn": "cuDNN needs a GPU, here and beside an NPU; take tf.contrib.cudnn_rnn.CudnnCompatibleLSTMCell,"
        " CudnnCompatibleGRUCell or DynamicRNN of npu_bridge.",
        "gan": "Install the package tensorflow-gan and import tensorflow_gan.",
        "layers": "Its feature columns are in tf.feature_column today; for the rest see the package tf_slim.",
        "learn": "Take tf.estimator: Estimator, train_and_evaluate, inputs.",
        "quantize": "Graphs are not rewritten for training with fake quantisation; leave the script's option for it"
        " off, or write tf.quantization.fake_quant_with_min_max_vars where it is wanted.",
        "slim": "Take it from the package tf_slim, or from research/slim of the TensorFlow models.",
    }
)
"""By part of contrib: why drynpu does not bring it, or what to take."""


def absence(path: str) -> str:
    """Return the message for a name of ``tf.contrib`` (``quantize.create_training_graph``) that is not served."""
    reason = _REASONS.get(path.partition(".")[0], "docs/tensorflow.md lists what drynpu serves of it.")
    return f"TensorFlow 2 has no tf.contrib.{path}, and drynpu does not bring it. {reason}"


def without_slim(path: str) -> str:
    """Return the message for a name that tf_slim would bring, with what to write where it is not wanted."""
    exact = f" In place of tf.contrib.{path} write {INSTEAD[path]}." if path in INSTEAD else ""
    return (
        f"TensorFlow 2 has no tf.contrib.{path}; the package tf_slim has, which is not installed. Install it with:"
        f" pip install 'drynpu[tf]'.{exact}"
    )
