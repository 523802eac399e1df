"""
Convolutions, on the single-op path that torch_npu uses for them (device_and_cost_model.md 4.1).

Around the cube kernel stand TransData kernels to NC1HWC0 and FRACTAL_Z and back. C0 is 8 for FP32 and 16 for
16-bit data, weights become [C1*KH*KW, N1, 16, C0]: both as measured (M2). The vendor numbers these kernels by
compilation (``Conv2D4``, ``trans_TransData_11``); a plan is made once per signature, so numbers count within it.
HF32 is on for FP32: ``torch.npu.conv.allow_hf32`` is True by default and the measured kernels show YES.
"""

from __future__ import annotations

from attrs import frozen

from drynpu.kernels import KernelPlan, KernelSpec, Signature, TaskType, TensorDesc
from drynpu_torch.rules._shapes import attribute, ceil_div, integers, product, whole
from drynpu_torch.rules._work import Rule, cube_kernel, kernel, like, output_tiles, plan, tensor

__all__ = ["convolution_rules"]

Shape = tuple[int, ...]


@frozen(kw_only=True)
class _Geometry:
    """One convolution: *x* and *y* are the small-kernel-side input and output of the forward direction."""

    x: TensorDesc
    weight: TensorDesc
    y: TensorDesc
    bias: TensorDesc | None
    groups: int
    transposed: bool

    @property
    def flops(self) -> int:
        """2 x multiply-adds of one direction; the three directions cost the same."""
        positions = product((self.x if self.transposed else self.y).shape[2:])
        return 2 * self.y.shape[0] * positions * self.weight.elements

    @property
    def hf32(self) -> bool:
        return self.x.dtype == "FLOAT"

    @property
    def name(self) -> str:
        return "Conv3D" if len(self.x.shape) == 5 else "Conv2D"


def _channels_block(dtype: str) -> int:
    return 8 if dtype == "FLOAT" else 16


def _blocked(source: TensorDesc) -> TensorDesc:
    """Return an activation as the cube unit wants it."""
    c0 = _channels_block(source.dtype)
    n, c, *space = source.shape
    if len(space) == 3:
        return TensorDesc((n, space[0], ceil_div(c, c0), *space[1:], c0), source.dtype, "NDC1HWC0")
    return TensorDesc((n, ceil_div(c, c0), *space, c0), source.dtype, "NC1HWC0")


def _fractal(source: TensorDesc) -> TensorDesc:
    """Return a weight as the cube unit wants it."""
    c0 = _channels_block(source.dtype)
    n, c, *space = source.shape
    return TensorDesc((ceil_div(c, c0) * product(space), ceil_div(n, 16), 16, c0), source.dtype, "FRACTAL_Z")


def _trans(number_: int, source: TensorDesc, target: TensorDesc) -> KernelSpec:
    spec = kernel("", "", "TransData", [source], [target], cost=0)
    return KernelSpec(
        name=f"trans_TransData_{number_}",
        op_type=spec.op_type,
        task_type=spec.task_type,
        inputs=spec.inputs,
        outputs=spec.outputs,
        bytes_read=spec.bytes_read,
        bytes_written=spec.bytes_written,
    )


def _with_height(shape: Shape) -> Shape:
    """A one-dimensional convolution runs as a two-dimensional one of height 1."""
    return (*shape[:2], 1, *shape[2:]) if len(shape) == 3 else shape


