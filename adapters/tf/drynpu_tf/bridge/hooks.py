"""Session hooks of ``npu_bridge.estimator.npu.npu_hook``."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import tensorflow.compat.v2 as tf

from drynpu import say_once
from drynpu_tf.bridge.collectives import broadcast
from drynpu_tf.bridge.iterations import IterationVariables
from drynpu_tf.bridge.operators import shutdown_system
from drynpu_tf.bridge.ranks import get_rank_size
from drynpu_tf.foreign import Coordinator, RunContext, RunValues, Scaffold, Session
from drynpu_tf.inside import basic_session_run_hooks, session_run_hook, tf_logging


def broadcast_global_variables(root_rank: int, index: int | None = None) -> tf.Operation:
    """Return an operator that gives every trainable variable the value that it has on the root rank."""
    variables = tf.compat.v1.trainable_variables()
    if get_rank_size() == 1 or not variables:
        return tf.no_op()
    # One operator for all of them: the vendor's have one fusion_id, by which the graph engine joins them.
    values = broadcast([tf.convert_to_tensor(variable) for variable in variables], root_rank)
    return tf.group([tf.compat.v1.assign(variable, value) for variable, value in zip(variables, values, strict=True)])


class NpuEmptyHook(session_run_hook.SessionRunHook):
    """A hook that does nothing."""


class NPUShutDownHook(session_run_hook.SessionRunHook):
    """Shuts the (simulated) system down when the session ends."""

    def __init__(self, scaffold: Scaffold = None) -> None:
        super().__init__()
        self._scaffold = scaffold
        self._shutdown: tf.Operation | None = None

    def begin(self) -> None:
        """Make the operator."""
        self._shutdown = shutdown_system()

    def end(self, session: Session) -> None:
        """Run the operator."""
        session.run(self._shutdown)


class NPUBroadcastGlobalVariablesHook(session_run_hook.SessionRunHook):
    """Gives all ranks the root's variables when a session is created; with one rank there is nothing to give."""

    def __init__(self, root_rank: int = 0, index: int | None = None) -> None:
        super().__init__()
        self._root_rank = root_rank
        self._index = index
        self._broadcast: tf.Operation | None = None

    def begin(self) -> None:
        """Make the operator, once for each graph."""
        if self._broadcast is None or self._broadcast.graph is not tf.compat.v1.get_default_graph():
            self._broadcast = broadcast_global_variables(self._root_rank, self._index)

    def after_create_session(self, session: Session, coord: Coordinator) -> None:
        """Run the operator."""
        if get_rank_size() > 1:
            session.run(self._broadcast)


class NPUCheckpointSaverHook(basic_session_run_hooks.CheckpointSaverHook):
    """
    TensorFlow's CheckpointSaverHook under the vendor's name.

    The vendor's reads the global step with a ``sess.run`` of its own after every step, to log it. Ours logs the value
    that the step itself fetched: one more run would be one more iteration in the profile.
    """

    def after_run(self, run_context: RunContext, run_values: RunValues) -> None:
        """Save where it is time to."""
        tf_logging.info("global_step...%s", run_values.results)
        super().after_run(run_context, run_values)


class SetIterationsVarHook(session_run_hook.SessionRunHook):
    """Sets the variables of a loop of several steps in a run."""

    def __init__(self, iterations_per_loop: int | None = None) -> None:
        super().__init__()
        self._iterations_per_loop = iterations_per_loop or 1

    def begin(self) -> None:
        """Make the variables."""
        self._variables = IterationVariables()

    def after_create_session(self, session: Session, coord: Coordinator) -> None:
        """Set the variables."""
        self._variables.load(session, self._iterations_per_loop)


class NPULogOutfeedSessionHook(session_run_hook.SessionRunHook):
    """Would print what operators on the device log; without effect, because they run on the CPU."""

    def __init__(self, output_stream: Any) -> None:
        super().__init__()
        self._output_stream = output_stream


class NPUHostCallHook(session_run_hook.SessionRunHook):
    """Opens the summary writers of a host call with the session, and flushes them when it ends."""

    def begin(self) -> None:
        """Find the writers of the graph."""
        from drynpu_tf.inside import summary_ops_v2

        self._open = list(summary_ops_v2.summary_writer_initializer_op())
        self._flush = [summary_ops_v2.flush(writer=operation.inputs[0]) for operation in self._open]

    def after_create_session(self, session: Session, coord: Coordinator) -> None:
        """Open them."""
        session.run(self._open)

    def end(self, session: Session) -> None:
        """Flush them."""
        session.run(self._flush)


class NPUOutputTensorHook(basic_session_run_hooks.LoggingTensorHook):
    """
    Hands tensors to a function every N steps and at the end.

    Parameters
    ----------
    tensors:
        Names to tensors; ``None`` for a function that only counts.
    dependencies:
        What must have run before the tensors are read.
    output_fn:
        Called with a list of one mapping per step since the last call.
    output_every_n_steps:
        0 calls it at the end only.
    """

    def __init__(
        self,
        tensors: Mapping[str, Any] | None,
        dependencies: Any = None,
        output_fn: Callable[[Sequence[Mapping[str, Any]]], object] | None = None,
        output_every_n_steps: int = 0,
    ) -> None:
        self._tensors_or_none = tensors
        self._output_fn = output_fn
        self._output_every_n_steps = output_every_n_steps
        self._output_list: list[Mapping[str, Any]] = []
        self._count = 0
        if tensors is None:
            return
        if dependencies is not None:
            after = dependencies if isinstance(dependencies, (list, tuple)) else [dependencies]
            with tf.control_dependencies(after):
                tensors = {name: tf.identity(tensor) for name, tensor in tensors.items()}
        # The base class would log the tensors; so seldom it never does.
        super().__init__(tensors, every_n_iter=1 << 31)

    def begin(self) -> None:
        """Find the tensors."""
        if self._tensors_or_none is not None:
            super().begin()

    def before_run(self, run_context: RunContext) -> Any:
        """Ask for the tensors with the step."""
        if self._tensors_or_none is None:
            return None
        return tf.compat.v1.train.SessionRunArgs(self._current_tensors)

    def after_run(self, run_context: RunContext, run_values: RunValues) -> None:
        """Keep the values; every N steps, call the function with them."""
        if self._tensors_or_none is not None:
            self._output_list.append({tag: run_values.results[tag] for tag in self._tag_order})
        self._count += 1
        if self._output_every_n_steps > 0 and self._count % self._output_every_n_steps == 0:
            self._hand_over()

    def end(self, session: Session) -> None:
        """Call the function with the values of the last steps."""
        if self._output_list:
            self._hand_over()

    def _hand_over(self) -> None:
        if self._output_fn is not None:
            self._output_fn(self._output_list)
        self._output_list = []


class TellMeStepOrLossHook(session_run_hook.SessionRunHook):
    """Would report to the device how far the training is; without effect here."""

    def __init__(
        self,
        step: str | None = None,
        total_step: int | None = None,
        loss: str | None = None,
        final_loss: float | None = None,
    ) -> None:
        super().__init__()
        self._step, self._total_step = step, total_step
        self._loss, self._final_loss = loss, final_loss
        say_once("TellMeStepOrLossHook: there is no device to tell; it has no effect")
