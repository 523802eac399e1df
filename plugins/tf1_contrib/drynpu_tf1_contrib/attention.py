"""``tf.contrib.seq2seq``: cells that attend to the steps of an encoder."""

from __future__ import annotations

import collections
from collections.abc import Callable, Sequence
from typing import Any

import tensorflow.compat.v1 as tf

from drynpu_tf.foreign import Cell, DType, State, Tensor, TensorLike

_Fields = collections.namedtuple(
    "_Fields", ["cell_state", "attention", "time", "alignments", "alignment_history", "attention_state"]
)


class AttentionWrapperState(_Fields):
    """State of an `AttentionWrapper`: the state of its cell, the attention, the time, and the weights of the steps."""

    __slots__ = ()

    def clone(self, **kwargs: object) -> AttentionWrapperState:
        """Return the state with some fields replaced; tensors keep the static shapes that they had."""
        new = self._replace(**kwargs)
        tf.nest.map_structure(_with_shape, self, new)
        return new


def _with_shape(old: Any, new: Any) -> None:
    if tf.is_tensor(old) and tf.is_tensor(new):
        new.set_shape(old.shape)


class AttentionMechanism:
    """What weighs the steps of a memory by a query."""

    @property
    def alignments_size(self) -> Any:
        """Number of steps of the memory."""
        raise NotImplementedError

    @property
    def state_size(self) -> Any:
        """Size of the state, which is the weights."""
        raise NotImplementedError


class _Mechanism(AttentionMechanism):
    """The memory, its keys, and how scores become weights."""

    def __init__(
        self,
        query_layer: Any,
        memory: TensorLike,
        probability_fn: Callable[[Any], Any] | None,
        memory_sequence_length: TensorLike,
        memory_layer: Any,
        score_mask_value: TensorLike,
        name: str,
    ) -> None:
        self.query_layer = query_layer
        self.memory_layer = memory_layer
        self._probability_fn = probability_fn or tf.nn.softmax
        with tf.name_scope(name, "AttentionMechanismInit"):
            memory = tf.convert_to_tensor(memory, name="memory")
            self._mask: Any = None
            if memory_sequence_length is not None:
                self._mask = tf.sequence_mask(memory_sequence_length, tf.shape(memory)[1])
                memory = memory * tf.expand_dims(tf.cast(self._mask, memory.dtype), 2)
            self.values = memory
            self.keys = memory_layer(memory) if memory_layer is not None else memory
            self.dtype = self.keys.dtype
            self._score_mask_value = self.dtype.as_numpy_dtype(
                float("-inf") if score_mask_value is None else score_mask_value
            )
            self.batch_size = self.keys.shape[0].value or tf.shape(self.keys)[0]
            self._alignments_size = self.keys.shape[1].value or tf.shape(self.keys)[1]

    @property
    def alignments_size(self) -> Any:
        """Number of steps of the memory."""
        return self._alignments_size

    @property
    def state_size(self) -> Any:
        """Size of the state, which is the weights."""
        return self._alignments_size

    def initial_alignments(self, batch_size: TensorLike, dtype: DType) -> Tensor:
        """Return weights that are 0, ``(count, steps)``."""
        return tf.zeros([batch_size, self._alignments_size], dtype=dtype)

    def initial_state(self, batch_size: TensorLike, dtype: DType) -> State:
        """Return the first state."""
        return self.initial_alignments(batch_size, dtype)

    def __call__(self, query: TensorLike, state: State) -> tuple[Tensor, State]:
        """Return the weights of the steps for a query ``(count, size)``, and the next state."""
        del state
        with tf.variable_scope(None, self._scope, [query]):
            score = self._score(self.query_layer(query) if self.query_layer is not None else query)
        if self._mask is not None:
            score = tf.where(self._mask, score, self._score_mask_value * tf.ones_like(score))
        alignments = self._probability_fn(score)
        return alignments, alignments

    _scope = "attention"

    def _score(self, query: TensorLike) -> Tensor:
        raise NotImplementedError


