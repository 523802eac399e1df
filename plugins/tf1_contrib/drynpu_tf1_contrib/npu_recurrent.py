"""
Recurrent layers of ``npu_dynamic_rnn`` and ``npu_rnn``.

A device runs one kernel for the whole sequence. So does one operator here, which the profile shows as the vendor's:
for an LSTM TensorFlow has one, GRU layers are computed by NumPy.
"""

from __future__ import annotations

import math
from typing import Any

import tensorflow.compat.v2 as tf

from drynpu import say_once
from drynpu_tf.bridge import scopes
from drynpu_tf.foreign import Cell, DType, Initializer, Scope, Tensor, TensorLike, Variable, WithGradient
from drynpu_tf.rules import VENDOR_TYPE
from drynpu_tf1_contrib import _gru_steps

DYNAMIC_RNN_UNIDIRECTION = "UNIDIRECTIONAL"
DYNAMIC_RNN_BIDIRECTION = "BIDIRECTIONAL"


def npu_dynamic_rnn(
    cell: Cell,
    inputs: TensorLike,
    initial_state: TensorLike = None,
    dtype: DType = None,
    sequence_length: TensorLike = None,
    scope: Scope = None,
) -> tuple[Tensor, Tensor]:
    """
    Unroll a cell over *inputs* of shape [time, batch, features]; time must be known.

    Returns
    -------
    tuple
        Outputs of shape [time, batch, units], and the last state.
    """
    outputs, state = tf.compat.v1.nn.static_rnn(
        cell,
        tf.unstack(inputs, axis=0),
        initial_state=initial_state,
        dtype=dtype,
        sequence_length=sequence_length,
        scope=scope,
    )
    return tf.stack(outputs, axis=0), state


class _Recurrent(tf.Module):
    """What both layers share: their arguments, checked, and their variables, made at the first call."""

    def __init__(
        self, name: str, hidden_size: int, dtype: DType, direction: str, time_major: bool, activation: str, **rest: Any
    ) -> None:
        super().__init__(name=name)
        if direction not in (DYNAMIC_RNN_UNIDIRECTION, DYNAMIC_RNN_BIDIRECTION):
            raise ValueError(
                f"Invalid direction: {direction}, expecting {DYNAMIC_RNN_UNIDIRECTION} or {DYNAMIC_RNN_BIDIRECTION}"
            )
        plain = {"cell_depth": 1, "keep_prob": 1.0, "cell_clip": -1.0, "num_proj": 0, "use_peephole": False}
        unlike = [key for key, value in plain.items() if rest.get(key, value) != value]
        if unlike or direction != DYNAMIC_RNN_UNIDIRECTION or not time_major or activation != "tanh":
            requested = {"direction": direction, "time_major": time_major, "activation": activation, **rest}
            say_once(f"{name}: only one forward layer with tanh is computed here, time first; asked for {requested}")
        self.direction, self.time_major, self.activation = direction, time_major, activation
        self._hidden_size, self._dtype = hidden_size, tf.as_dtype(dtype)
        self._weights: dict[str, Variable] = {}

    def _variable(self, name: str, shape: list[int], initializer: Initializer) -> Variable:
        if name not in self._weights:
            with tf.compat.v1.variable_scope(self.name, reuse=tf.compat.v1.AUTO_REUSE):
                self._weights[name] = tf.compat.v1.get_variable(
                    name, shape=shape, dtype=self._dtype, initializer=initializer
                )
        return self._weights[name]

    def _state(self, first: TensorLike, x: TensorLike) -> Tensor:
        """Return the first state, [batch, hidden]; the vendor's has a leading dimension of 1."""
        if first is None:
            return tf.zeros([tf.shape(x)[1], self._hidden_size], dtype=self._dtype)
        return first[-1] if first.shape.rank == 3 else first

    @staticmethod
    def _input_size(x: TensorLike) -> int:
        if x.shape[2] is None:
            raise ValueError("Expected input_shape[2] to be known, saw shape: input_size.")
        return int(x.shape[2])


