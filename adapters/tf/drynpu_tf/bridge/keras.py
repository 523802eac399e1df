"""Keras: its session, a callback, its dropout, and models as estimators (``keras_to_npu``, ``npu_callbacks``)."""

from __future__ import annotations

from typing import Any

import tensorflow.compat.v2 as tf

from drynpu_tf.bridge._estimator_bases import need_estimator
from drynpu_tf.bridge.collectives import broadcast
from drynpu_tf.bridge.estimator import NPUEstimator
from drynpu_tf.bridge.generated import p_relu
from drynpu_tf.bridge.hooks import broadcast_global_variables
from drynpu_tf.bridge.operators import dropout
from drynpu_tf.bridge.ranks import get_rank_size
from drynpu_tf.bridge.run_config import NPURunConfig
from drynpu_tf.foreign import Tensor, TensorLike


def keras_backend_if_there() -> Any:
    """Return the backend of the Keras that scripts reach as ``tf.keras``; ``None`` where it has no sessions."""
    backend = getattr(getattr(tf.compat.v1, "keras", None), "backend", None)
    return backend if hasattr(backend, "set_session") else None


def keras_backend() -> Any:
    """
    Return the backend of the Keras that scripts reach as ``tf.keras``.

    Raises
    ------
    ImportError
        Keras 3 (TensorFlow 2.16 and later) has no sessions.
    """
    backend = keras_backend_if_there()
    if backend is None:
        raise ImportError(
            f"Keras of TensorFlow {tf.__version__} has no sessions; the last one with them is Keras 2.15: "
            "pip install 'tensorflow-cpu>=2.15,<2.16'"
        )
    return backend


class NPUBroadcastGlobalVariablesCallback(tf.keras.callbacks.Callback):
    """Gives all ranks the root's variables at the first batch."""

    def __init__(self, root_rank: int) -> None:
        super().__init__()
        self.root_rank = root_rank
        self.broadcast_done = False

    def on_batch_begin(self, batch: int, logs: object = None) -> None:
        """Broadcast, once."""
        if self.broadcast_done or get_rank_size() == 1:
            return
        self.broadcast_done = True
        if tf.executing_eagerly():
            variables = self.model.trainable_variables
            for variable, value in zip(variables, broadcast(variables, self.root_rank), strict=True):
                variable.assign(value)
        else:
            keras_backend().get_session().run(broadcast_global_variables(self.root_rank))


_KERAS_DROPOUT_CALL = tf.keras.layers.Dropout.call


def dropout_call(layer: Any, inputs: TensorLike, training: Any = None) -> Any:
    """
    Compute a Keras Dropout layer by the device's operators; by Keras's own code when eager.

    *training* is a truth value or a tensor, default Keras's learning phase.
    """
    if tf.executing_eagerly() or not hasattr(layer, "_get_noise_shape"):
        return _KERAS_DROPOUT_CALL(layer, inputs, training=training)
    if training is None:
        training = keras_backend().learning_phase()

    def dropped() -> Tensor:
        return dropout(inputs, 1 - layer.rate, layer._get_noise_shape(inputs), layer.seed)

    if tf.is_tensor(training):
        return tf.cond(tf.cast(training, tf.bool), dropped, lambda: tf.identity(inputs))
    return dropped() if training else tf.identity(inputs)


def convert_dropout() -> None:
    """Have Keras's Dropout layers compute by :func:`dropout_call` from now on."""
    tf.keras.layers.Dropout.call = dropout_call


class PReLU(tf.keras.layers.PReLU):
    """Keras's layer, computed by one operator of the device in graphs."""

    def call(self, inputs: TensorLike) -> Any:
        """Return *inputs* where they are positive, else the layer's weights times *inputs*."""
        return super().call(inputs) if tf.executing_eagerly() else p_relu(inputs, self.alpha)


def model_to_npu_estimator(
    keras_model: object = None,
    keras_model_path: str | None = None,
    custom_objects: object = None,
    model_dir: str | None = None,
    checkpoint_format: str = "checkpoint",
    config: NPURunConfig | None = None,
    job_start_file: str = "",
) -> NPUEstimator:
    """
    Return an `NPUEstimator` that trains a compiled Keras model, by TensorFlow's ``model_to_estimator``.

    Raises
    ------
    ValueError
        *config* is missing or of another class; what TensorFlow refuses.
    ImportError
        TensorFlow has no Estimator.
    """
    need_estimator("model_to_npu_estimator")
    if not isinstance(config, NPURunConfig):
        raise ValueError("`config` must be provided with type `NPUConfigs`")
    plain = tf.compat.v1.keras.estimator.model_to_estimator(
        keras_model=keras_model,
        keras_model_path=keras_model_path,
        custom_objects=custom_objects,
        model_dir=model_dir,
        config=tf.compat.v1.estimator.RunConfig(
            model_dir=config.model_dir, tf_random_seed=config.tf_random_seed, session_config=config.session_config
        ),
        checkpoint_format=checkpoint_format,
    )
    return NPUEstimator(
        model_fn=plain._model_fn,
        model_dir=plain.model_dir,
        config=config,
        job_start_file=job_start_file,
        warm_start_from=plain._warm_start_settings,
    )
