"""Cells of ``tf.contrib.rnn`` that TensorFlow 2 does not have, with the variables and operators of TensorFlow 1.15."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import tensorflow.compat.v1 as tf

from drynpu_tf.foreign import Cell, DType, Initializer, Operation, State, Tensor, TensorLike
from drynpu_tf.inside import gen_rnn_ops

LSTMStateTuple = tf.nn.rnn_cell.LSTMStateTuple

_NORM_EPSILON = 1e-12
"""The layer norm of ``tf.contrib.layers.layer_norm``."""


class _Linear:
    """A matrix product of several inputs side by side with one kernel, and a bias."""

    def __init__(
        self,
        args: TensorLike,
        output_size: int,
        build_bias: bool,
        bias_initializer: Initializer = None,
        kernel_initializer: Initializer = None,
    ) -> None:
        self._build_bias = build_bias
        inputs = list(args) if isinstance(args, (list, tuple)) else [args]
        size = sum(int(value.shape[1]) for value in inputs)
        scope = tf.get_variable_scope()
        with tf.variable_scope(scope) as outer:
            self._weights = tf.get_variable(
                "kernel", [size, output_size], dtype=inputs[0].dtype, initializer=kernel_initializer
            )
            if build_bias:
                with tf.variable_scope(outer) as inner:
                    inner.set_partitioner(None)
                    initializer = tf.zeros_initializer() if bias_initializer is None else bias_initializer
                    self._biases = tf.get_variable(
                        "bias", [output_size], dtype=inputs[0].dtype, initializer=initializer
                    )

    def __call__(self, args: TensorLike) -> Tensor:
        """Return the product for inputs ``(count, size)``."""
        inputs = list(args) if isinstance(args, (list, tuple)) else [args]
        result = tf.matmul(inputs[0] if len(inputs) == 1 else tf.concat(inputs, 1), self._weights)
        return tf.nn.bias_add(result, self._biases) if self._build_bias else result


class LayerNormBasicLSTMCell(tf.nn.rnn_cell.RNNCell):
    """
    An LSTM whose gates and state are normalized, and whose new values can be dropped.

    Parameters
    ----------
    num_units:
        Width of the state.
    forget_bias:
        Added to the forget gate.
    input_size:
        Without effect.
    activation:
        Of new values and of the output.
    layer_norm, norm_gain, norm_shift:
        Whether to normalize, and the first gain and shift.
    dropout_keep_prob, dropout_prob_seed:
        Of the new values; 1 drops nothing.
    reuse:
        Whether variables of the scope are used again.
    """

    def __init__(
        self,
        num_units: int,
        forget_bias: float = 1.0,
        input_size: Any = None,
        activation: Callable[[Any], Any] = tf.tanh,
        layer_norm: bool = True,
        norm_gain: float = 1.0,
        norm_shift: float = 0.0,
        dropout_keep_prob: TensorLike = 1.0,
        dropout_prob_seed: int | None = None,
        reuse: bool | None = None,
    ) -> None:
        del input_size
        super().__init__(_reuse=reuse)
        self._num_units = num_units
        self._activation = activation
        self._forget_bias = forget_bias
        self._keep_prob = dropout_keep_prob
        self._seed = dropout_prob_seed
        self._layer_norm = layer_norm
        self._norm_gain = norm_gain
        self._norm_shift = norm_shift

    @property
    def state_size(self) -> Any:
        """Widths of cell and output."""
        return LSTMStateTuple(self._num_units, self._num_units)

    @property
    def output_size(self) -> int:
        """Width of the output."""
        return self._num_units

    def _norm(self, values: TensorLike, scope: str) -> Tensor:
        with tf.variable_scope(scope):
            shape = values.shape[-1:]
            gain = tf.get_variable("gamma", shape, values.dtype, tf.constant_initializer(self._norm_gain))
            shift = tf.get_variable("beta", shape, values.dtype, tf.constant_initializer(self._norm_shift))
        mean, variance = tf.nn.moments(values, [1], keep_dims=True)
        return tf.nn.batch_normalization(values, mean, variance, shift, gain, _NORM_EPSILON)

    def call(self, inputs: TensorLike, state: State) -> tuple[Tensor, State]:
        """Return output and state of one step, for inputs ``(count, size)``."""
        cell, output = state
        joined = tf.concat([inputs, output], 1)
        kernel = tf.get_variable("kernel", [int(joined.shape[1]), 4 * self._num_units], joined.dtype)
        gates = tf.matmul(joined, kernel)
        if not self._layer_norm:
            gates = tf.nn.bias_add(
                gates, tf.get_variable("bias", [4 * self._num_units], gates.dtype, tf.zeros_initializer())
            )
        parts = tf.split(gates, 4, 1)
        if self._layer_norm:
            scopes = ("input", "transform", "forget", "output")
            parts = [self._norm(part, scope) for part, scope in zip(parts, scopes, strict=True)]
        enter, new, forget, leave = parts
        new = self._activation(new)
        if not isinstance(self._keep_prob, float) or self._keep_prob < 1:
            new = tf.nn.dropout(new, rate=1 - self._keep_prob, seed=self._seed)
        cell = cell * tf.sigmoid(forget + self._forget_bias) + tf.sigmoid(enter) * new
        if self._layer_norm:
            cell = self._norm(cell, "state")
        output = self._activation(cell) * tf.sigmoid(leave)
        return output, LSTMStateTuple(cell, output)


class NASCell(tf.nn.rnn_cell.RNNCell):
    """
    The cell that a search over architectures found (Zoph and Le, 2016).

    Parameters
    ----------
    num_units:
        Width of the state.
    num_proj:
        Width of the output, if it is projected.
    use_bias:
        Whether the recurrent product has a bias.
    reuse:
        Whether variables of the scope are used again.
    kwargs:
        Arguments of a layer: ``name``, ``dtype``.
    """

    def __init__(
        self,
        num_units: int,
        num_proj: int | None = None,
        use_bias: bool = False,
        reuse: bool | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(_reuse=reuse, **kwargs)
        self._num_units = num_units
        self._num_proj = num_proj
        self._use_bias = use_bias

    @property
    def state_size(self) -> Any:
        """Widths of cell and output."""
        return LSTMStateTuple(self._num_units, self.output_size)

    @property
    def output_size(self) -> int:
        """Width of the output."""
        return self._num_proj or self._num_units

    def call(self, inputs: TensorLike, state: State) -> tuple[Tensor, State]:
        """Return output and state of one step, for inputs ``(count, size)``."""
        cell, output = state
        width = 8 * self._num_units
        kernel = tf.get_variable("kernel", [int(inputs.shape[-1]), width], inputs.dtype)
        recurrent = tf.get_variable("recurrent_kernel", [self.output_size, width], inputs.dtype)
        before = tf.matmul(output, recurrent)
        if self._use_bias:
            before = tf.nn.bias_add(before, tf.get_variable("bias", [width], inputs.dtype, tf.zeros_initializer()))
        pairs = zip(tf.split(tf.matmul(inputs, kernel), 8, 1), tf.split(before, 8, 1), strict=True)
        functions = (tf.sigmoid, tf.nn.relu, tf.sigmoid, tf.nn.relu, tf.tanh, tf.sigmoid, tf.tanh, tf.sigmoid)
        first = [
            function(new * old if index == 3 else new + old)
            for index, (function, (new, old)) in enumerate(zip(functions, pairs, strict=True))
        ]
        second = tf.tanh(tf.tanh(first[0] * first[1]) + cell), tf.tanh(first[2] + first[3])
        third = tf.tanh(first[4] * first[5]), tf.sigmoid(first[6] + first[7])
        cell = second[0] * second[1]
        output = tf.tanh(cell * tf.tanh(third[0] + third[1]))
        if self._num_proj is not None:
            shape = [self._num_units, self._num_proj]
            output = tf.matmul(output, tf.get_variable("projection_weights", shape, inputs.dtype))
        return output, LSTMStateTuple(cell, output)


class LSTMBlockCell(tf.nn.rnn_cell.RNNCell):
    """
    An LSTM whose step is the one operator ``LSTMBlockCell``.

    Parameters
    ----------
    num_units, forget_bias:
        Width of the state; what is added to the forget gate.
    cell_clip:
        The state is cut to plus and minus this; not if not given.
    use_peephole:
        Whether gates see the state.
    dtype, reuse, name:
        Of variables and scope.
    """

    def __init__(
        self,
        num_units: int,
        forget_bias: float = 1.0,
        cell_clip: float | None = None,
        use_peephole: bool = False,
        dtype: DType = None,
        reuse: bool | None = None,
        name: str = "lstm_cell",
    ) -> None:
        super().__init__(_reuse=reuse, dtype=dtype, name=name)
        self._num_units = num_units
        self._forget_bias = forget_bias
        self._cell_clip = -1 if cell_clip is None else cell_clip
        self._use_peephole = use_peephole

    @property
    def state_size(self) -> Any:
        """Widths of cell and output."""
        return LSTMStateTuple(self._num_units, self._num_units)

    @property
    def output_size(self) -> int:
        """Width of the output."""
        return self._num_units

    def call(self, inputs: TensorLike, state: State) -> tuple[Tensor, State]:
        """Return output and state of one step, for inputs ``(count, size)``."""
        cell, output = state
        shape = [int(inputs.shape[1]) + self._num_units, 4 * self._num_units]
        kernel = tf.get_variable("kernel", shape, inputs.dtype)
        bias = tf.get_variable("bias", shape[1:], inputs.dtype, tf.zeros_initializer())
        if self._use_peephole:
            names = ("w_i_diag", "w_f_diag", "w_o_diag")
            peepholes = [tf.get_variable(name, [self._num_units], inputs.dtype) for name in names]
        else:
            peepholes = [tf.zeros([self._num_units], inputs.dtype)] * 3
        step = gen_rnn_ops.lstm_block_cell(
            inputs,
            cell,
            output,
            w=kernel,
            wci=peepholes[0],
            wcf=peepholes[1],
            wco=peepholes[2],
            b=bias,
            forget_bias=self._forget_bias,
            cell_clip=self._cell_clip,
            use_peephole=self._use_peephole,
        )
        return step.h, LSTMStateTuple(step.cs, step.h)


@tf.RegisterGradient("LSTMBlockCell")  # type: ignore[untyped-decorator]
def _lstm_block_cell_gradient(operator: Operation, *gradients: Tensor) -> list[Tensor]:
    """Return the gradients of a step; nobody asks for gradients of the gates inside."""
    inputs, cell, output, kernel, *peepholes, bias = operator.inputs
    enter, new_cell, forget, leave, new, squashed, _ = operator.outputs
    _, cell_gradient, _, _, _, _, output_gradient = gradients
    before, gates, *diagonals = gen_rnn_ops.lstm_block_cell_grad(
        x=inputs,
        cs_prev=cell,
        h_prev=output,
        w=kernel,
        wci=peepholes[0],
        wcf=peepholes[1],
        wco=peepholes[2],
        b=bias,
        i=enter,
        cs=new_cell,
        f=forget,
        o=leave,
        ci=new,
        co=squashed,
        cs_grad=cell_gradient,
        h_grad=output_gradient,
        use_peephole=operator.get_attr("use_peephole"),
    )
    width = int(inputs.shape[1])
    joined = tf.matmul(gates, kernel, transpose_b=True)
    kernel_gradient = tf.matmul(tf.concat([inputs, output], 1), gates, transpose_a=True)
    return [joined[:, :width], before, joined[:, width:], kernel_gradient, *diagonals, tf.reduce_sum(gates, 0)]


class CudnnCompatibleLSTMCell(LSTMBlockCell):
    """The LSTM step that reads weights of a ``CudnnLSTM``: nothing is added to the forget gate."""

    def __init__(self, num_units: int, reuse: bool | None = None) -> None:
        super().__init__(num_units, forget_bias=0, cell_clip=None, reuse=reuse, name="cudnn_compatible_lstm_cell")


class CudnnCompatibleGRUCell(tf.nn.rnn_cell.RNNCell):
    """The GRU step that reads weights of a ``CudnnGRU``: the reset gate works on the product, not on the state."""

    def __init__(
        self, num_units: int, reuse: bool | None = None, kernel_initializer: Initializer = None, name: str | None = None
    ) -> None:
        super().__init__(_reuse=reuse, name=name)
        self._num_units = num_units
        self._kernel_initializer = kernel_initializer

    @property
    def state_size(self) -> int:
        """Width of the state."""
        return self._num_units

    @property
    def output_size(self) -> int:
        """Width of the output."""
        return self._num_units

    def call(self, inputs: TensorLike, state: State) -> tuple[Tensor, State]:
        """Return output and state of one step, for inputs ``(count, size)``."""
        with tf.variable_scope("gates"):
            both = _Linear(
                [inputs, state], 2 * self._num_units, True, tf.constant_initializer(1.0), self._kernel_initializer
            )([inputs, state])
        reset, update = tf.split(tf.sigmoid(both), 2, 1)
        with tf.variable_scope("candidate/input_projection"):
            new = _Linear(inputs, self._num_units, True, None, self._kernel_initializer)(inputs)
        with tf.variable_scope("candidate/hidden_projection"):
            old = _Linear(state, self._num_units, True, None, self._kernel_initializer)(state)
        state = (1 - update) * tf.tanh(new + reset * old) + update * state
        return state, state


class _Wrapper(tf.nn.rnn_cell.RNNCell):
    """A cell around another."""

    def __init__(self, cell: Cell, reuse: bool | None = None) -> None:
        super().__init__(_reuse=reuse)
        self._cell = cell

    @property
    def state_size(self) -> Any:
        """As in the inner cell."""
        return self._cell.state_size

    @property
    def output_size(self) -> Any:
        """As in the inner cell."""
        return self._cell.output_size

    def zero_state(self, batch_size: TensorLike, dtype: DType) -> State:
        """Return the first state of the inner cell."""
        with tf.name_scope(f"{type(self).__name__}ZeroState"):
            return self._cell.zero_state(batch_size, dtype)


class OutputProjectionWrapper(_Wrapper):
    """A cell whose output is projected to *output_size* columns."""

    def __init__(
        self, cell: Cell, output_size: int, activation: Callable[[Any], Any] | None = None, reuse: bool | None = None
    ) -> None:
        super().__init__(cell, reuse)
        if output_size < 1:
            raise ValueError(f"Parameter output_size must be > 0: {output_size}.")
        self._output_size = output_size
        self._activation = activation

    @property
    def output_size(self) -> int:
        """Width of the output."""
        return self._output_size

    def call(self, inputs: TensorLike, state: State) -> tuple[Tensor, State]:
        """Return output and state of one step."""
        output, state = self._cell(inputs, state)
        projected = _Linear(output, self._output_size, True)(output)
        return (self._activation(projected) if self._activation else projected), state


class InputProjectionWrapper(_Wrapper):
    """A cell whose inputs are projected to *num_proj* columns."""

    def __init__(
        self,
        cell: Cell,
        num_proj: int,
        activation: Callable[[Any], Any] | None = None,
        input_size: Any = None,
        reuse: bool | None = None,
    ) -> None:
        del input_size
        super().__init__(cell, reuse)
        self._num_proj = num_proj
        self._activation = activation

    def call(self, inputs: TensorLike, state: State) -> tuple[Tensor, State]:
        """Return output and state of one step."""
        projected = _Linear(inputs, self._num_proj, True)(inputs)
        result: tuple[Any, Any] = self._cell(self._activation(projected) if self._activation else projected, state)
        return result


class EmbeddingWrapper(_Wrapper):
    """A cell whose inputs are rows of an embedding, chosen by numbers ``(count, 1)``."""

    def __init__(
        self,
        cell: Cell,
        embedding_classes: int,
        embedding_size: int,
        initializer: Initializer = None,
        reuse: bool | None = None,
    ) -> None:
        super().__init__(cell, reuse)
        if min(embedding_classes, embedding_size) < 1:
            raise ValueError(f"Both sizes must be > 0: {embedding_classes}, {embedding_size}.")
        self._shape: Sequence[int] = (embedding_classes, embedding_size)
        self._initializer = initializer

    def call(self, inputs: TensorLike, state: State) -> tuple[Tensor, State]:
        """Return output and state of one step."""
        # Their mean is 0 and their variance 1.
        initializer = self._initializer or tf.random_uniform_initializer(-(3**0.5), 3**0.5)
        first = state[0] if isinstance(state, tuple) else state
        embedding = tf.get_variable("embedding", self._shape, first.dtype, initializer)
        result: tuple[Any, Any] = self._cell(tf.nn.embedding_lookup(embedding, tf.reshape(inputs, [-1])), state)
        return result
