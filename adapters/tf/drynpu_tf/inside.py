"""
TensorFlow's private modules and names: the one place that imports them, each when it is first used.

``from drynpu_tf.inside import context`` imports ``tensorflow.python.eager.context``. Plugins use this room, too.
"""

from __future__ import annotations

import ctypes
import sys
from importlib import import_module
from pathlib import Path
from types import MappingProxyType
from typing import Final

from drynpu import say_once
from drynpu_tf.foreign import Private

_PLACES: Final = """
client.pywrap_tf_session client.session
distribute.distribute_config.DistributeConfig
eager.context eager.polymorphic_function.polymorphic_function
framework.c_api_util framework.errors framework.function_def_to_graph framework.op_callbacks framework.ops
keras.layers.legacy_rnn.rnn_cell_impl.LayerRNNCell
ops.confusion_matrix.remove_squeezable_dimensions ops.data_flow_ops.RecordInput ops.gen_rnn_ops ops.gen_training_ops
ops.rnn._best_effort_input_batch_size ops.rnn._transpose_batch_time ops.rnn.static_bidirectional_rnn
ops.rnn.static_rnn ops.rnn.static_state_saving_rnn
ops.summary_ops_v2 ops.summary_ops_v2._legacy_contrib_should_record_summaries ops.summary_ops_v2.all_v2_summary_ops
platform.tf_logging
profiler.internal._pywrap_profiler profiler.internal._pywrap_traceme
training.basic_session_run_hooks training.session_run_hook
util.compat util.deprecation util.function_utils
"""
PLACES: Final = MappingProxyType(
    {place.rpartition(".")[2].lstrip("_"): f"tensorflow.python.{place}" for place in _PLACES.split()}
)
"""By the last part of the name, without a line before it."""
SESSIONS: Final = ("session",)
"""What records sessions."""
FUNCTIONS: Final = (
    *("pywrap_profiler", "pywrap_traceme", "c_api_util", "context", "errors", "function_def_to_graph"),
    *("op_callbacks", "ops", "polymorphic_function", "pywrap_tf_session"),
)
"""What records functions and eager operators."""

_LIBRARY, _LEVEL = "libtensorflow_framework.so.2", "_ZN3tsl8profiler8internal13g_trace_levelE"


class UnknownInside(ImportError):
    """The TensorFlow of this process has no such private name."""


# N26, docs/tricks.md
def __getattr__(name: str) -> Private:
    """
    Import a private module or name of TensorFlow.

    Raises
    ------
    UnknownInside
        This release does not have it.
    """
    if name not in PLACES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    home, _, last = PLACES[name].rpartition(".")
    try:
        module = import_module(home)
        return getattr(module, last) if hasattr(module, last) else import_module(PLACES[name])
    except ImportError as error:
        release = getattr(sys.modules.get("tensorflow"), "__version__", "")
        raise UnknownInside(
            f"TensorFlow {release} has no {PLACES[name]}; docs/tensorflow.md has the releases that were tried",
            name=PLACES[name],
        ) from error


def has(names: tuple[str, ...], lost: str) -> bool:
    """Return whether this TensorFlow has all of *names*; a line on stderr says what is lost if not."""
    for name in names:
        try:
            __getattr__(name)
        except UnknownInside as error:
            say_once(f"{lost}: {error}")
            return False
    return True


def trace_level() -> ctypes.c_int | None:
    """Return the detail with which TensorFlow traces, -1 while it does not; ``None`` where no library has it."""
    import tensorflow as tf

    try:
        return ctypes.c_int.in_dll(ctypes.CDLL(str(Path(tf.sysconfig.get_lib()) / _LIBRARY)), _LEVEL)
    except (OSError, ValueError):
        return None
