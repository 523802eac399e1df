"""``NPUEstimator``, ``NPUEstimatorSpec``: TensorFlow's Estimator with the options of a device (tf_adapters.md 1.3)."""

from __future__ import annotations

import inspect
import os
import random
import string
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import tensorflow.compat.v2 as tf

from drynpu.options import Settings
from drynpu_tf.bridge._estimator_bases import EstimatorBase, EstimatorSpecBase, need_estimator
from drynpu_tf.bridge.hooks import (
    NPUBroadcastGlobalVariablesHook,
    NPUCheckpointSaverHook,
    NPUHostCallHook,
    NPULogOutfeedSessionHook,
    SetIterationsVarHook,
)
from drynpu_tf.bridge.parameters import session_options
from drynpu_tf.bridge.ranks import get_rank_size
from drynpu_tf.bridge.run_config import NPURunConfig
from drynpu_tf.foreign import EstimatorSpec, Hook, Operation, Scaffold, TensorLike
from drynpu_tf.inside import tf_logging
from drynpu_tf.quiet import without_deprecations

_TRAIN, _EVAL = "train", "eval"
_NAME_LETTERS = 10


def _check_host_call(host_call: object) -> None:
    """Check a host call as the vendor does, with its messages."""
    name = "host_call"
    if not isinstance(host_call, (tuple, list)):
        raise ValueError(f"{name} should be tuple or list")
    if len(host_call) != 2:
        raise ValueError(f"{name} should have two elements.")
    function, tensors = host_call
    if not callable(function):
        raise TypeError(f"{name}[0] should be callable.")
    if not isinstance(tensors, (tuple, list, dict)):
        raise ValueError(f"{name}[1] should be tuple or list, or dict.")
    parameters = inspect.signature(function).parameters
    varied = any(parameter.kind is inspect.Parameter.VAR_POSITIONAL for parameter in parameters.values())
    if not isinstance(tensors, dict) and not varied and len(tensors) != len(parameters):
        raise RuntimeError(
            f"In NPUEstimatorSpec.{name}, length of tensors {len(tensors)} does not match method args of the function, "
            f"which takes {len(parameters)}."
        )


class NPUEstimatorSpec(EstimatorSpecBase):
    """
    ``tf.estimator.EstimatorSpec`` with a host call.

    Parameters
    ----------
    host_call:
        A function and its tensors (list or mapping): called while the graph is built, what it returns runs with every
        step of training and evaluation. A device sends the tensors to the host for it; here they are there.

    Raises
    ------
    ValueError, TypeError, RuntimeError
        With the vendor's messages for a malformed host call, TensorFlow's for the rest.
    """

    def __new__(
        cls,
        mode: str,
        predictions: object = None,
        loss: TensorLike = None,
        train_op: Operation = None,
        eval_metric_ops: object = None,
        export_outputs: object = None,
        training_chief_hooks: object = None,
        training_hooks: object = None,
        scaffold: Scaffold = None,
        evaluation_hooks: object = None,
        prediction_hooks: object = None,
        host_call: object = None,
    ) -> NPUEstimatorSpec:
        """Check the host call, and make the spec."""
        # First, while there are no other local names than the arguments (and the class, for super()).
        fields = {name: value for name, value in locals().items() if name not in ("cls", "host_call", "__class__")}
        need_estimator(cls.__name__)
        if host_call is not None:
            _check_host_call(host_call)
        with without_deprecations():
            spec = super().__new__(cls, **fields)
        spec._host_call = host_call
        return spec  # type: ignore[no-any-return]


class NPUEstimator(EstimatorBase):
    """
    ``tf.estimator.Estimator`` whose sessions carry the options of an `NPURunConfig`.

    Training, evaluation and prediction are TensorFlow's own; the sessions read the ``NpuOptimizer`` entry and profile
    as it requests.

    Raises
    ------
    ValueError
        *config* is missing or of another class; *model_dir* contradicts it; ``JOB_ID`` is needed and not set (only
        with ``DRYNPU_STRICT=1``, a device always needs it).
    TypeError, AttributeError
        A value of *config* cannot be written into the session's options.
    ImportError
        TensorFlow has no Estimator.
    """

    def __init__(
        self,
        model_fn: Callable[..., Any] | None = None,
        model_dir: str | None = None,
        config: NPURunConfig | None = None,
        params: Mapping[str, Any] | None = None,
        job_start_file: str = "",
        warm_start_from: Any = None,
    ) -> None:
        if not isinstance(config, NPURunConfig):
            raise ValueError("`config` must be provided with type `NPUConfigs`")
        from tensorflow_estimator.python.estimator.estimator import _verify_model_fn_args

        _verify_model_fn_args(model_fn, params)
        config = session_options(config)
        _check_job(job_start_file)
        model_dir = _model_directory(model_dir, config.model_dir)
        with without_deprecations():
            super().__init__(
                model_fn=_with_hooks(model_fn, model_dir, config),
                model_dir=model_dir,
                config=config,
                params=params or {},
                warm_start_from=warm_start_from or os.environ.get("RESTORE_FROM"),
            )