class DynamicRNN(_Recurrent):
    """
    An LSTM over [time, batch, features]; one matrix for the gates i, j, f, o.

    Calling it returns eight tensors of shape [time, batch, hidden]: y, output_h, output_c, i, j, f, o, tanhc.
    """

    def __init__(
        self,
        hidden_size: int,
        dtype: DType,
        cell_type: str = "LSTM",
        direction: str = DYNAMIC_RNN_UNIDIRECTION,
        cell_depth: int = 1,
        use_peephole: bool = False,
        keep_prob: float = 1.0,
        cell_clip: float = -1.0,
        num_proj: int = 0,
        time_major: bool = True,
        activation: str = "tanh",
        forget_bias: float = 0.0,
        is_training: bool = True,
    ) -> None:
        rest = {"cell_depth": cell_depth, "keep_prob": keep_prob, "cell_clip": cell_clip, "num_proj": num_proj}
        super().__init__(
            "dynamicrnn", hidden_size, dtype, direction, time_major, activation, use_peephole=use_peephole, **rest
        )
        self.cell_type, self.forget_bias, self.is_training = cell_type, forget_bias, is_training

    def __call__(
        self,
        x: TensorLike,
        seq_length: TensorLike = None,
        init_h: TensorLike = None,
        init_c: TensorLike = None,
        weight: TensorLike = None,
        bias: TensorLike = None,
    ) -> tuple[Tensor, ...]:
        """Run over the sequence; *init_h* and *init_c* are [1, batch, hidden] or [batch, hidden], else zero."""
        x = tf.convert_to_tensor(x)
        rows = self._input_size(x) + self._hidden_size
        if weight is None:
            weight = self._variable("w", [rows, 4 * self._hidden_size], tf.compat.v1.glorot_uniform_initializer(10))
        if bias is None:
            bias = self._variable("b", [4 * self._hidden_size], tf.compat.v1.zeros_initializer())
        h, c = self._state(init_h, x), self._state(init_c, x)
        c_all, h_all, i, j, f, o, tanhc = _lstm(self.forget_bias, x, c, h, *map(tf.convert_to_tensor, (weight, bias)))
        if seq_length is None:
            return h_all, h_all, c_all, i, j, f, o, tanhc
        zero = tf.zeros_like(h)
        firsts = (h, c, zero, zero, zero, zero, zero)
        kept = [
            _kept(first, each, seq_length)
            for first, each in zip(firsts, (h_all, c_all, i, j, f, o, tanhc), strict=True)
        ]
        runs = tf.sequence_mask(seq_length, tf.shape(x)[0], dtype=h_all.dtype)
        return h_all * tf.expand_dims(tf.transpose(runs), -1), *kept


def _lstm(
    forget_bias: float, x: TensorLike, c: TensorLike, h: TensorLike, weight: TensorLike, bias: TensorLike
) -> tuple[Tensor, ...]:
    """Return c, h, i, j, f, o and tanh of c at all times; of these c and h have gradients, as on a device."""

    # TensorFlow has this layer as one operator, with the same gates in the same order. Its gradient is written here, so
    # that it bears the mark as well.
    @tf.custom_gradient  # type: ignore[untyped-decorator]
    def layer(x: Tensor, c: Tensor, h: Tensor, weight: Tensor, bias: Tensor) -> WithGradient:
        no_peephole = tf.zeros([tf.shape(h)[-1]], x.dtype)
        inputs = {"seq_len_max": tf.cast(tf.shape(x)[0], tf.int64), "x": x, "cs_prev": c, "h_prev": h, "w": weight}
        inputs |= {"wci": no_peephole, "wcf": no_peephole, "wco": no_peephole, "b": bias}
        with scopes.marked(**{VENDOR_TYPE: "DynamicRNN"}):
            result = tf.raw_ops.BlockLSTM(**inputs, forget_bias=forget_bias, cell_clip=-1.0, name="DynamicRNN")

        def gradient(c_slope: Tensor, h_slope: Tensor, *_: Tensor) -> list[Tensor]:
            # The slope of a row of h comes as slices; what joins them is an operator of its own.
            slopes = {"cs_grad": tf.convert_to_tensor(c_slope), "h_grad": tf.convert_to_tensor(h_slope)}
            with scopes.marked(**{VENDOR_TYPE: "DynamicRNNGrad"}):
                gradients = tf.raw_ops.BlockLSTMGrad(
                    **inputs, **result._asdict(), **slopes, use_peephole=False, name="DynamicRNNGrad"
                )
            return [gradients.x_grad, gradients.cs_prev_grad, gradients.h_prev_grad, gradients.w_grad, gradients.b_grad]

        return (result.cs, result.h, result.i, result.ci, result.f, result.o, result.co), gradient

    return tuple(layer(x, c, h, weight, bias))


