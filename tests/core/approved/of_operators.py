"""What is approved of operators: the kernels that they launch, whichever framework calls them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kernel_specs import tensor_texts, work_text

from drynpu.kernels import (
    Binding,
    KernelPlan,
    NodeCall,
    Operator,
    OperatorCall,
    Signature,
    TensorDesc,
    bind,
    node_signature,
)
from drynpu.kernels.ops import conv, pool, recurrent
from drynpu.kernels.ops.names import rows_of


def _by_hand() -> Iterator[tuple[Operator, str, tuple[object, ...]]]:
    """Yield calls of operators whose arguments have to fit each other."""
    x = TensorDesc((7, 3, 20), "FLOAT16")
    for hidden, layers, both in ((16, 2, True), (33, 1, False), (0, 1, True), (8, 3, False)):
        for operator in (recurrent.stacked_lstm, recurrent.stacked_lstm_gradient):
            yield operator, "(x hidden_size num_layers bidirectional)", (x, hidden, layers, both)
    lstm = [TensorDesc(shape, "FLOAT16") for shape in ((64, 20), (64, 16), (64,), (64,), (1, 3, 16), (1, 3, 16))]
    gru = [TensorDesc(shape, "FLOAT16") for shape in ((48, 20), (48, 16), (48,), (48,), (1, 3, 16))]
    for given, names, operators in (
        (lstm, "(x w_x w_h b_x b_h h c)", (recurrent.lstm_layer, recurrent.lstm_layer_gradient)),
        (gru, "(x w_x w_h b_x b_h h)", (recurrent.gru_layer, recurrent.gru_layer_gradient)),
    ):
        for operator in operators:
            yield operator, names, (x, *given)
            yield operator, names, (x, *given[:-1])
            yield operator, names, (x, *given[1:], given[0])
    for batch_first in (0, 1):
        for count in (1, 2):
            weights = TensorDesc((count, 96, 20), "FLOAT16")
            for operator in (recurrent.lstm_directions, recurrent.gru_directions):
                yield operator, "(x weight batch_first)", (x, weights, batch_first)
    for dims in ((6, 4, 9, 10), (3, 5, 7, 11, 2), (2, 4, 13)):
        image, weight = TensorDesc(dims, "FLOAT16"), TensorDesc((8, dims[1], *(3,) * (len(dims) - 2)), "FLOAT16")
        turned = TensorDesc((dims[1], 6, *(3,) * (len(dims) - 2)), "FLOAT16")
        for stride, padding, dilation in (
            ((1,), (0,), (1,)),
            ((2, 3), (1, 0), (1, 2)),
            ((4,), (2,), (1,)),
            ((1,), (0,), (9,)),
        ):
            names = "(x weight bias stride padding dilation transposed output_padding groups)"
            yield conv.convolution, names, (image, weight, None, stride, padding, dilation, False, (0,), 1)
            yield conv.convolution, names, (image, turned, None, stride, padding, dilation, True, (1, 0), 1)
            for ceil_mode in (False, True):
                names = "(x edge stride padding ceil_mode)"
                yield pool.pool, names, (image, (3, 2), stride, padding, ceil_mode)
                names = "(x edge stride padding dilation ceil_mode)"
                yield pool.masked_max_pool, names, (image, (2, 3), stride, padding, dilation, ceil_mode)


def made_by_hand() -> Iterator[str]:
    """Yield the kernels of operators whose arguments have to fit each other."""
    for operator, spelling, arguments in _by_hand():
        tensors = tuple(each if isinstance(each, TensorDesc) else None for each in arguments)
        values = tuple(None if isinstance(each, TensorDesc) else each for each in arguments)
        yield f"## {operator.__name__} {tensor_texts([each for each in tensors if each])} {values}"
        yield from _plan(bind(operator, f"a:{spelling}")(Signature("op", tensors, values)))


# ---------------------------------------------------------------------------------------------- what operators launch

_VALUES: dict[str, tuple[object, ...]] = {
    "stride": ((2, 1), 3, ()),
    "padding": ((1, 0), "SAME", "VALID"),
    "explicit": ((0, 0, 1, 2, 2, 0, 0, 0), None),
    "dilation": ((1, 1), 2, (1, 1)),
    "edge": ((3, 2), 2, (2, 3)),
    "window": ((1, 3, 3, 1), (1, 2, 2, 1), 2),
    "groups": (1, 2, 1),
    "axis": (1, -1, 0),
    "dim": (1, -1, 0),
    "size": ((5, 3), (1, 1), 4),
    "output_padding": ((0, 0), 1, (1, 0)),
    "order": ((1, 0, 2, 3), (1, 0), (0, 2, 1)),
    "equation": ("abcd,abde->abce", "ab,bc->ac", "aij,ajk->aik"),
    **dict.fromkeys(("transposed", "ceil_mode", "turn_b", "causal", "to_float"), (False, True)),
    **dict.fromkeys(("training", "turn_a", "batch_first"), (True, False, None)),
    **dict.fromkeys(("epsilon", "dropout"), (1e-5, 0.1)),
    "dtype": (None,),
    "shape": ((10,), (130,), (20, 48), (3,), (40,)),
    "samples": (6,),
    "channels": (4,),
    "depth": (17, 3),
    "lengths": ((2, 4), None),
}
"""Values of arguments that are no tensors, for one call after the other."""
_SHAPES = (
    ((6, 4, 9, 10), "FLOAT16"),
    ((33, 130), "FLOAT"),
    ((4, 20, 48), "DT_BF16"),
    ((2, 4, 1, 7, 3), "DOUBLE"),
    ((40,), "INT32"),
)
_HIDDEN = 16


def _tensor_of(name: str, x: TensorDesc, gates: int) -> TensorDesc:
    """Return a tensor that stands beside *x* in a call."""
    shape, dtype = x.shape, x.dtype
    if name in ("index", "indices", "labels", "places"):
        return TensorDesc((shape[0], 5), "INT64")
    if name in ("mean", "deviation", "variance", "scale", "offset"):
        return TensorDesc(shape[1:2] or shape, "FLOAT")
    if name in ("b_x", "b_h"):
        return TensorDesc((gates * _HIDDEN,), dtype)
    matrices = {"w_x": (*shape[-1:], gates * _HIDDEN), "w_h": (_HIDDEN, gates * _HIDDEN)}
    states = dict.fromkeys(("h", "c"), (1, *shape[1:2], _HIDDEN))
    others = {
        "weight": (8, *shape[1:2], *(3,) * max(len(shape) - 2, 0)),
        "bias": shape[1:2] or shape,
        "b": (*shape[:-2], shape[-1], 24),
        "rate": (),
        ".": (),
        "mask": (*shape[:-1], *shape[-1:]),
    }
    return TensorDesc((matrices | states | others).get(name, shape), dtype)


def _called(names: Sequence[str], number: int, gates: int) -> tuple[list[TensorDesc | None], list[object]]:
    """Return the tensors and the values of a call, by position."""
    shape, dtype = _SHAPES[number]
    x = TensorDesc(shape, dtype)
    tensors = [None if name in _VALUES else _tensor_of(name, x, gates) for name in names]
    values = [_VALUES[name][number % len(_VALUES[name])] if name in _VALUES else None for name in names]
    return tensors or [x, x], values


def _plan(plan: KernelPlan | None) -> Iterator[str]:
    if plan is None:
        yield "  no plan"
        return
    yield f"  {plan.api} claims={plan.claims} synchronizes={plan.synchronizes} allocates={plan.allocates}"
    yield from (f"    {spec.name} {work_text(spec)}" for spec in plan.kernels)


class _Last(NodeCall):
    """A node of a graph with channels last."""

    weight_format = "HWCN"

    @property
    def channels_first(self) -> bool:
        return False


def launched(framework: str) -> Iterator[str]:
    """Yield the kernels of every operator that a framework has, called with tensors of several shapes."""
    kinds: tuple[type[OperatorCall], ...] = (OperatorCall,) if framework == "torch" else (NodeCall, _Last)
    rows = ((*named, row.operator) for row in rows_of(framework) for named in row.spellings())
    for name, spelling, operator in sorted(rows, key=lambda row: row[:2]):
        binding, gates = Binding.from_text(spelling), 3 if "gru" in operator.__name__ else 4
        for number in range(len(_SHAPES)):
            tensors, values = _called(binding.arguments, number, gates)
            if framework == "torch":
                signature = Signature(name, tuple(tensors), tuple(values))
            else:
                pairs = zip(binding.arguments, values, strict=False)
                attributes = {binding.names.get(key, key): value for key, value in pairs if value is not None}
                attributes |= {
                    name: _VALUES[name][number % 3] for name in ("equation",) if operator.__name__ == "einsum"
                }
                outputs = [each for each in tensors if each is not None][: 1 + number % 2]
                signature = node_signature(name, tensors, outputs, attributes, node=f"net/{name}")
            yield f"## {name} {number}: {operator.__name__}"
            try:
                yield from _plan(bind(operator, spelling, kinds[number % len(kinds)])(signature))
            except (ArithmeticError, LookupError, TypeError, ValueError) as error:
                yield f"  {type(error).__name__}: {error}"
