"""Functions of ``tf.contrib.rnn`` and ``tf.contrib.recurrent`` that run cells over sequences."""

from __future__ import annotations

from collections.abc import Sequence

import tensorflow.compat.v1 as tf

from drynpu_tf.foreign import Cell, DType, Scope, State, Tensor, TensorLike
from drynpu_tf.inside import (
    LayerRNNCell,
    best_effort_input_batch_size,
    static_bidirectional_rnn,
    static_rnn,
    static_state_saving_rnn,
    transpose_batch_time,
)
from drynpu_tf.quiet import without_deprecations

__all__ = [
    "LayerRNNCell",
    "best_effort_input_batch_size",
    "bidirectional_functional_rnn",
    "functional_rnn",
    "stack_bidirectional_dynamic_rnn",
    "stack_bidirectional_rnn",
    "static_bidirectional_rnn",
    "static_rnn",
    "static_state_saving_rnn",
    "transpose_batch_time",
]


def stack_bidirectional_dynamic_rnn(
    cells_fw: Sequence[Cell],
    cells_bw: Sequence[Cell],
    inputs: TensorLike,
    initial_states_fw: Sequence[State] | None = None,
    initial_states_bw: Sequence[State] | None = None,
    dtype: DType = None,
    sequence_length: TensorLike = None,
    parallel_iterations: int | None = None,
    time_major: bool = False,
    scope: Scope = None,
    swap_memory: bool = False,
) -> tuple[Tensor, tuple[State, ...], tuple[State, ...]]:
    """
    Run layers of cells in both directions; each takes what both directions of the one before it gave, side by side.

    Parameters
    ----------
    cells_fw, cells_bw:
        One cell for each layer.
    inputs:
        ``(count, time, size)``, or time first with *time_major*.
    initial_states_fw, initial_states_bw:
        One state for each layer; zeros if not given, which need *dtype*.
    dtype, sequence_length, parallel_iterations, time_major, scope, swap_memory:
        As of ``tf.nn.bidirectional_dynamic_rnn``.

    Returns
    -------
    tuple
        Outputs of the last layer, and the last states of the layers forwards and backwards.

    Raises
    ------
    ValueError
        There are no cells, or not as many forwards as backwards, or as states.
    """
    _check(cells_fw, cells_bw, initial_states_fw, initial_states_bw)
    forward_states, backward_states = [], []
    with without_deprecations(), tf.variable_scope(scope or "stack_bidirectional_rnn"):
        for index, (forward, backward) in enumerate(zip(cells_fw, cells_bw, strict=True)):
            with tf.variable_scope(f"cell_{index}"):
                outputs, (forward_state, backward_state) = tf.nn.bidirectional_dynamic_rnn(
                    forward,
                    backward,
                    inputs,
                    initial_state_fw=initial_states_fw[index] if initial_states_fw else None,
                    initial_state_bw=initial_states_bw[index] if initial_states_bw else None,
                    sequence_length=sequence_length,
                    parallel_iterations=parallel_iterations,
                    dtype=dtype,
                    swap_memory=swap_memory,
                    time_major=time_major,
                )
            inputs = tf.concat(outputs, 2)
            forward_states.append(forward_state)
            backward_states.append(backward_state)
    return inputs, tuple(forward_states), tuple(backward_states)


def stack_bidirectional_rnn(
    cells_fw: Sequence[Cell],
    cells_bw: Sequence[Cell],
    inputs: Sequence[TensorLike],
    initial_states_fw: Sequence[State] | None = None,
    initial_states_bw: Sequence[State] | None = None,
    dtype: DType = None,
    sequence_length: TensorLike = None,
    scope: Scope = None,
) -> tuple[Tensor, tuple[State, ...], tuple[State, ...]]:
    """Do the same without a loop in the graph: *inputs* is a list of ``(count, size)``, and so are the outputs."""
    _check(cells_fw, cells_bw, initial_states_fw, initial_states_bw)
    forward_states, backward_states = [], []
    with without_deprecations(), tf.variable_scope(scope or "stack_bidirectional_rnn"):
        for index, (forward, backward) in enumerate(zip(cells_fw, cells_bw, strict=True)):
            with tf.variable_scope(f"cell_{index}") as inner:
                inputs, forward_state, backward_state = tf.nn.static_bidirectional_rnn(
                    forward,
                    backward,
                    inputs,
                    initial_states_fw[index] if initial_states_fw else None,
                    initial_states_bw[index] if initial_states_bw else None,
                    dtype=dtype,
                    sequence_length=sequence_length,
                    scope=inner,
                )
            forward_states.append(forward_state)
            backward_states.append(backward_state)
    return inputs, tuple(forward_states), tuple(backward_states)


def _check(forward: Cell, backward: Cell, *states: State) -> None:
    for cells in (forward, backward):
        if not isinstance(cells, list) or not cells:
            raise ValueError("Must specify at least one cell forwards and one backwards, in lists.")
    if len({len(forward), len(backward), *(len(each) for each in states if each is not None)}) != 1:
        raise ValueError("There must be as many cells, and states, forwards as backwards.")


def functional_rnn(
    cell: Cell,
    inputs: TensorLike,
    sequence_length: TensorLike = None,
    initial_state: State = None,
    dtype: DType = None,
    time_major: bool = False,
    scope: Scope = None,
    use_tpu: bool = False,
    reverse: bool = False,
) -> tuple[Tensor, State]:
    """Return outputs and last state of a cell over a sequence, as of ``tf.nn.dynamic_rnn``, backwards if *reverse*."""
    del use_tpu
    axes = {"seq_axis": 0, "batch_axis": 1} if time_major else {"seq_axis": 1, "batch_axis": 0}

    def turned(values: Tensor) -> Tensor:
        if not reverse:
            return values
        if sequence_length is None:
            return tf.reverse(values, [axes["seq_axis"]])
        return tf.reverse_sequence(values, sequence_length, **axes)

    with without_deprecations():
        outputs, state = tf.nn.dynamic_rnn(
            cell,
            turned(inputs),
            sequence_length=sequence_length,
            initial_state=initial_state,
            dtype=dtype,
            time_major=time_major,
            scope=scope,
        )
    return turned(outputs), state


def bidirectional_functional_rnn(
    cell_fw: Cell,
    cell_bw: Cell,
    inputs: TensorLike,
    initial_state_fw: State = None,
    initial_state_bw: State = None,
    dtype: DType = None,
    sequence_length: TensorLike = None,
    time_major: bool = False,
    use_tpu: bool = False,
    fast_reverse: bool = False,
    scope: Scope = None,
) -> tuple[tuple[Tensor, Tensor], tuple[State, State]]:
    """Return pairs of outputs and of last states: a cell forwards and a cell backwards over a sequence."""
    del use_tpu, fast_reverse
    common = {"sequence_length": sequence_length, "dtype": dtype, "time_major": time_major}
    with tf.variable_scope(scope or "bidirectional_rnn"):
        forward = functional_rnn(cell_fw, inputs, initial_state=initial_state_fw, scope="fw", **common)
        backward = functional_rnn(cell_bw, inputs, initial_state=initial_state_bw, scope="bw", reverse=True, **common)
    return (forward[0], backward[0]), (forward[1], backward[1])
