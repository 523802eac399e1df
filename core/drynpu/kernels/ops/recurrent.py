"""
Recurrent layers: long short-term memory and gated recurrent units.

A device runs one DynamicRNN per layer and direction of an LSTM over the joined weights [input + hidden, 4 x hidden],
backwards one DynamicRNNGrad; of a GRU one DynamicGRUV2 over the weights of input and state, backwards one
DynamicGRUV2Grad. The cube and vector units work together in them (MIX_AIC).
"""

from __future__ import annotations

from collections.abc import Sequence

from attrs import frozen

from drynpu.kernels._call import OperatorCall
from drynpu.kernels._specs import output_tiles
from drynpu.kernels._types import KernelPlan, KernelSpec, TaskType, TensorDesc

GATES = 4
_CELL_OPS, _CELL_GRADIENT_OPS = 30, 40
"""Element operations per hidden unit and step: four activations and the cell update; more for the gradient."""
_SAVED = 8
"""Sequences that the forward kernel makes and the backward one takes: y, h, c, the four gates, tanh of c."""
_GRU_GATES = 3
_GRU_OPS, _GRU_GRADIENT_OPS = 24, 32
"""Three activations and the update of the state, counted as in an LSTM."""
_GRU_SAVED = 6
"""y, h, the update, reset and new gates, and the hidden part of the new one."""


@frozen(kw_only=True)
class LstmLayer:
    """One layer in one direction; *x* is [steps, batch, width]."""

    call: OperatorCall
    x: TensorDesc
    hidden: int

    @property
    def weight(self) -> TensorDesc:
        """The joined weights of input and hidden state."""
        return self.call.tensor_of((self.x.shape[2] + self.hidden, GATES * self.hidden), self.x.dtype)

    @property
    def bias(self) -> TensorDesc:
        """The joined biases."""
        return self.call.tensor_of((GATES * self.hidden,), self.x.dtype)

    @property
    def sequence(self) -> TensorDesc:
        """The output of the layer, all steps."""
        return self.call.tensor_of((*self.x.shape[:2], self.hidden), self.x.dtype)

    @property
    def saved(self) -> list[TensorDesc]:
        """The outputs of the forward kernel."""
        return [self.sequence] * _SAVED

    @property
    def state(self) -> TensorDesc:
        """The hidden state, or the cell's, of one step."""
        return self.call.tensor_of((1, self.x.shape[1], self.hidden), self.x.dtype)

    def forward(self, states: Sequence[TensorDesc]) -> KernelSpec:
        """Return the forward kernel; *states* are those before the first step."""
        return self._kernel("DynamicRNN", [self.x, self.weight, self.bias, *states], self.saved, 2, _CELL_OPS)

    def backward(self, inputs: Sequence[TensorDesc], states: Sequence[TensorDesc]) -> KernelSpec:
        """Return the backward kernel; *inputs* follow input, weight and bias."""
        inputs = [self.x, self.weight, self.bias, *inputs, *self.saved]
        outputs = [self.weight, self.bias, self.x, *states]
        return self._kernel("DynamicRNNGrad", inputs, outputs, 4, _CELL_GRADIENT_OPS)

    def _kernel(
        self, op_type: str, inputs: Sequence[TensorDesc], outputs: Sequence[TensorDesc], times: int, cell_ops: int
    ) -> KernelSpec:
        """Every weight is used once per step and sample, twice for the gradients of inputs and weights."""
        steps, batch, _ = self.x.shape
        return self.call.cube_kernel(
            op_type,
            inputs,
            outputs,
            flops=times * steps * batch * self.weight.elements,
            tiles=output_tiles(batch, GATES * self.hidden),
            vector_ops=cell_ops * self.sequence.elements,
            task=TaskType.MIX_AIC,
        )


def stacked_lstm(call: OperatorCall) -> KernelPlan | None:
    """``x hidden_size num_layers bidirectional``: all layers and directions in one operator."""
    layers = _stack(call)
    return call.plan(*(layer.forward([layer.state] * 2) for layer in layers)) if layers else None


def stacked_lstm_gradient(call: OperatorCall) -> KernelPlan | None:
    """``x hidden_size num_layers bidirectional``: the layers of :func:`stacked_lstm` backwards."""
    layers = _stack(call)
    kernels = [layer.backward([layer.state] * 2 + [layer.sequence], [layer.state] * 2) for layer in reversed(layers)]
    return call.plan(*kernels) if layers else None


def lstm_layer(call: OperatorCall) -> KernelPlan | None:
    """``x w_x w_h b_x b_h h c``: one layer whose weights and biases are joined first."""
    layer = _one_layer(call)
    return call.plan(*_join(layer), layer.forward(call.tensors("h", "c"))) if layer is not None else None


