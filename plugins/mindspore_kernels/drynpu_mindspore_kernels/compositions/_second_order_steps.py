"""
Primitives of THOR in place of MindSpore's own, which have kernels for GPUs alone: they pass their options as arguments.

Imported where MindSpore is loaded.
"""

from __future__ import annotations

from typing import Any

from mindspore.nn.layer import thor_layer
from mindspore.ops import PrimitiveWithInfer
from mindspore.ops.operations import _thor_ops


class _Columns(PrimitiveWithInfer):  # type: ignore[misc] # MindSpore has no types
    """The windows of images that keep their size."""

    def __init__(self, window: tuple[int, ...]) -> None:
        super().__init__("ThorIm2ColWithOptions")
        self.window = window
        self.init_prim_io_names(inputs=["x", "height", "width", "down", "across"], outputs=["output"])

    def infer_shape(self, x: Any, *options: Any) -> Any:
        """Return channels, window, images and places."""
        del options
        height, width, down, across = self.window
        return [x[1], height, width, x[0], -(-x[2] // down), -(-x[3] // across)]

    def infer_dtype(self, x: Any, *options: Any) -> Any:
        """Return the type of the images."""
        del options
        return x


class _InverseFactors(PrimitiveWithInfer):  # type: ignore[misc] # MindSpore has no types
    """The inverses of the Cholesky factors of diagonal blocks."""

    def __init__(self, edge: int) -> None:
        super().__init__("CholeskyTrsmWithOptions")
        self.edge = edge
        self.init_prim_io_names(inputs=["x", "edge"], outputs=["y"])

    def infer_shape(self, x: Any, edge: Any) -> Any:
        """Return the shape of the blocks, the matrix's shape where it is not cut."""
        del edge
        if not self.edge:
            return x
        edge = min(self.edge, x[0])
        return [-(-x[0] // edge), edge, edge]

    def infer_dtype(self, x: Any, edge: Any) -> Any:
        """Return the type of the matrix."""
        del edge
        return x


def _new_columns(kind: Any, kernel_size: Any, pad_mode: str = "valid", *others: Any, **options: Any) -> Any:
    stride = options.get("stride", 1)
    sizes, steps = ((each, each) if isinstance(each, int) else tuple(each)[-2:] for each in (kernel_size, stride))
    if pad_mode != "same" or others or set(options) - {"stride"}:
        # Cells of MindSpore use no other one.
        return super(_thor_ops.ThorIm2Col, kind).__new__(kind, kernel_size, pad_mode, *others, **options)
    height, width, down, across = window = (*sizes, *steps)
    columns = _Columns(window)

    # GRAPH mode reads the source of a function, and what it holds; a cell it would have to compile by itself.
    def extract(x: Any) -> Any:
        return columns(x, height, width, down, across)

    return extract


def _new_factors(kind: Any, lower: bool = False, clean: bool = True, split_dim: int = 0) -> Any:
    del kind, lower, clean
    factors = _InverseFactors(split_dim)

    def factorise(x: Any) -> Any:
        return factors(x, split_dim)

    return factorise


def replace_second_order() -> None:
    """Have MindSpore's classes of primitives make these."""
    _thor_ops.ThorIm2Col.__new__ = _new_columns
    thor_layer.ThorIm2Col.__new__ = _new_columns
    _thor_ops.CholeskyTrsm.__new__ = _new_factors