def _kept(first: TensorLike, values: Tensor, seq_length: TensorLike) -> Tensor:
    """Return *values* of shape [time, batch, hidden] that stay what they are beyond the length of each sequence."""
    times = tf.minimum(tf.range(1, tf.shape(values)[0] + 1)[:, None], tf.cast(seq_length, tf.int32)[None, :])
    rows = tf.broadcast_to(tf.range(tf.shape(values)[1])[None, :], tf.shape(times))
    return tf.gather_nd(tf.concat([first[None], values], axis=0), tf.stack([times, rows], axis=-1))


class DynamicGRUV2(_Recurrent):
    """
    A GRU over [time, batch, features]; gates in the order z, r, h, the reset applied after the product.

    Calling it returns six tensors of shape [time, batch, hidden]: y, output_h, update, reset, new, hidden_new.
    """

    def __init__(
        self,
        hidden_size: int,
        dtype: DType,
        direction: str = DYNAMIC_RNN_UNIDIRECTION,
        cell_depth: int = 1,
        keep_prob: float = 1.0,
        cell_clip: float = -1.0,
        num_proj: int = 0,
        time_major: bool = True,
        activation: str = "tanh",
        gate_order: str = "zrh",
        reset_after: bool = True,
        is_training: bool = True,
    ) -> None:
        rest = {"cell_depth": cell_depth, "keep_prob": keep_prob, "cell_clip": cell_clip, "num_proj": num_proj}
        super().__init__("dynamicgruv2", hidden_size, dtype, direction, time_major, activation, **rest)
        if gate_order not in ("zrh", "rzh"):
            raise ValueError(f"gate_order must be zrh or rzh, got {gate_order!r}")
        if not reset_after:
            say_once("DynamicGRUV2: the reset gate is applied after the product here (reset_after=True)")
        self.gate_order, self.reset_after, self.is_training = gate_order, reset_after, is_training

    def __call__(self, x: TensorLike, seq_length: TensorLike = None, init_h: TensorLike = None) -> tuple[Tensor, ...]:
        """Run over the sequence; *init_h* is [1, batch, hidden] or [batch, hidden], else zero."""
        x = tf.convert_to_tensor(x)
        h, update, _, reset, new, hidden_new = self._run(
            "DynamicGRUV2", x, tf.zeros_like(x[:, :, :1]), seq_length, init_h
        )
        return self._output(h, x, seq_length), h, update, reset, new, hidden_new

    def _run(
        self, op_type: str, x: TensorLike, attention: TensorLike, seq_length: TensorLike, init_h: TensorLike
    ) -> tuple[Tensor, ...]:
        """Return h, update, attended update, reset, new and the product behind new at all times."""
        features = self._input_size(x)
        bound = 1.0 / math.sqrt(self._hidden_size)
        uniform = tf.compat.v1.random_uniform_initializer(-bound, bound)
        columns = _gru_steps.GATES * self._hidden_size
        weights = [
            tf.convert_to_tensor(self._variable(name, shape, uniform))
            for name, shape in (
                ("weight_input", [features, columns]),
                ("weight_hidden", [self._hidden_size, columns]),
                ("bias_input", [columns]),
                ("bias_hidden", [columns]),
            )
        ]
        if self.gate_order == "rzh":
            # Update, reset, new is the order of what computes.
            parts = [tf.split(weight, _gru_steps.GATES, axis=-1) for weight in weights]
            weights = [tf.concat([second, first, new], axis=-1) for first, second, new in parts]
        everywhere = tf.fill(tf.shape(x)[1:2], tf.shape(x)[0])
        lengths = everywhere if seq_length is None else tf.cast(seq_length, tf.int32)
        return _gru(op_type, x, *weights, self._state(init_h, x), attention, lengths)

    @staticmethod
    def _output(h: TensorLike, x: TensorLike, seq_length: TensorLike) -> Tensor:
        """Return the output: the state, and zero beyond the length of a sequence."""
        if seq_length is None:
            return h
        return h * tf.expand_dims(tf.transpose(tf.sequence_mask(seq_length, tf.shape(x)[0], dtype=h.dtype)), -1)