def lstm_layer_gradient(call: OperatorCall) -> KernelPlan | None:
    """``x w_x w_h b_x b_h h c``: the gradient of :func:`lstm_layer`."""
    layer, states = _one_layer(call), call.tensors("h", "c")
    if layer is None:
        return None
    return call.plan(*_join(layer), layer.backward([layer.sequence, *states], states))


def joined_lstm(call: OperatorCall) -> KernelPlan | None:
    """``x c h weight``: one layer with the joined weights of input and hidden state, [width + hidden, 4 x hidden]."""
    layer = _joined_layer(call)
    return call.plan(layer.forward([layer.state] * 2)) if layer is not None else None


def joined_lstm_gradient(call: OperatorCall) -> KernelPlan | None:
    """``x c h weight``: the gradient of :func:`joined_lstm`."""
    layer = _joined_layer(call)
    if layer is None:
        return None
    return call.plan(layer.backward([layer.sequence, *[layer.state] * 2], [layer.state] * 2))


def lstm_directions(call: OperatorCall) -> KernelPlan | None:
    """``x weight recurrent bias lengths h c``: one layer, a kernel for each direction that the weights are for."""
    sizes = _directions(call, GATES)
    if sizes is None:
        return None
    x, hidden, count = sizes
    layer = LstmLayer(call=call, x=x, hidden=hidden)
    return call.plan(*[layer.forward([layer.state] * 2)] * count)


def gru_directions(call: OperatorCall) -> KernelPlan | None:
    """``x weight recurrent bias lengths h``: one layer, a kernel for each direction that the weights are for."""
    sizes = _directions(call, _GRU_GATES)
    if sizes is None:
        return None
    x, hidden, count = sizes
    layer = GruLayer(call=call, x=x, state=call.tensor_of((1, x.shape[1], hidden), x.dtype))
    return call.plan(*[layer.forward()] * count)


def _directions(call: OperatorCall, gates: int) -> tuple[TensorDesc, int, int] | None:
    """Return ``(x as [steps, batch, width], hidden, directions)`` of weights [directions, gates x hidden, width]."""
    x, weight = call.tensor("x"), call.tensor("weight")
    if x is None or weight is None or not len(x.shape) == len(weight.shape) == 3:
        return None
    count, rows, _ = weight.shape
    if call.whole("batch_first", 0):
        x = TensorDesc((x.shape[1], x.shape[0], x.shape[2]), x.dtype)
    return x, rows // gates, count


@frozen(kw_only=True)
class GruLayer:
    """One layer in one direction; *x* is [steps, batch, width], *state* the one before the first step."""

    call: OperatorCall
    x: TensorDesc
    state: TensorDesc
    op_type: str = "DynamicGRUV2"

    @property
    def hidden(self) -> int:
        """The width of the state."""
        return self.state.shape[-1]

    @property
    def weights(self) -> list[TensorDesc]:
        """The weights of input and state, as the kernel takes them."""
        width = _GRU_GATES * self.hidden
        return [self.call.tensor_of((rows, width), self.x.dtype) for rows in (self.x.shape[2], self.hidden)]

    @property
    def biases(self) -> list[TensorDesc]:
        """The biases of input and state."""
        return [self.call.tensor_of((_GRU_GATES * self.hidden,), self.x.dtype)] * 2

    @property
    def sequence(self) -> TensorDesc:
        """The output of the layer, all steps."""
        return self.call.tensor_of((*self.x.shape[:2], self.hidden), self.x.dtype)

    def forward(self) -> KernelSpec:
        """Return the forward kernel."""
        inputs = [self.x, *self.weights, *self.biases, self.state]
        return self._kernel(self.op_type, inputs, [self.sequence] * _GRU_SAVED, 2, _GRU_OPS)

    def backward(self) -> KernelSpec:
        """Return the backward kernel; the gradients of output and state follow what the forward kernel made."""
        y, *saved = [self.sequence] * _GRU_SAVED
        inputs = [self.x, *self.weights, y, self.state, saved[0], self.sequence, self.state, *saved[1:]]
        outputs = [*self.weights, *self.biases, self.x, self.state]
        return self._kernel(f"{self.op_type}Grad", inputs, outputs, 4, _GRU_GRADIENT_OPS)

    def _kernel(
        self, op_type: str, inputs: Sequence[TensorDesc], outputs: Sequence[TensorDesc], times: int, cell_ops: int
    ) -> KernelSpec:
        """Every weight is used once per step and sample, twice for the gradients of inputs and weights."""
        steps, batch, _ = self.x.shape
        return self.call.cube_kernel(
            op_type,
            inputs,
            outputs,
            flops=times * steps * batch * sum(weight.elements for weight in self.weights),
            tiles=output_tiles(batch, _GRU_GATES * self.hidden),
            vector_ops=cell_ops * self.sequence.elements,
            task=TaskType.MIX_AIC,
        )


