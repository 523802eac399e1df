"""
``iterations_per_loop``: several training steps in one ``sess.run`` (tf_adapters.md 1.3).

A device repeats a graph that holds ``IterationOp`` as often as variables of the session say. Operator and variables are
made here as the vendor makes them; the session repeats the run.
"""

from __future__ import annotations

import contextlib

import tensorflow.compat.v2 as tf
from tensorflow.core.framework import attr_value_pb2, variable_pb2

from drynpu import say_once
from drynpu_tf.bridge.utilities import check_positive_integer
from drynpu_tf.foreign import Fetches, Operation, Session, Variable
from drynpu_tf.inside import ops
from drynpu_tf.quiet import without_deprecations
from drynpu_tf.sessions import set_turns

_SCOPE = "npu_runconfig"
_EXECUTE_MODES = ("lazy_recompile", "dynamic_execute")


def register_func(var_name: str) -> None:
    """Register how TensorFlow writes a variable of that name into a meta graph; nothing happens the second time."""
    with contextlib.suppress(KeyError):
        ops.register_proto_function(
            f"{_SCOPE}_{var_name}",
            proto_type=variable_pb2.VariableDef,
            to_proto=lambda variable, export_scope=None: variable.to_proto(export_scope),
            from_proto=lambda definition, import_scope=None: tf.compat.v1.Variable.from_proto(definition, import_scope),
        )


def create_or_get_var(var_name: str) -> Variable:
    """
    Return the local int64 variable ``npu_runconfig/<var_name>`` of the default graph.

    Raises
    ------
    RuntimeError
        The graph has more than one.
    """
    graph = tf.compat.v1.get_default_graph()
    collection = f"{_SCOPE}_{var_name}"
    variables = graph.get_collection(collection)
    if len(variables) > 1:
        raise RuntimeError("Multiple var in collection.")
    if variables:
        return variables[0]
    with tf.compat.v1.variable_scope(_SCOPE, reuse=tf.compat.v1.AUTO_REUSE):
        return tf.compat.v1.get_variable(
            var_name,
            shape=[],
            dtype=tf.int64,
            initializer=tf.compat.v1.zeros_initializer(),
            trainable=False,
            collections=[collection, tf.compat.v1.GraphKeys.LOCAL_VARIABLES],
            use_resource=True,
        )


class IterationVariables:
    """The four variables that steer the loop of a device."""

    NAMES = ("iterations_per_loop", "loop_cond", "zero", "one")

    def __init__(self) -> None:
        for name in self.NAMES:
            register_func(name)
        self._variables = {name: create_or_get_var(name) for name in self.NAMES}

    def load(self, session: Session, iterations_per_loop: int) -> None:
        """Set them for a loop of that many steps; the first is the number of repetitions."""
        with without_deprecations():
            for name, value in zip(self.NAMES, (iterations_per_loop - 1, 0, 0, 1), strict=True):
                self._variables[name].load(value, session=session)
        if not set_turns(session, iterations_per_loop) and iterations_per_loop > 1:
            say_once(
                f"iterations_per_loop={iterations_per_loop}: this session is not on an NPU; a run makes one training "
                "step."
            )


def _iteration_op(train_op: Operation) -> tf.Operation:
    return tf.group(train_op, name="IterationOp")


def _check_operation(train_op: Operation) -> None:
    if not isinstance(train_op, tf.Operation):
        kind = getattr(getattr(train_op, "dtype", None), "name", type(train_op).__name__)
        raise ValueError(f"The incoming 'train_op' type is '{kind}', and the need type is 'Operation'")


def set_iteration_per_loop(sess: Session, train_op: Operation, iterations_per_loop: int = 1) -> tf.Operation:
    """
    Return *train_op* for one step in a run, or the operator ``IterationOp`` for several.

    Raises
    ------
    ValueError, TypeError
        *train_op* is no operation; *iterations_per_loop* is not positive, or no int.
    """
    _check_operation(train_op)
    check_positive_integer(iterations_per_loop, "iterations_per_loop")
    if iterations_per_loop == 1:
        return train_op
    IterationVariables().load(sess, iterations_per_loop)
    return _iteration_op(train_op)


class IterationPerLoop:
    """The two halves of `set_iteration_per_loop`, for graphs that are finalized before there is a session."""

    def create_iteration_per_loop_var(self, train_op: Operation) -> tf.Operation:
        """Make the variables, and return the operator ``IterationOp``; ``ValueError`` for what is no operation."""
        _check_operation(train_op)
        self._variables = IterationVariables()
        return _iteration_op(train_op)

    def load_iteration_per_loop_var(self, sess: Session, iterations_per_loop: int = 1) -> None:
        """Set the variables."""
        check_positive_integer(iterations_per_loop, "iterations_per_loop")
        self._variables.load(sess, iterations_per_loop)


def set_graph_exec_config(
    fetch: Fetches,
    dynamic_input: bool = False,
    dynamic_graph_execute_mode: str = "dynamic_execute",
    dynamic_inputs_shape_range: str | None = None,
) -> Fetches:
    """
    Mark operators with how a device executes them: *fetch* is an operation, a tensor, its name, or a list of those.

    Raises
    ------
    ValueError
        For another mode than the vendor's two, or for anything else as *fetch*.
    """
    if dynamic_graph_execute_mode not in _EXECUTE_MODES:
        raise ValueError("dynamic_graph_execute_mode should be lazy_recompile or dynamic_execute")
    rest = (dynamic_input, dynamic_graph_execute_mode, dynamic_inputs_shape_range)
    if isinstance(fetch, (tuple, list)):
        for each in fetch:
            set_graph_exec_config(each, *rest)
        return fetch
    if isinstance(fetch, str):
        return set_graph_exec_config(tf.compat.v1.get_default_graph().get_tensor_by_name(fetch), *rest)
    if not isinstance(fetch, (tf.Operation, tf.Tensor)):
        raise ValueError("fetch is invalid, should be op, tensor, list, tuple or tensor name.")
    operation = fetch if isinstance(fetch, tf.Operation) else fetch.op
    marks = {
        "_graph_dynamic_input": attr_value_pb2.AttrValue(b=dynamic_input),
        "_graph_dynamic_graph_execute_mode": attr_value_pb2.AttrValue(s=dynamic_graph_execute_mode.encode()),
        "_graph_dynamic_inputs_shape_range": attr_value_pb2.AttrValue(s=(dynamic_inputs_shape_range or "").encode()),
    }
    for name, value in marks.items():
        operation._set_attr(name, value)
    return fetch