class LuongAttention(_Mechanism):
    """
    Scores that are products of the query and the keys (Luong et al., 2015).

    Parameters
    ----------
    num_units:
        Size of query and keys.
    memory, memory_sequence_length:
        Steps of the encoder, ``(count, steps, size)``, and how many of them count.
    scale:
        Whether a variable ``attention_g`` scales the scores.
    probability_fn:
        From scores to weights; softmax if not given.
    score_mask_value:
        The score of what does not count; minus infinity if not given.
    dtype, name:
        Of the layer and the operators.
    """

    _scope = "luong_attention"

    def __init__(
        self,
        num_units: int,
        memory: TensorLike,
        memory_sequence_length: TensorLike = None,
        scale: bool = False,
        probability_fn: Callable[[Any], Any] | None = None,
        score_mask_value: TensorLike = None,
        dtype: DType = None,
        custom_key_value_fn: Any = None,
        name: str = "LuongAttention",
    ) -> None:
        layer = tf.layers.Dense(num_units, name="memory_layer", use_bias=False, dtype=dtype or tf.float32)
        super().__init__(None, memory, probability_fn, memory_sequence_length, layer, score_mask_value, name)
        self._num_units = num_units
        self._scale = scale
        if custom_key_value_fn is not None:
            self.keys, self.values = custom_key_value_fn(self.keys, self.values)

    def _score(self, query: TensorLike) -> Tensor:
        if query.shape[-1].value != self.keys.shape[-1].value:
            raise ValueError(
                f"Incompatible or unknown inner dimensions between query and keys: {query.shape} and {self.keys.shape}."
            )
        score = tf.squeeze(tf.matmul(tf.expand_dims(query, 1), self.keys, transpose_b=True), [1])
        if self._scale:
            score *= tf.get_variable("attention_g", dtype=query.dtype, initializer=tf.ones_initializer, shape=())
        return score


class BahdanauAttention(_Mechanism):
    """
    Scores ``v * tanh(key + query)`` (Bahdanau et al., 2014), normalized if *normalize*.

    Parameters as for `LuongAttention`; *num_units* is the size that query and keys are projected to.
    """

    _scope = "bahdanau_attention"

    def __init__(
        self,
        num_units: int,
        memory: TensorLike,
        memory_sequence_length: TensorLike = None,
        normalize: bool = False,
        probability_fn: Callable[[Any], Any] | None = None,
        score_mask_value: TensorLike = None,
        dtype: DType = None,
        custom_key_value_fn: Any = None,
        name: str = "BahdanauAttention",
    ) -> None:
        kind = dtype or tf.float32
        super().__init__(
            tf.layers.Dense(num_units, name="query_layer", use_bias=False, dtype=kind),
            memory,
            probability_fn,
            memory_sequence_length,
            tf.layers.Dense(num_units, name="memory_layer", use_bias=False, dtype=kind),
            score_mask_value,
            name,
        )
        self._num_units = num_units
        self._normalize = normalize
        if custom_key_value_fn is not None:
            self.keys, self.values = custom_key_value_fn(self.keys, self.values)

    def _score(self, query: TensorLike) -> Tensor:
        vector = tf.get_variable("attention_v", [self._num_units], dtype=query.dtype)
        total = self.keys + tf.expand_dims(query, 1)
        if self._normalize:
            gain = tf.get_variable(
                "attention_g",
                dtype=query.dtype,
                initializer=tf.constant_initializer((1.0 / self._num_units) ** 0.5),
                shape=(),
            )
            bias = tf.get_variable("attention_b", [self._num_units], query.dtype, tf.zeros_initializer())
            vector = gain * vector * tf.rsqrt(tf.reduce_sum(tf.square(vector)))
            total += bias
        return tf.reduce_sum(vector * tf.tanh(total), [2])