def _output_space(
    x: Shape, weight: Shape, stride: Shape, padding: Shape, dilation: Shape, extra: Shape, *, transposed: bool
) -> Shape:
    space = []
    for axis, (size, kernel_size) in enumerate(zip(x[2:], weight[2:], strict=False)):
        step, pad, spread = (values[axis % len(values)] for values in (stride, padding, dilation))
        reach = spread * (kernel_size - 1)
        if transposed:
            space.append((size - 1) * step - 2 * pad + reach + 1 + (extra[axis % len(extra)] if extra else 0))
        else:
            space.append((size + 2 * pad - reach - 1) // step + 1)
    return tuple(space)


def _geometry(
    x: TensorDesc | None,
    weight: TensorDesc | None,
    bias: TensorDesc | None,
    y_shape: Shape | None,
    groups: int,
    *,
    transposed: bool,
) -> _Geometry | None:
    if x is None or weight is None or y_shape is None or not 3 <= len(x.shape) <= 5:
        return None
    if not len(x.shape) == len(weight.shape) == len(y_shape):
        return None
    return _Geometry(
        x=tensor(_with_height(x.shape), x.dtype),
        weight=tensor(_with_height(weight.shape), weight.dtype),
        y=tensor(_with_height(y_shape), x.dtype),
        bias=bias,
        groups=groups,
        transposed=transposed,
    )


def _forward_geometry(
    signature: Signature, order: tuple[int, int, int, int | None, int | None, int]
) -> _Geometry | None:
    """*order*: positions of stride, padding, dilation, transposed, output padding and groups."""
    at_stride, at_padding, at_dilation, at_transposed, at_extra, at_groups = order
    x, weight, bias = signature.tensor(0), signature.tensor(1), signature.tensor(2)
    stride, padding, dilation = (integers(signature, at) for at in (at_stride, at_padding, at_dilation))
    if x is None or weight is None or len(x.shape) != len(weight.shape) or len(x.shape) < 3:
        return None
    if not (stride and padding and dilation) or min(stride) < 1:
        return None
    transposed = at_transposed is not None and attribute(signature, at_transposed) is True
    extra = (integers(signature, at_extra) if at_extra is not None else None) or ()
    groups = whole(signature, at_groups, 1)
    space = _output_space(x.shape, weight.shape, stride, padding, dilation, extra, transposed=transposed)
    if min(space, default=0) < 0:
        return None
    channels = weight.shape[1] * groups if transposed else weight.shape[0]
    return _geometry(x, weight, bias, (x.shape[0], channels, *space), groups, transposed=transposed)


def _tiles(y: TensorDesc) -> int:
    return y.shape[0] * output_tiles(product(y.shape[2:]), y.shape[1])


def _forward(conv: _Geometry) -> KernelPlan:
    x, weight, y = _blocked(conv.x), _fractal(conv.weight), _blocked(conv.y)
    # A transposed convolution is the input gradient of an ordinary one.
    op_type = f"{conv.name}Transpose" if conv.transposed else conv.name
    inputs = [x, weight] + ([like(conv.bias, layout="NCHW")] if conv.bias is not None else [])
    main = cube_kernel(f"{op_type}1", op_type, inputs, [y], flops=conv.flops, tiles=_tiles(conv.y), hf32=conv.hf32)
    return plan("", _trans(0, conv.x, x), _trans(1, conv.weight, weight), main, _trans(2, y, conv.y))


def _forward_rule(order: tuple[int, int, int, int | None, int | None, int]) -> Rule:
    def rule(signature: Signature) -> KernelPlan | None:
        conv = _forward_geometry(signature, order)
        return _forward(conv) if conv is not None else None

    return rule


def _input_gradient(conv: _Geometry, dy: TensorDesc, weight: TensorDesc) -> list[KernelSpec]:
    dx = _blocked(conv.x)
    sizes = TensorDesc((len(conv.x.shape),), "INT32", "NCHW")
    # The input gradient of a transposed convolution is an ordinary one.
    op_type = conv.name if conv.transposed else f"{conv.name}BackpropInput"
    main = cube_kernel(
        f"{op_type}1", op_type, [sizes, weight, dy], [dx], flops=conv.flops, tiles=_tiles(conv.x), hf32=conv.hf32
    )
    return [main, _trans(3, dx, conv.x)]


def _weight_gradient(conv: _Geometry, dy: TensorDesc, x: TensorDesc) -> list[KernelSpec]:
    # The gradient is accumulated in FP32, hence the blocks are those of FP32 data and the memory is cleared first.
    gradient = _fractal(like(conv.weight, dtype="FLOAT"))
    sizes = TensorDesc((len(conv.weight.shape),), "INT32", "NCHW")
    op_type = f"{conv.name}BackpropFilter"
    rows, columns = conv.weight.shape[0], product(conv.weight.shape[1:])
    main = cube_kernel(
        f"{op_type}1",
        op_type,
        [x, sizes, dy],
        [gradient],
        flops=conv.flops,
        tiles=output_tiles(rows, columns) * conv.y.shape[0],
        hf32=conv.hf32,
    )
    clear = kernel("", "", "MemSet", [], [gradient], cost=0)
    return [clear, main, _trans(4, gradient, conv.weight)]


def _bias_gradient(conv: _Geometry) -> list[KernelSpec]:
    n, c, *space = conv.y.shape
    flat = TensorDesc((n, c, product(space)), conv.y.dtype)
    axes = TensorDesc((2,), "INT64")
    out = TensorDesc((c,), conv.y.dtype)
    return [kernel("aclnnReduceSum", "ReduceSumOpAiCore", "ReduceSum", [flat, axes], [out], task=TaskType.MIX_AIV)]


def _backward(signature: Signature) -> KernelPlan | None:
    """``convolution_backward(dy, x, weight, bias_sizes, stride, padding, dilation, transposed, ..., output_mask)``."""
    dy, x, weight = signature.tensor(0), signature.tensor(1), signature.tensor(2)
    mask = attribute(signature, 10)
    if dy is None or not isinstance(mask, tuple) or len(mask) != 3:
        return None
    transposed = attribute(signature, 7) is True
    conv = _geometry(x, weight, None, dy.shape, whole(signature, 9, 1), transposed=transposed)
    if conv is None:
        return None
    blocked_dy, blocked_x, fractal = _blocked(conv.y), _blocked(conv.x), _fractal(conv.weight)
    kernels = [_trans(0, conv.y, blocked_dy)] if mask[0] or mask[1] else []
    kernels += [_trans(1, conv.weight, fractal)] if mask[0] else []
    kernels += [_trans(2, conv.x, blocked_x)] if mask[1] else []
    kernels += _input_gradient(conv, blocked_dy, fractal) if mask[0] else []
    kernels += _weight_gradient(conv, blocked_dy, blocked_x) if mask[1] else []
    kernels += _bias_gradient(conv) if mask[2] else []
    return plan("", *kernels)


def convolution_rules() -> dict[str, Rule]:
    """Return the rules of convolutions; claimed where every route into them passes."""
    general = _forward_rule((3, 4, 5, 6, 7, 8))
    return {
        "aten::convolution": general,
        "aten::_convolution": general,
        "aten::convolution_overrideable": general,
        "aten::mkldnn_convolution": _forward_rule((4, 3, 5, None, None, 6)),
        "aten::convolution_backward": _backward,
    }