def gru_layer(call: OperatorCall) -> KernelPlan | None:
    """``x w_x w_h b_x b_h h``: one layer of gated recurrent units in one direction."""
    layer = _one_gru(call)
    return None if layer is None else call.plan(layer.forward())


def gru_layer_gradient(call: OperatorCall) -> KernelPlan | None:
    """``x w_x w_h b_x b_h h``: the gradient of :func:`gru_layer`."""
    layer = _one_gru(call)
    return None if layer is None else call.plan(layer.backward())


def turned_gru(call: OperatorCall) -> KernelPlan | None:
    """``x w_x w_h h``: one layer whose weights, [width, 3 x hidden] and [hidden, 3 x hidden], have gates as columns."""
    layer = _turned_gru(call)
    return None if layer is None else call.plan(layer.forward())


def turned_gru_gradient(call: OperatorCall) -> KernelPlan | None:
    """``x w_x w_h h``: the gradient of :func:`turned_gru`."""
    layer = _turned_gru(call)
    return None if layer is None else call.plan(layer.backward())


def _turned_gru(call: OperatorCall) -> GruLayer | None:
    tensors = call.tensors("x", "w_x", "w_h", "h")
    if len(tensors) < 4:
        return None
    x, w_x, w_h, h = tensors
    if len(x.shape) != 3 or not len(w_x.shape) == len(w_h.shape) == 2 or w_h.shape[1] != _GRU_GATES * w_h.shape[0]:
        return None
    state = call.tensor_of((1, x.shape[1], h.shape[-1]), x.dtype)
    return GruLayer(call=call, x=x, state=state, op_type=call.signature.name.removesuffix("Grad"))


def _one_gru(call: OperatorCall) -> GruLayer | None:
    tensors = call.tensors("x", "w_x", "w_h", "b_x", "b_h", "h")
    if len(tensors) < 6:
        return None
    x, w_x, w_h = tensors[:3]
    if len(x.shape) != 3 or not len(w_x.shape) == len(w_h.shape) == 2 or w_x.shape[0] != _GRU_GATES * w_h.shape[1]:
        return None
    return GruLayer(call=call, x=x, state=tensors[5])


def _stack(call: OperatorCall) -> list[LstmLayer]:
    """Return the layers in order; nothing where an attribute is not known."""
    x, hidden, layers = call.tensor("x"), call.whole("hidden_size", 0), call.whole("num_layers", 0)
    both = call.attribute("bidirectional")
    if x is None or len(x.shape) != 3 or not hidden or both is None:
        return []
    directions = 2 if both else 1
    stack = []
    for layer in range(layers):
        width = directions * hidden if layer else x.shape[2]
        stack += [LstmLayer(call=call, x=TensorDesc((*x.shape[:2], width), x.dtype), hidden=hidden)] * directions
    return stack


def _one_layer(call: OperatorCall) -> LstmLayer | None:
    tensors = call.tensors("x", "w_x", "w_h", "b_x", "b_h", "h", "c")
    if len(tensors) < 7:
        return None
    x, w_x, w_h = tensors[:3]
    if len(x.shape) != 3 or not len(w_x.shape) == len(w_h.shape) == 2 or w_x.shape[0] != GATES * w_h.shape[1]:
        return None
    return LstmLayer(call=call, x=x, hidden=w_h.shape[1])


def _joined_layer(call: OperatorCall) -> LstmLayer | None:
    x, weight = call.tensor("x"), call.tensor("weight")
    if x is None or weight is None or len(x.shape) != 3 or len(weight.shape) != 2:
        return None
    layer = LstmLayer(call=call, x=x, hidden=weight.shape[1] // GATES)
    return layer if layer.weight.shape == weight.shape else None


def _join(layer: LstmLayer) -> tuple[KernelSpec, KernelSpec]:
    """Return the kernels that join the two weight matrices and add the two biases."""
    call = layer.call
    matrices, width = call.tensors("w_x", "w_h"), layer.weight.shape[0]
    joined = call.tensor_of((GATES * layer.hidden, width), layer.x.dtype)
    concat = call.under("aclnnCat").kernel("ConcatD", matrices, [joined], cost=0)
    return concat, call.under("aclnnAdd").kernel("Add", call.tensors("b_x", "b_h"), [layer.bias])