def _gru(op_type: str, *inputs: TensorLike) -> tuple[Tensor, ...]:
    """Return what :func:`_gru_steps.forward` does, as one operator; of its results h has a gradient, as on a device."""

    @tf.custom_gradient  # type: ignore[untyped-decorator]
    def layer(
        x: Tensor,
        w_x: Tensor,
        w_h: Tensor,
        b_x: Tensor,
        b_h: Tensor,
        h: Tensor,
        attention: Tensor,
        lengths: Tensor,
    ) -> WithGradient:
        everything = (x, w_x, w_h, b_x, b_h, h, attention, lengths)
        with scopes.marked(**{VENDOR_TYPE: op_type}):
            results = tf.numpy_function(_gru_steps.forward, everything, [x.dtype] * 6, stateful=False, name=op_type)
        for part in results:
            part.set_shape([x.shape[0], x.shape[1], h.shape[1]])

        def gradient(slope: Tensor, *_: Tensor) -> list[Tensor]:
            slope = tf.convert_to_tensor(slope)
            before = (x, w_x, w_h, h, attention, lengths, slope, *results)
            with scopes.marked(**{VENDOR_TYPE: f"{op_type}Grad"}):
                slopes = tf.numpy_function(
                    _gru_steps.backward, before, [x.dtype] * 7, stateful=False, name=f"{op_type}Grad"
                )
            for part, whole in zip(slopes, everything, strict=False):
                part.set_shape(whole.shape)
            return [*slopes, None]

        return tuple(results), gradient

    return tuple(layer(*inputs))


class DynamicAUGRU(DynamicGRUV2):
    """
    A GRU whose update gate is scaled by attention (DIEN, arXiv:1809.03672), over [time, batch, features].

    Calling it returns seven tensors of shape [time, batch, hidden]: y, output_h, update, update_att, reset, new,
    hidden_new.
    """

    def __call__(  # type: ignore[override]
        self, x: TensorLike, weight_att: TensorLike, seq_length: TensorLike = None, init_h: TensorLike = None
    ) -> tuple[Tensor, ...]:
        """Run over the sequence; *weight_att* is [time, batch], with or without a last dim of 1."""
        x = tf.convert_to_tensor(x)
        attention = tf.cast(tf.convert_to_tensor(weight_att), x.dtype)
        attention = attention if attention.shape.rank == 3 else tf.expand_dims(attention, -1)
        h, update, attended, reset, new, hidden_new = self._run("DynamicAUGRU", x, attention, seq_length, init_h)
        return self._output(h, x, seq_length), h, update, attended, reset, new, hidden_new
