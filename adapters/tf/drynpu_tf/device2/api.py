"""Functions of ``npu_device`` and of its modules ``compat``, ``npu_device`` and ``utils.scope`` (tf_adapters.md 2)."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from typing import Any

import tensorflow as tf
from tensorflow.core.protobuf.rewriter_config_pb2 import RewriterConfig

from drynpu import say_once
from drynpu_tf.bridge.scopes import marked
from drynpu_tf.device2._device import DEVICES, NpuDeviceHandle
from drynpu_tf.device2.options import NpuConfig, NpuRunContextOptions
from drynpu_tf.face import restore_names
from drynpu_tf.options import OPTIMIZER_NAME
from drynpu_tf.quiet import without_deprecations
from drynpu_tf.sessions import install

_INF_NAN = 1

# Scripts for npu_device were written for TensorFlow 2.6 and its Keras, and import private names of both.
restore_names()


def global_options() -> NpuConfig:
    """Return the options of the process; they are read once, by :func:`open`."""
    return DEVICES.options()


def open(device_id: int | None = None) -> NpuDeviceHandle:  # noqa: A001 - the vendor's name
    """
    Open a device and return its handle; ``as_default()`` of that makes it the one everything runs on.

    Parameters
    ----------
    device_id:
        Its number; ``None``: ``ASCEND_DEVICE_ID``, else 0.

    Raises
    ------
    RuntimeError
        Another device is open, or its options are refused; the message is the vendor's, with the identifier of the
        error (EK0001 and others).
    """
    return DEVICES.open(device_id)


def close() -> None:
    """End the device; its profile is written now."""
    DEVICES.close()


def global_npu_ctx() -> NpuDeviceHandle | None:
    """Return the handle of the default device."""
    return DEVICES.default


def set_npu_loop_size(loop_size: int) -> None:
    """
    Set how many steps of a loop run on the device at a time.

    It changes nothing here: loops run turn by turn, as TensorFlow runs them.
    """
    say_once(f"set_npu_loop_size({loop_size}) has no effect: loops run turn by turn, one call is one iteration.")
    DEVICES.loop_size = loop_size


def set_device_sat_mode(mode: int) -> None:
    """Set what overflows give (0: the largest number, 1: infinity); the CPU always gives infinity."""
    if mode != _INF_NAN:
        say_once(f"set_device_sat_mode({mode}) has no effect: overflows are infinite on the CPU.")
    DEVICES.saturation_mode = mode


def is_inf_nan_enabled() -> bool:
    """Return whether overflows are infinite: as was set, else as the CPU computes."""
    return DEVICES.saturation_mode in (None, _INF_NAN)


@contextlib.contextmanager
def npu_run_context(options: NpuRunContextOptions | None = None) -> Iterator[None]:
    """Run what is inside with *options*, which are checked and have no effect."""
    if options is not None and not isinstance(options, NpuRunContextOptions):
        raise ValueError("options type must be NpuRunContextOptions")
    yield


def enable_v1() -> None:
    """Turn to TensorFlow 1: sessions whose configuration has an ``NpuOptimizer`` are the device's."""
    if DEVICES.opened is not None:
        os.environ["ASCEND_DEVICE_ID"] = str(DEVICES.opened)
    with without_deprecations():
        tf.compat.v1.disable_v2_behavior()
    install()


class SessionConfigBuilder:
    """
    A ``ConfigProto`` for sessions of TensorFlow 1 on the device.

    Parameters
    ----------
    config:
        The ``ConfigProto`` to complete; anything else is replaced by a new one.
    """

    def __init__(self, config: Any = None) -> None:
        complete = isinstance(config, tf.compat.v1.ConfigProto)
        self._config = config if complete else tf.compat.v1.ConfigProto(allow_soft_placement=True)
        rewrite = self._config.graph_options.rewrite_options
        rewrite.remapping = RewriterConfig.OFF
        self._optimizer = rewrite.custom_optimizers.add(name=OPTIMIZER_NAME)

    @property
    def parameter_map(self) -> Any:
        """The options of the session by name."""
        return self._optimizer.parameter_map

    @property
    def session_config(self) -> Any:
        """The ``ConfigProto``."""
        return self._config


def npu_optimizer_scope() -> contextlib.AbstractContextManager[None]:
    """Mark the nodes made inside as the optimizer's."""
    return marked(_optimizer=True)


def npu_gradients_scope() -> contextlib.AbstractContextManager[None]:
    """Mark the nodes made inside as backward ones."""
    return marked(_backward=True)
