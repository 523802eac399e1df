"""``tf.contrib.seq2seq``: decoders that run in a loop of the graph, and what feeds them."""

from __future__ import annotations

import collections
import contextlib
from typing import Any

import tensorflow.compat.v1 as tf

from drynpu_tf.foreign import Cell, DType, Scope, State, Tensor, TensorLike
from drynpu_tf.inside import transpose_batch_time
from drynpu_tf1_contrib.helpers import Helper

Step = tuple[Any, Any, Any, Any]
BasicDecoderOutput = collections.namedtuple("BasicDecoderOutput", ["rnn_output", "sample_id"])


class Decoder:
    """What `dynamic_decode` runs: it begins with inputs and state, and makes a step of them."""

    @property
    def batch_size(self) -> Tensor:
        """Number of sequences, a scalar."""
        raise NotImplementedError

    @property
    def output_size(self) -> Any:
        """Shapes of one step's output, without the sequences."""
        raise NotImplementedError

    @property
    def output_dtype(self) -> Any:
        """Types of one step's output."""
        raise NotImplementedError

    @property
    def tracks_own_finished(self) -> bool:
        """Whether what `step` says of the ends of sequences stands as it is."""
        return False

    def initialize(self, name: str | None = None) -> tuple[Tensor, Tensor, State]:
        """Return which sequences have ended before the first step, the first inputs and the first state."""
        raise NotImplementedError

    def step(self, time: TensorLike, inputs: TensorLike, state: State, name: str | None = None) -> Step:
        """Return the outputs of a step, the next state, the next inputs and which sequences have ended."""
        raise NotImplementedError

    def finalize(self, outputs: TensorLike, final_state: State, sequence_lengths: TensorLike) -> tuple[Any, Any]:
        """Return outputs and state as the caller gets them."""
        raise NotImplementedError


def dynamic_decode(
    decoder: Decoder,
    output_time_major: bool = False,
    impute_finished: bool = False,
    maximum_iterations: TensorLike = None,
    parallel_iterations: int = 32,
    swap_memory: bool = False,
    scope: Scope = None,
) -> tuple[Tensor, Tensor, State]:
    """
    Run a decoder until all sequences have ended.

    Parameters
    ----------
    decoder:
        What makes the steps.
    output_time_major:
        Whether time comes before the sequences in the outputs.
    impute_finished:
        Whether states of ended sequences are copied and their outputs are zeros.
    maximum_iterations:
        So many steps at most.
    parallel_iterations, swap_memory:
        As of ``tf.while_loop``.
    scope:
        Of variables and operators.

    Returns
    -------
    tuple
        Outputs ``(count, time, ...)``, the last state, and the lengths of the sequences, int32.

    Raises
    ------
    TypeError
        The decoder is none.
    """
    if not isinstance(decoder, Decoder):
        raise TypeError(f"Expected decoder to be type Decoder, but saw: {type(decoder)}")
    with tf.variable_scope(scope, "decoder") as outer:
        if outer.caching_device is None:
            outer.set_caching_device(lambda operator: operator.device)
        finished, inputs, state = decoder.initialize()
        zeros = _zero_outputs(decoder)
        limit = None if maximum_iterations is None else tf.convert_to_tensor(maximum_iterations, dtype=tf.int32)
        if limit is not None:
            finished = tf.logical_or(finished, limit <= 0)
        arrays = tf.nest.map_structure(_array, decoder.output_size, decoder.output_dtype)
        lengths = tf.zeros_like(finished, dtype=tf.int32)

        def body(time: Tensor, arrays: object, state: State, inputs: Tensor, finished: Tensor, lengths: Tensor) -> Any:
            outputs, following, inputs, ended = decoder.step(time, inputs, state)
            ended = ended if decoder.tracks_own_finished else tf.logical_or(ended, finished)
            lengths = tf.where(tf.logical_not(finished), tf.fill(tf.shape(lengths), time + 1), lengths)
            if impute_finished:
                outputs = tf.nest.map_structure(lambda new, zero: tf.where(finished, zero, new), outputs, zeros)
                following = tf.nest.map_structure(lambda new, old: _kept(finished, new, old), following, state)
            tf.nest.assert_same_structure(state, following)
            arrays = tf.nest.map_structure(lambda array, value: array.write(time, value), arrays, outputs)
            if limit is not None:
                ended = tf.logical_or(ended, time + 1 >= limit)
            return time + 1, arrays, following, inputs, ended, lengths

        loop = tf.while_loop(
            lambda time, arrays, state, inputs, finished, lengths: tf.logical_not(tf.reduce_all(finished)),
            body,
            (tf.constant(0), arrays, state, inputs, finished, lengths),
            parallel_iterations=parallel_iterations,
            swap_memory=swap_memory,
        )
        _, arrays, state, _, _, lengths = loop
        outputs = tf.nest.map_structure(lambda array: array.stack(), arrays)
        with contextlib.suppress(NotImplementedError):
            outputs, state = decoder.finalize(outputs, state, lengths)
        if not output_time_major:
            outputs = tf.nest.map_structure(transpose_batch_time, outputs)
    return outputs, state, lengths