def _check_job(job_start_file: str) -> None:
    """Raise where neither a readable file nor ``JOB_ID`` names a job, as a device does; only with ``DRYNPU_STRICT``."""
    if job_start_file and os.access(job_start_file, os.R_OK):
        return
    if not os.environ.get("JOB_ID") and Settings.from_environ(os.environ).strict:
        raise ValueError("Load job info failed, please check whether `JOB_ID` is set in environment variable")


def _model_directory(chosen: Any, configured: Any) -> str:
    """Return the directory of the model; a new one in the working directory where neither argument names one."""
    chosen = None if chosen is None else os.fspath(chosen)
    if chosen is not None and configured is not None and chosen != configured:
        raise ValueError(
            "model_dir are set both in NPUEstimator and NPURunConfig, but with different values. In constructor: "
            f"'{chosen}', in NPURunConfig: '{configured}' "
        )
    if chosen is not None or configured is not None:
        return str(configured if chosen is None else chosen)
    # Not in the system's temporary folder: the vendor's Estimator makes it in the working directory, too.
    letters = "".join(random.SystemRandom().choices(string.ascii_letters + string.digits, k=_NAME_LETTERS))
    directory = Path.cwd() / f"model_dir_{letters}"
    directory.mkdir()
    tf_logging.warning("Using temporary folder as model directory: %s", directory)
    return str(directory)


def _with_hooks(model_fn: Any, model_dir: str, config: NPURunConfig) -> Callable[..., Any]:
    """Return *model_fn* with the hooks of the vendor's Estimator in its result."""
    from drynpu_tf.inside import function_utils

    names = frozenset(function_utils.fn_args(model_fn))

    def with_npu_hooks(features: Any, labels: Any, mode: str, params: Any) -> EstimatorSpec:
        offered = {"labels": labels, "mode": mode, "params": params, "config": config}
        spec = model_fn(features=features, **{name: offered[name] for name in offered if name in names})
        if mode not in (_TRAIN, _EVAL):
            return spec
        _check_spec(spec, mode)
        return _training(spec, model_dir, config) if mode == _TRAIN else _evaluation(spec)

    return with_npu_hooks


def _check_spec(spec: EstimatorSpec, mode: str) -> None:
    if not isinstance(spec, EstimatorSpecBase):
        what = "train" if mode == _TRAIN else "evaluate"
        raise RuntimeError(
            f"estimator_spec used by NPU {what} must have type `NPUEstimatorSpec` or `EstimatorSpec`. Got {type(spec)}"
        )


def _training(spec: EstimatorSpec, model_dir: str, config: NPURunConfig) -> EstimatorSpec:
    hooks: list[Hook] = []
    if get_rank_size() > 1 and not config.horovod_mode:
        hooks.append(NPUBroadcastGlobalVariablesHook(0, 0))
    if config.save_checkpoints_steps or config.save_checkpoints_secs:
        with without_deprecations():
            hooks.append(
                NPUCheckpointSaverHook(
                    checkpoint_dir=model_dir,
                    save_secs=config.save_checkpoints_secs,
                    save_steps=config.save_checkpoints_steps,
                    scaffold=spec.scaffold,
                )
            )
    spec, more = _host_call(spec, after=spec.train_op)
    hooks += more
    if config.iterations_per_loop > 1:
        hooks.append(SetIterationsVarHook(config.iterations_per_loop))
        spec = spec._replace(train_op=tf.group(spec.train_op, name="IterationOp"))
    return spec._replace(training_hooks=(*hooks, *(spec.training_hooks or ())))


def _evaluation(spec: EstimatorSpec) -> EstimatorSpec:
    spec, hooks = _host_call(spec, after=spec.loss)
    return spec._replace(evaluation_hooks=(*hooks, *(spec.evaluation_hooks or ()))) if hooks else spec


def _host_call(spec: EstimatorSpec, *, after: object) -> tuple[Any, list[Any]]:
    """Let the loss depend on what the host call returns, and return the hooks that go with it."""
    if not isinstance(spec, NPUEstimatorSpec):
        return spec, []
    hooks: list[Hook] = [NPULogOutfeedSessionHook(sys.stderr)]
    if spec._host_call is None:
        return spec, hooks
    function, tensors = spec._host_call
    with tf.control_dependencies([after]):
        if isinstance(tensors, dict):
            returned = function(**{name: tf.identity(tensor) for name, tensor in tensors.items()})
        else:
            returned = function(*(tf.identity(tensor) for tensor in tensors))
    run_too = [each for each in tf.nest.flatten(returned) if each is not None]
    with tf.control_dependencies(run_too):
        spec = spec._replace(loss=tf.identity(spec.loss))
    return spec, [NPUHostCallHook(), *hooks]
