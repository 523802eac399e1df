"""Names around Estimator: of ``tf.contrib.learn``, ``distribute``, ``compiler.xla`` and ``mixed_precision``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import tensorflow.compat.v1 as tf

from drynpu import say
from drynpu_tf.bridge.loss_scale import NPULossScaleOptimizer
from drynpu_tf.foreign import Optimizer


class ModeKeys:
    """The modes of ``tf.contrib.learn``."""

    TRAIN = "train"
    EVAL = "eval"
    INFER = "infer"

    @classmethod
    def validate(cls, key: str) -> None:
        """Raise ``ValueError`` for what is no mode."""
        if key not in {cls.TRAIN, cls.EVAL, cls.INFER}:
            raise ValueError(f"Invalid mode {key}.")


def replace_monitors_with_hooks(monitors_or_hooks: Sequence[object] | None, estimator: object) -> list[Any]:
    """Return the hooks of a list; ``TypeError`` for a monitor, which TensorFlow 2 does not have."""
    del estimator
    for hook in monitors_or_hooks or ():
        if not isinstance(hook, tf.train.SessionRunHook):
            raise TypeError(f"{type(hook).__name__} is no tf.train.SessionRunHook.")
    return list(monitors_or_hooks or ())


def estimator_model_fn(target_model_fn: Callable[..., Any] | None = None) -> Any:
    """Return the model function as it is: neither an NPU nor this machine compiles it with XLA."""
    say("tf.contrib.compiler.xla.estimator_model_fn has no effect: the graph engine compiles the graph.")
    return target_model_fn if target_model_fn is not None else lambda function: function


def export_all_saved_models(
    estimator: Any,
    export_dir_base: str,
    input_receiver_fn_map: Any,
    assets_extra: Any = None,
    as_text: bool = False,
    checkpoint_path: str | None = None,
) -> Any:
    """Return the folder into which the estimator writes one saved model for all modes of the map."""
    return estimator.experimental_export_all_saved_models(
        export_dir_base, input_receiver_fn_map, assets_extra, as_text, checkpoint_path
    )


class LossScaleOptimizer(NPULossScaleOptimizer):
    """
    An optimizer whose loss is scaled, and that leaves out steps whose gradients overflow.

    Parameters
    ----------
    opt:
        The optimizer that computes and applies the gradients.
    loss_scale_manager:
        ``FixedLossScaleManager``, ``ExponentialUpdateLossScaleManager``, or what has their methods.
    """

    def __init__(self, opt: Optimizer, loss_scale_manager: Any) -> None:
        super().__init__(opt, loss_scale_manager, is_distributed=False)


class MirroredStrategy(tf.distribute.MirroredStrategy):
    """``tf.distribute.MirroredStrategy`` with a number of GPUs in place of names of devices."""

    def __init__(
        self,
        devices: Sequence[str] | None = None,
        num_gpus: int | None = None,
        num_gpus_per_worker: int | None = None,
        cross_device_ops: Any = None,
        auto_shard_dataset: bool = False,
        cross_tower_ops: Any = None,
    ) -> None:
        del auto_shard_dataset
        count = num_gpus if num_gpus is not None else num_gpus_per_worker
        if devices is not None and count is not None:
            raise ValueError("Must only specify one of `devices` and `num_gpus`.")
        if count:
            devices = [f"/device:GPU:{index}" for index in range(count)]
        super().__init__(devices, cross_device_ops=cross_device_ops or cross_tower_ops)


class CollectiveAllReduceStrategy(tf.distribute.experimental.MultiWorkerMirroredStrategy):
    """``tf.distribute.experimental.MultiWorkerMirroredStrategy`` under its first name."""

    def __init__(self, num_gpus_per_worker: int = 0, communication: Any = None) -> None:
        del num_gpus_per_worker
        super().__init__(**({} if communication is None else {"communication": communication}))