def _kept(finished: TensorLike, new: Any, old: Any) -> Tensor:
    """Return the state that was where a sequence has ended; scalars and arrays of steps always move on."""
    if isinstance(old, tf.TensorArray) or new.shape.ndims == 0:
        return new
    new.set_shape(old.shape)
    return tf.where(finished, old, new)


def _array(size: TensorLike, dtype: DType) -> Any:
    shape = tf.TensorShape(size) if not isinstance(size, int) else tf.TensorShape([size])
    return tf.TensorArray(dtype, size=0, dynamic_size=True, element_shape=tf.TensorShape([None]).concatenate(shape))


def _zero_outputs(decoder: Decoder) -> Any:
    def zeros(size: Tensor, dtype: DType) -> Tensor:
        shape = tf.TensorShape(size) if not isinstance(size, int) else tf.TensorShape([size])
        return tf.zeros(tf.concat([[decoder.batch_size], tf.constant(shape.as_list(), tf.int32)], 0), dtype)

    return tf.nest.map_structure(zeros, decoder.output_size, decoder.output_dtype)


class BasicDecoder(Decoder):
    """
    A decoder of a cell, a helper, and a layer for its outputs if there is one.

    Parameters
    ----------
    cell, helper, initial_state:
        What makes the steps, what feeds it, and its first state.
    output_layer:
        Called with the cell's output.
    """

    def __init__(self, cell: Cell, helper: Helper, initial_state: State, output_layer: Any = None) -> None:
        self._cell = cell
        self._helper = helper
        self._initial_state = initial_state
        self._output_layer = output_layer

    @property
    def batch_size(self) -> Tensor:
        """Number of sequences."""
        return self._helper.batch_size

    @property
    def output_size(self) -> Any:
        """Shapes of output and sample."""
        size: Any = self._cell.output_size
        if self._output_layer is not None:
            shapes = tf.nest.map_structure(lambda each: tf.TensorShape([None]).concatenate(each), size)
            size = self._output_layer.compute_output_shape(shapes)[1:]
        return BasicDecoderOutput(size, self._helper.sample_ids_shape)

    @property
    def output_dtype(self) -> Any:
        """Types of output and sample."""
        dtype = tf.nest.flatten(self._initial_state)[0].dtype
        return BasicDecoderOutput(
            tf.nest.map_structure(lambda _: dtype, self._cell.output_size), self._helper.sample_ids_dtype
        )

    def initialize(self, name: str | None = None) -> tuple[Tensor, Tensor, State]:
        """Return which sequences are empty, the first inputs and the first state."""
        return (*self._helper.initialize(), self._initial_state)

    def step(self, time: TensorLike, inputs: TensorLike, state: State, name: str | None = None) -> Step:
        """Return outputs, state, next inputs and which sequences have ended."""
        with tf.name_scope(name, "BasicDecoderStep"):
            outputs, state = self._cell(inputs, state)
            if self._output_layer is not None:
                outputs = self._output_layer(outputs)
            samples = self._helper.sample(time=time, outputs=outputs, state=state)
            finished, inputs, state = self._helper.next_inputs(
                time=time, outputs=outputs, state=state, sample_ids=samples
            )
        return BasicDecoderOutput(outputs, samples), state, inputs, finished