class AttentionWrapper(tf.nn.rnn_cell.RNNCell):
    """
    A cell whose inputs and outputs are joined to what it attends to.

    Parameters
    ----------
    cell, attention_mechanism:
        The cell, and one mechanism or a list of them.
    attention_layer_size, attention_layer:
        Size of a layer from output and context to the attention, or the layer itself, one for each mechanism; without
        them the attention is the context.
    alignment_history:
        Whether the state keeps the weights of all steps, in an array.
    cell_input_fn:
        From inputs and attention to the inputs of the cell; they are joined if not given.
    output_attention:
        Whether the output is the attention or the cell's output.
    initial_cell_state:
        What `zero_state` begins with in place of zeros.
    name:
        Of the scope.
    """

    def __init__(
        self,
        cell: Cell,
        attention_mechanism: Any,
        attention_layer_size: TensorLike = None,
        alignment_history: bool = False,
        cell_input_fn: Callable[[Any, Any], Any] | None = None,
        output_attention: bool = True,
        initial_cell_state: State = None,
        name: str | None = None,
        attention_layer: Any = None,
    ) -> None:
        super().__init__(name=name)
        self._is_multi = isinstance(attention_mechanism, (list, tuple))
        self._mechanisms: Sequence[Any] = attention_mechanism if self._is_multi else (attention_mechanism,)
        self._cell = cell
        self._cell_input_fn = cell_input_fn or (lambda inputs, attention: tf.concat([inputs, attention], -1))
        self._output_attention = output_attention
        self._alignment_history = alignment_history
        self._initial_cell_state = initial_cell_state
        self._layers_of_attention = self._attention_layers(attention_layer_size, attention_layer)
        self._attention_size = sum(
            mechanism.values.shape[-1].value
            if layer is None
            else layer.compute_output_shape([None, cell.output_size + mechanism.values.shape[-1].value])[-1].value
            for layer, mechanism in zip(self._layers_of_attention, self._mechanisms, strict=True)
        )

    def _attention_layers(self, sizes: TensorLike, layers: object) -> list[Any]:
        if sizes is not None and layers is not None:
            raise ValueError("Only one of attention_layer_size and attention_layer should be set")
        chosen: Any = [None] * len(self._mechanisms)
        if sizes is not None:
            chosen = [
                tf.layers.Dense(size, name="attention_layer", use_bias=False, dtype=mechanism.dtype)
                for size, mechanism in zip(self._several(sizes), self._mechanisms, strict=True)
            ]
        elif layers is not None:
            chosen = list(self._several(layers))
        if len(chosen) != len(self._mechanisms):
            raise ValueError("There must be one attention layer for each attention mechanism.")
        return list(chosen)

    def _several(self, values: object) -> Sequence[Any]:
        return values if isinstance(values, (list, tuple)) else (values,)

    def _joined(self, values: Sequence[object]) -> Any:
        return tuple(values) if self._is_multi else values[0]

    @property
    def output_size(self) -> Any:
        """Size of the output."""
        return self._attention_size if self._output_attention else self._cell.output_size

    @property
    def state_size(self) -> AttentionWrapperState:
        """Sizes of the state."""
        sizes = self._joined([mechanism.alignments_size for mechanism in self._mechanisms])
        return AttentionWrapperState(
            cell_state=self._cell.state_size,
            time=tf.TensorShape([]),
            attention=self._attention_size,
            alignments=sizes,
            attention_state=self._joined([mechanism.state_size for mechanism in self._mechanisms]),
            alignment_history=self._joined(
                [mechanism.alignments_size if self._alignment_history else () for mechanism in self._mechanisms]
            ),
        )

    def zero_state(self, batch_size: TensorLike, dtype: DType) -> AttentionWrapperState:
        """Return the first state: zeros, or the state of the cell that was given."""
        with tf.name_scope(type(self).__name__ + "ZeroState"):
            if self._initial_cell_state is not None:
                cell_state = tf.nest.map_structure(tf.identity, self._initial_cell_state)
            else:
                cell_state = self._cell.zero_state(batch_size, dtype)
            alignments = [mechanism.initial_alignments(batch_size, dtype) for mechanism in self._mechanisms]
            history = [
                tf.TensorArray(dtype, size=0, dynamic_size=True, element_shape=each.shape)
                if self._alignment_history
                else ()
                for each in alignments
            ]
            return AttentionWrapperState(
                cell_state=cell_state,
                time=tf.zeros([], tf.int32),
                attention=tf.zeros([batch_size, self._attention_size], dtype),
                alignments=self._joined(alignments),
                attention_state=self._joined(
                    [mechanism.initial_state(batch_size, dtype) for mechanism in self._mechanisms]
                ),
                alignment_history=self._joined(history),
            )

    def call(self, inputs: TensorLike, state: AttentionWrapperState) -> tuple[Tensor, AttentionWrapperState]:
        """Return output and state of one step, for inputs ``(count, size)``; ``TypeError`` for another state."""
        if not isinstance(state, AttentionWrapperState):
            raise TypeError(f"Expected state to be instance of AttentionWrapperState. Received type {type(state)}.")
        output, cell_state = self._cell(self._cell_input_fn(inputs, state.attention), state.cell_state)
        attentions, weights, states, histories = [], [], [], []
        before = state.attention_state if self._is_multi else (state.attention_state,)
        kept = state.alignment_history if self._is_multi else (state.alignment_history,)
        for mechanism, layer, old, history in zip(
            self._mechanisms, self._layers_of_attention, before, kept, strict=True
        ):
            alignments, following = mechanism(output, state=old)
            context = tf.squeeze(tf.matmul(tf.expand_dims(alignments, 1), mechanism.values), [1])
            attentions.append(context if layer is None else layer(tf.concat([output, context], 1)))
            weights.append(alignments)
            states.append(following)
            histories.append(history.write(state.time, alignments) if self._alignment_history else ())
        attention = tf.concat(attentions, 1)
        following = AttentionWrapperState(
            time=state.time + 1,
            cell_state=cell_state,
            attention=attention,
            attention_state=self._joined(states),
            alignments=self._joined(weights),
            alignment_history=self._joined(histories),
        )
        return attention if self._output_attention else output, following


def hardmax(logits: TensorLike, name: str | None = None) -> Tensor:
    """Return 1 at the largest of the last axis, else 0."""
    with tf.name_scope(name, "Hardmax", [logits]):
        logits = tf.convert_to_tensor(logits)
        return tf.one_hot(tf.argmax(logits, -1), tf.shape(logits)[-1], dtype=logits.dtype)
