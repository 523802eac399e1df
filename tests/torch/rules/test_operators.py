"""Single operators, run for real: every one is mapped and its kernel states the true result."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import nn
from torch.nn import functional

from drynpu.kernels import TaskType
from drynpu_torch.rules import ge_dtype

_GE = {
    torch.float32: "float",
    torch.int64: "long int",
    torch.int32: "int",
    torch.bool: "bool",
    torch.bfloat16: "c10::BFloat16",
    torch.float16: "c10::Half",
    torch.uint8: "unsigned char",
    torch.int8: "signed char",
    torch.int16: "short int",
}
X = torch.rand(4, 6) + 0.5
Y = torch.rand(4, 6) + 0.5
ROW = torch.rand(6) + 0.5
WHOLE = torch.arange(24).view(4, 6)
MASK = WHOLE % 2 == 0
HALF = X.bfloat16()
IMAGE = torch.rand(2, 3, 9, 9)
BATCH = torch.rand(2, 4, 6)
INDEX = torch.tensor([0, 2, 1])

UNARY = [
    "abs",
    "neg",
    "exp",
    "exp2",
    "expm1",
    "log",
    "log2",
    "log10",
    "log1p",
    "sqrt",
    "rsqrt",
    "reciprocal",
    "sin",
    "cos",
    "tan",
    "atan",
    "sinh",
    "cosh",
    "asinh",
    "tanh",
    "sigmoid",
    "erf",
    "erfc",
    "erfinv",
    "floor",
    "ceil",
    "round",
    "trunc",
    "frac",
    "sign",
    "sgn",
    "relu",
    "logical_not",
    "isnan",
    "isinf",
    "isfinite",
    "isposinf",
    "isneginf",
    "signbit",
    "nan_to_num",
    "square",
]
ACTIVATIONS = [
    "gelu",
    "silu",
    "mish",
    "elu",
    "celu",
    "selu",
    "softplus",
    "hardswish",
    "hardsigmoid",
    "leaky_relu",
    "relu6",
    "hardtanh",
    "logsigmoid",
    "relu",
    "glu",
]

CALLS: dict[str, Callable[[], torch.Tensor]] = {
    **{name: (lambda name=name: getattr(torch, name)(X)) for name in UNARY},
    **{f"F.{name}": (lambda name=name: getattr(functional, name)(X)) for name in ACTIVATIONS},
    "exp of integers": lambda: torch.exp(WHOLE),
    "gradient of nearest": lambda: torch.ops.aten.upsample_nearest2d_backward(
        torch.ones(1, 2, 4, 6), [4, 6], [1, 2, 2, 3]
    ),
    "gradient of prelu": lambda: torch.ops.aten._prelu_kernel_backward(X, X, torch.ones(1, 1))[0],
    "bfloat16 exp": lambda: torch.exp(HALF),
    "add": lambda: X + Y,
    "add row": lambda: X + ROW,
    "add number": lambda: X + 1.5,
    "add alpha": lambda: torch.add(X, Y, alpha=0.5),
    "add integer tensor": lambda: X + WHOLE,
    "add bfloat16": lambda: HALF + HALF,
    "add bfloat16 number": lambda: HALF + 2.5,
    "add float and bfloat16": lambda: X + HALF,
    "sub": lambda: X - Y,
    "rsub": lambda: 1.0 - X,
    "mul": lambda: X * Y,
    "mul integers": lambda: WHOLE * 3,
    "integers times a half": lambda: WHOLE * 0.5,
    "div": lambda: X / Y,
    "div integers": lambda: WHOLE / 3,
    "one over": lambda: 1.0 / X,
    "div floor": lambda: torch.div(X, Y, rounding_mode="floor"),
    "floor_divide": lambda: WHOLE // 5,
    "remainder": lambda: WHOLE % 5,
    "fmod": lambda: torch.fmod(X, Y),
    "pow number": lambda: X**2,
    "pow tensor": lambda: X**Y,
    "number to the power": lambda: 2**X,
    "atan2": lambda: torch.atan2(X, Y),
    "maximum": lambda: torch.maximum(X, Y),
    "minimum": lambda: torch.minimum(X, Y),
    "max of two": lambda: torch.max(X, Y),
    **{name: (lambda name=name: getattr(torch, name)(X, Y)) for name in ("eq", "ne", "gt", "ge", "lt", "le")},
    **{f"{name} number": (lambda name=name: getattr(torch, name)(X, 1.0)) for name in ("eq", "ne", "gt", "ge", "lt")},
    "le of integers": lambda: WHOLE <= 3,
    "logical_and": lambda: torch.logical_and(MASK, X > 1),
    "and": lambda: MASK & MASK,
    "or": lambda: MASK | MASK,
    "xor": lambda: MASK ^ MASK,
    "not": lambda: ~MASK,
    "and of integers": lambda: WHOLE & 3,
    "invert": lambda: ~WHOLE,
    "clamp": lambda: X.clamp(0.2, 0.9),
    "clamp below": lambda: X.clamp(min=0.2),
    "clamp above": lambda: X.clamp(max=0.2),
    "clamp tensors": lambda: torch.clamp(X, ROW, Y),
    "lerp": lambda: torch.lerp(X, Y, 0.3),
    "lerp tensor": lambda: torch.lerp(X, Y, X),
    "addcmul": lambda: torch.addcmul(X, X, Y, value=0.5),
    "addcdiv": lambda: torch.addcdiv(X, X, Y, value=0.5),
    "where": lambda: torch.where(MASK, X, Y),
    "where number": lambda: torch.where(MASK, X, 0.0),
    "masked_fill": lambda: X.masked_fill(MASK, 0.0),
    "sum": lambda: X.sum(),
    "sum dim": lambda: X.sum(dim=0),
    "sum dims": lambda: BATCH.sum((0, -1), keepdim=True),
    "sum of booleans": lambda: MASK.sum(),
    "sum of integers": lambda: WHOLE.sum(1),
    "sum as float": lambda: HALF.sum(dtype=torch.float32),
    "mean": lambda: X.mean(),
    "mean dim": lambda: X.mean(-1, keepdim=True),
    "prod": lambda: X.prod(),
    "amax": lambda: X.amax(1),
    "amin": lambda: X.amin((0, 1)),
    "max": lambda: X.max(),
    "min": lambda: X.min(),
    "argmax": lambda: X.argmax(),
    "argmax dim": lambda: X.argmax(1),
    "argmin": lambda: X.argmin(0, keepdim=True),
    "any": lambda: MASK.any(),
    "all dim": lambda: MASK.all(1),
    "any of floats": lambda: X.any(1),
    "norm": lambda: X.norm(),
    "norm dim": lambda: torch.linalg.vector_norm(X, dim=1),
    "p norm": lambda: torch.norm(X, p=1, dim=0),
    "var": lambda: X.var(),
    "std dim": lambda: X.std(1),
    "std keepdim": lambda: X.std(1, keepdim=True),
    "logsumexp": lambda: X.logsumexp(1),
    "cumsum": lambda: X.cumsum(1),
    "cumsum of integers": lambda: WHOLE.cumsum(0),
    "cumprod": lambda: X.cumprod(1),
    "softmax": lambda: X.softmax(-1),
    "log_softmax": lambda: X.log_softmax(-1),
    "softmax as float": lambda: HALF.softmax(-1, dtype=torch.float32),
    "layer_norm": lambda: functional.layer_norm(X, (6,)),
    "group_norm": lambda: functional.group_norm(torch.rand(2, 4, 3), 2),
    "batch_norm inference": lambda: nn.BatchNorm2d(3).eval()(IMAGE),
    "rms_norm": lambda: functional.rms_norm(X, (6,)),
    "mm": lambda: X @ Y.t(),
    "bmm": lambda: BATCH @ BATCH.transpose(1, 2),
    "baddbmm": lambda: torch.baddbmm(torch.rand(2, 4, 4), BATCH, BATCH.mT),
    "mv": lambda: X @ ROW,
    "dot": lambda: ROW @ ROW,
    "einsum": lambda: torch.einsum("bij,bkj->bik", BATCH, BATCH),
    "outer": lambda: torch.outer(ROW, ROW),
    "addmm": lambda: torch.addmm(ROW, X, torch.rand(6, 6), beta=0.5),
    "conv1d": lambda: functional.conv1d(torch.rand(2, 3, 9), torch.rand(4, 3, 3), padding=1),
    "conv2d": lambda: functional.conv2d(IMAGE, torch.rand(4, 3, 3, 3), torch.rand(4), stride=2, padding=1),
    "conv2d groups": lambda: functional.conv2d(torch.rand(2, 4, 9, 9), torch.rand(4, 1, 3, 3), groups=4, dilation=2),
    "conv3d": lambda: functional.conv3d(torch.rand(1, 2, 4, 5, 6), torch.rand(3, 2, 2, 2, 2)),
    "conv_transpose2d": lambda: functional.conv_transpose2d(
        IMAGE, torch.rand(3, 4, 3, 3), stride=2, padding=1, output_padding=1
    ),
    "max_pool2d": lambda: functional.max_pool2d(IMAGE.requires_grad_(False), 3, 2, 1),
    "max_pool2d ceil": lambda: functional.max_pool2d(IMAGE, 2, 2, ceil_mode=True),
    "avg_pool2d": lambda: functional.avg_pool2d(IMAGE, 2),
    "adaptive_avg_pool2d": lambda: functional.adaptive_avg_pool2d(IMAGE, (3, 2)),
    "adaptive_avg_pool2d to one": lambda: functional.adaptive_avg_pool2d(IMAGE, 1),
    "embedding": lambda: functional.embedding(WHOLE, torch.rand(30, 5)),
    "index_select": lambda: X.index_select(0, INDEX),
    "gather": lambda: X.gather(1, torch.zeros(4, 2, dtype=torch.int64)),
    "scatter": lambda: X.scatter(1, torch.zeros(4, 2, dtype=torch.int64), 1.0),
    "scatter_add": lambda: X.scatter_add(1, torch.zeros(4, 2, dtype=torch.int64), Y),
    "index_add": lambda: X.index_add(0, INDEX, Y[:3]),
    "one_hot": lambda: functional.one_hot(INDEX, 4),
    "cat": lambda: torch.cat([X, Y], dim=1),
    "cat of one": lambda: torch.cat([X]),
    "stack": lambda: torch.stack([X, Y], dim=-1),
    "repeat": lambda: ROW.repeat(3, 2),
    "repeat_interleave": lambda: BATCH.repeat_interleave(3, dim=-2),
    "repeat_interleave flat": lambda: X.repeat_interleave(2),
    "repeat_interleave by a tensor": lambda: X.repeat_interleave(torch.tensor([1, 0, 2, 4]), dim=0, output_size=7),
    "pad": lambda: functional.pad(X, (1, 2, 3, 4)),
    "flip": lambda: X.flip(0),
    "roll": lambda: X.roll(1, 0),
    "tril": lambda: X.tril(),
    "triu": lambda: X.triu(1),
    "sort values": lambda: X.sort()[0],
    "topk values": lambda: X.topk(2)[0],
    "topk indices": lambda: X.topk(2, dim=0)[1],
    "max dim indices": lambda: X.max(1)[1],
    "arange": lambda: torch.arange(7),
    "arange bounds": lambda: torch.arange(2, 9, 3),
    "arange floats": lambda: torch.arange(0.0, 1.0, 0.3),
    "arange dtype": lambda: torch.arange(4, dtype=torch.int32),
    "zeros": lambda: torch.zeros(3, 4),
    "ones": lambda: torch.ones(3, dtype=torch.bool),
    "full": lambda: torch.full((2, 3), 7),
    "zeros_like": lambda: torch.zeros_like(X),
    "ones_like as integers": lambda: torch.ones_like(X, dtype=torch.int64),
    "full_like": lambda: torch.full_like(X, 2.0),
    "new_zeros": lambda: X.new_zeros(2, 5),
    "rand": lambda: torch.rand(3, 4),
    "randn": lambda: torch.randn(3, 4),
    "randint": lambda: torch.randint(0, 5, (3, 4)),
    "randperm": lambda: torch.randperm(9),
    "bernoulli": lambda: torch.bernoulli(X.clamp(0, 1)),
    "multinomial": lambda: torch.multinomial(X, 2),
    "dropout": lambda: functional.dropout(X, 0.3),
    "clone": lambda: X.clone(),
    "contiguous": lambda: X.t().contiguous(),
    "to half": lambda: X.half(),
    "to integers": lambda: X.long(),
    "mse_loss": lambda: functional.mse_loss(X, Y),
    "mse_loss none": lambda: functional.mse_loss(X, Y, reduction="none"),
    "smooth_l1_loss": lambda: functional.smooth_l1_loss(X, Y),
    "l1_loss": lambda: functional.l1_loss(X, Y),
    "binary_cross_entropy": lambda: functional.binary_cross_entropy(X.sigmoid(), MASK.float()),
    "bce with logits": lambda: functional.binary_cross_entropy_with_logits(X, MASK.float()),
    "cross_entropy": lambda: functional.cross_entropy(X, torch.tensor([0, 1, 2, 3])),
    "cross_entropy none": lambda: functional.cross_entropy(X, torch.tensor([0, 1, 2, 3]), reduction="none"),
    "isin": lambda: torch.isin(WHOLE, torch.tensor([3, 8, 23])),
    "isin inverted": lambda: torch.isin(WHOLE, torch.tensor([3, 8]), invert=True),
    "isin number": lambda: torch.isin(WHOLE, 3),
    "linspace": lambda: torch.linspace(0, 1, 7),
    "upsample": lambda: functional.interpolate(IMAGE, scale_factor=2, mode="nearest"),
    "upsample row": lambda: functional.interpolate(BATCH, size=11, mode="nearest"),
    "to_dense": lambda: (X + 1).to_dense(),
    "kl_div": lambda: functional.kl_div(X.log(), Y, reduction="sum"),
    "attention": lambda: functional.scaled_dot_product_attention(*[torch.rand(2, 3, 5, 8)] * 3),
    "attention mask": lambda: functional.scaled_dot_product_attention(
        *[torch.rand(2, 3, 5, 8)] * 3, attn_mask=torch.zeros(5, 5)
    ),
    "attention dropout": lambda: functional.scaled_dot_product_attention(*[torch.rand(2, 3, 5, 8)] * 3, dropout_p=0.1),
}
# Composites end in a view or a scalar operation whose result has another shape than the last kernel's.
_RESHAPED = {"conv1d", "mv", "outer", "einsum"}


@pytest.mark.parametrize("name", CALLS)
def test_operator(record, name: str) -> None:
    results: list[torch.Tensor] = []
    recording = record(lambda: results.append(CALLS[name]()))
    assert recording.unmapped == []
    assert recording.launches
    result = results[0]
    stated = {(t.shape, t.dtype) for launch in recording.launches for t in launch.kernel.outputs}
    expected = ge_dtype(_GE[result.dtype])
    if name in _RESHAPED:
        assert result.numel() in {torch.Size(shape).numel() for shape, dtype in stated if dtype == expected}
    else:
        assert (tuple(result.shape), expected) in stated


IN_PLACE: dict[str, Callable[[torch.Tensor], object]] = {
    "add_": lambda x: x.add_(Y, alpha=-0.1),
    "mul_": lambda x: x.mul_(0.9),
    "div_": lambda x: x.div_(Y),
    "sub_": lambda x: x.sub_(1.0),
    "clamp_": lambda x: x.clamp_(0, 1),
    "relu_": lambda x: x.relu_(),
    "sigmoid_": lambda x: x.sigmoid_(),
    "exp_": lambda x: x.exp_(),
    "pow_": lambda x: x.pow_(2),
    "masked_fill_": lambda x: x.masked_fill_(MASK, 0),
    "zero_": lambda x: x.zero_(),
    "fill_": lambda x: x.fill_(2.0),
    "lerp_": lambda x: x.lerp_(Y, 0.1),
    "addcmul_": lambda x: x.addcmul_(Y, Y, value=0.1),
    "addcdiv_": lambda x: x.addcdiv_(Y, Y, value=0.1),
    "copy_": lambda x: x.copy_(Y),
    "copy_ converting": lambda x: x.copy_(WHOLE),
    "copy_ broadcasting": lambda x: x.copy_(ROW),
    "index_put": lambda x: x.__setitem__(INDEX, 0.0),
    "index_put mask": lambda x: x.__setitem__(MASK, 0.0),
    "setitem slice": lambda x: x.__setitem__((slice(None), 1), 3.0),
    "scatter_": lambda x: x.scatter_(1, torch.zeros(4, 2, dtype=torch.int64), 1.0),
    "scatter_add_": lambda x: x.scatter_add_(1, torch.zeros(4, 2, dtype=torch.int64), Y),
    "index_add_": lambda x: x.index_add_(0, INDEX, Y[:3]),
    "normal_": lambda x: x.normal_(),
    "uniform_": lambda x: x.uniform_(),
    "bernoulli_": lambda x: x.bernoulli_(0.5),
}


@pytest.mark.parametrize("name", IN_PLACE)
def test_in_place(record, name: str) -> None:
    x = torch.rand(4, 6)
    recording = record(lambda: IN_PLACE[name](x))
    assert recording.unmapped == []
    assert recording.launches
    assert recording.launches[-1].kernel.bytes_written > 0


BACKWARD: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    **{name: (lambda x, name=name: getattr(functional, name)(x)) for name in ACTIVATIONS if name != "celu"},
    **{name: (lambda x, name=name: getattr(torch, name)(x)) for name in ("tanh", "exp", "log", "sqrt", "sin", "abs")},
    "max": lambda x: x.max(1)[0],
    "amax": lambda x: x.amax(1),
    "prod": lambda x: x.prod(1),
    "gather": lambda x: x.gather(1, torch.zeros(4, 2, dtype=torch.int64)),
    "index": lambda x: x[INDEX],
    "slice": lambda x: x[:, 1:3],
    "where": lambda x: torch.where(MASK, x, Y),
    "cumsum": lambda x: x.cumsum(1),
    "std": lambda x: x.std(1),
    "norm": lambda x: x.norm(),
    "pad": lambda x: functional.pad(x, (1, 1)),
    "repeat": lambda x: x.repeat(2, 1),
    "expand": lambda x: x.unsqueeze(0).expand(3, 4, 6),
    "topk": lambda x: x.topk(2)[0],
    "dropout": lambda x: functional.dropout(x, 0.3),
    "layer_norm": lambda x: functional.layer_norm(x, (6,)),
    "rms_norm": lambda x: functional.rms_norm(x, (6,)),
    "mse": lambda x: functional.mse_loss(x, Y),
    "smooth_l1": lambda x: functional.smooth_l1_loss(x, Y),
    "bce": lambda x: functional.binary_cross_entropy_with_logits(x, MASK.float()),
}


@pytest.mark.parametrize("name", sorted(BACKWARD.keys() - {"glu"}))
def test_backward_is_mapped(record, name: str) -> None:
    x = torch.rand(4, 6, requires_grad=True)
    assert record(lambda: BACKWARD[name](x).sum().backward()).unmapped == []


VIEWS: dict[str, Callable[[], object]] = {
    "view": lambda: X.view(24),
    "reshape": lambda: X.reshape(2, 12),
    "t": lambda: X.t(),
    "transpose": lambda: BATCH.transpose(1, 2),
    "permute": lambda: BATCH.permute(2, 0, 1),
    "expand": lambda: ROW.expand(4, 6),
    "expand_as": lambda: ROW.expand_as(X),
    "slice": lambda: X[1:3, ::2],
    "select": lambda: X[1],
    "split": lambda: X.split(2),
    "chunk": lambda: X.chunk(2, dim=1),
    "unbind": lambda: X.unbind(0),
    "squeeze": lambda: X.unsqueeze(0).squeeze(0),
    "flatten": lambda: X.flatten(),
    "detach": lambda: X.detach(),
    "to the same": lambda: X.to(torch.float32),
    "empty": lambda: torch.empty(3, 4),
    "empty_like": lambda: torch.empty_like(X),
    "dropout in evaluation": lambda: functional.dropout(X, 0.5, training=False),
    "mT": lambda: BATCH.mT,
    "as_strided": lambda: X.as_strided((2, 2), (1, 2)),
    "narrow": lambda: X.narrow(0, 1, 2),
    "view_as": lambda: X.view_as(Y),
    "movedim": lambda: BATCH.movedim(0, 1),
    "diagonal": lambda: X.diagonal(),
    "unfold": lambda: X.unfold(1, 2, 1),
    "unflatten": lambda: X.unflatten(1, (2, 3)),
}


@pytest.mark.parametrize("name", VIEWS)
def test_views_launch_nothing(record, name: str) -> None:
    recording = record(VIEWS[name])
    assert recording.called()
    assert recording.launches == []
    assert recording.unmapped == []


@pytest.mark.parametrize("key", [INDEX, (INDEX, INDEX), (slice(None), INDEX)])
def test_the_result_of_an_index_is_unknown(record, key: object) -> None:
    recording = record(lambda: X[key])
    assert recording.unmapped == []
    assert [(k.op_type, k.outputs) for k in recording.of("aten::index")] == [("Index", ())]


def test_a_mask_is_turned_into_positions_first(record) -> None:
    types = [launch.kernel.op_type for launch in record(lambda: X[MASK]).launches]
    assert types == ["Index", "MemSet", "NonZero", "MEMCPY_ASYNC"]


def test_nothing_is_launched_for_empty_tensors(record) -> None:
    nothing = torch.empty(0, 6)
    assert record(lambda: (nothing + 1, nothing.exp(), torch.cat([nothing, nothing]))).launches == []


def test_elements_written_to_the_places_of_a_mask(record) -> None:
    """Backward of a selection by mask does it, for which Megatron's tokens found it without a rule."""
    x = X.clone().requires_grad_()
    recording = record(lambda: x.masked_select(MASK).sum().backward())
    assert recording.unmapped == []
    (kernel,) = recording.of("aten::masked_scatter_")
    assert (kernel.op_type, kernel.outputs) == ("MaskedScatter", (kernel.inputs[0],))
    elements, places = X.numel(), kernel.inputs[2].elements
    assert kernel.bytes_read == 5 * elements + 4 * places
    assert kernel.bytes_written == 4 * elements


def test_what_waits_for_the_device(record) -> None:
    recording = record(
        lambda: (torch.nonzero(MASK), X[MASK], X.masked_select(MASK), torch.equal(X, Y), X.unique_consecutive())
    )
    copies = [launch for launch in recording.launches if launch.kernel.task_type is TaskType.MEMCPY]
    assert recording.unmapped == []
    assert len(copies) == 5
    runs = recording.of("aten::unique_consecutive")
    assert [kernel.op_type for kernel in runs if kernel.task_type is not TaskType.MEMCPY] == ["UniqueConsecutive"]
