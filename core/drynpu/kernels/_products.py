"""
How a product is cut into tiles: the choice that a kernel library makes for every problem.

Each way of cutting is timed by terms that never fall when an edge grows, so that the fastest way does not either: a
wave of tiles lasts as long as one tile, cores that have no tile do nothing, and the tiles in flight share the rates.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Final

from attrs import frozen

from drynpu.kernels import _pipes as pipes
from drynpu.kernels._attention_shapes import HEAD_WIDTH
from drynpu.kernels._families import family_of, is_prolog
from drynpu.kernels._shapes_of_work import Edges, image_positions, product_edges, prolog_edges
from drynpu.kernels._tuning import Tuning
from drynpu.kernels._types import DTYPES, KernelSpec, TensorDesc
from drynpu.platforms import Chip

_EDGE: Final = 16
_TILES: Final = (
    (128, 256),
    (256, 128),
    (128, 128),
    (64, 256),
    (64, 128),
    (32, 256),
    (16, 256),
    (64, 64),
    (32, 64),
    (16, 64),
)
"""Rows and columns of the result that a core makes at once: what L0C holds, and smaller ones for small results."""
_RESULTS_PUSH: Final = 4
"""Results of so many times the size of L2 push all operands out of it."""
_SPLITS: Final = (1, 2, 4, 8, 16)
"""Parts of the inner edge that different cores sum up."""
_LEAST_INNER: Final = 256


@frozen
class Cut:
    """One way of cutting a product, and the busy times of a core that follow (ns)."""

    blocks: int
    mac_ns: float
    load_ns: float
    """Operands of every tile from L2, at the share of its rate that the tiles in flight have."""
    store_ns: float
    """Results, summed in memory where several cores have a part of the inner edge."""
    draw_ns: float
    """One pass over the second operand at what a core can draw from memory while others idle."""
    share: float = 1.0
    """Share of the results that the busiest core makes."""


def edges_of(spec: KernelSpec, *, split: bool = True) -> Edges:
    """Return the edges of the product that a cube kernel computes; an image is a matrix with a row per position."""
    elements = max((t.elements for t in spec.outputs), default=0)
    if family_of(spec.op_type).name == "matmul":
        edges = (prolog_edges(spec.inputs) if is_prolog(spec.op_type) else None) or product_edges(
            spec.inputs, spec.outputs
        )
        if edges is not None:
            stated = 2 * edges.batch * edges.rows * edges.inner * edges.columns
            if stated and 0.5 <= spec.cube_flops / stated <= 2.0:
                return edges
    if not elements:
        return Edges(
            1,
            max(round(math.sqrt(spec.cube_flops / 2 / _LEAST_INNER)), 1),
            _LEAST_INNER,
            max(round(math.sqrt(spec.cube_flops / 2 / _LEAST_INNER)), 1),
        )
    out = max(spec.outputs, key=lambda t: t.elements)
    columns = out.shape[-1] if out.shape else 1
    if family_of(spec.op_type).name == "attention":
        # A format says nothing here: TorchAir writes NCHW for a batch of heads.
        columns = min(columns, HEAD_WIDTH)
    elif out.format.startswith("NC1HWC0") and len(out.shape) == 5:
        columns = out.shape[1] * out.shape[4]
    elif out.format in {"NCHW", "NCDHW"} and len(out.shape) > 2:
        columns = out.shape[1]
    elif out.format.startswith("FRACTAL_Z") and len(out.shape) == 4:
        columns = out.shape[1] * out.shape[2]
    inner = max(round(spec.cube_flops / 2 / elements), 1)
    if split and spec.op_type in _FORWARD and len(out.shape) >= _IMAGE_RANK and out.shape[0] > 1:
        # Rows are cut within an image, for each of which the weights are read again. Few channels are padded.
        rows = max(image_positions(out) // out.shape[0], 1)
        return Edges(out.shape[0], rows, _with_whole_channels(inner, spec.inputs[0]), max(columns, 1), shared=True)
    return Edges(1, max(elements // max(columns, 1), 1), inner, max(columns, 1))


def _with_whole_channels(inner: int, image: TensorDesc) -> int:
    """Return the inner edge with channels that are padded to blocks of the cube."""
    if image.format != "NCHW" or len(image.shape) != _IMAGE_RANK or not image.shape[1]:
        return inner
    return inner * _padded(image.shape[1]) // image.shape[1]


_FORWARD: Final = frozenset({"Conv2D", "Conv2DV2"})
_IMAGE_RANK: Final = 4


def cuts(edges: Edges, spec: KernelSpec, chip: Chip, tuning: Tuning, rate: float, size: int) -> Iterator[Cut]:
    """
    Return the ways of cutting a product.

    Parameters
    ----------
    rate:
        Operations per ns of one core with operands of the kernel's type.
    size:
        Bytes of an element of the operands.
    """
    cores = chip.cube_cores
    pushed = min(spec.bytes_written / (_RESULTS_PUSH * chip.l2_bytes), 1.0) if chip.split else 1.0
    lost = tuning.cube.refetch_efficiency_lost * pushed * pipes.overflow_share(spec, chip, tuning)
    l2 = chip.l2_read_gbs / cores * (tuning.cube.refetch_efficiency - lost)
    left, right = (_odd_row(t) if chip.split else 0 for t in (*spec.inputs, _NOTHING, _NOTHING)[:2])
    cores = _cores_of_batch(spec, cores)
    out_size = max((DTYPES[t.dtype].size_bytes for t in spec.outputs[:1]), default=2)
    per_core = tuning.cube.memory_bytes_per_cycle * chip.aic_mhz / 1000
    results = edges.batch * edges.rows * edges.columns
    for rows, columns in _TILES:
        tall, wide = min(rows, _padded(edges.group_rows)), min(columns, _padded(edges.columns))
        stacks = edges.batch * edges.groups
        tiles = stacks * math.ceil(edges.group_rows / rows) * math.ceil(edges.columns / columns)
        for parts in _SPLITS:
            deep = max(_padded(math.ceil(edges.inner / parts)), _LEAST_INNER if parts > 1 else 0)
            waves, blocks = math.ceil(tiles * parts / cores), min(tiles * parts, cores)
            summed = (parts - 1) * edges.batch * edges.rows * edges.columns * 4 * 2 if parts > 1 else 0
            inner = _Piece(edges.inner, math.ceil(edges.inner / parts), deep)
            tall_in = tall * _times_apart(left, inner, _Piece(edges.rows, min(rows, edges.group_rows), tall))
            wide_in = wide * _times_apart(right, inner, _Piece(edges.columns, min(columns, edges.columns), wide))
            yield Cut(
                blocks=blocks,
                mac_ns=waves * 2.0 * tall * wide * deep / rate * tuning.cube.mac_factor,
                load_ns=waves * (tall_in + wide_in) * deep * size / l2,
                store_ns=waves * tall * wide * out_size / (tuning.cube.fixpipe_bytes_per_cycle * chip.aic_mhz / 1000)
                + summed / (chip.l2_write_gbs * tuning.l2.efficiency),
                draw_ns=math.ceil((1 if edges.shared else stacks) * math.ceil(edges.columns / columns) * parts / cores)
                * (wide * deep * size / per_core),
                share=min(waves * min(rows, edges.group_rows) * min(columns, edges.columns) / max(results, 1), 1.0),
            )


@frozen
class _Piece:
    """The part of an edge of a product that a tile has, and the same padded."""

    edge: int
    length: int
    padded: int


def _odd_row(operand: TensorDesc) -> int:
    """Return the length of the rows of an operand if they are no whole lines, else 0."""
    if operand.format != "ND" or len(operand.shape) < 2:
        return 0
    row = operand.shape[-1]
    return row if row * DTYPES[operand.dtype].size_bytes % _LINE_BYTES else 0


def _times_apart(odd_row: int, *pieces: _Piece) -> float:
    """
    Return how many times as long an operand takes to come in whose rows are no whole lines: each row comes in apart.

    A product of 3840 x 588 and 588 x 1152 in 16 bits takes 86 us on 910B2, four times as long as with rows of 576. With
    more than twice, rows of twice the length, which may be whole lines, would be faster.
    """
    return next((max(2 * each.length / each.padded, 1.0) for each in pieces if each.edge == odd_row), 1.0)


_NOTHING: Final = TensorDesc((), "FLOAT")
_LINE_BYTES: Final = 32
"""What the way into a core moves at once."""


def _cores_of_batch(spec: KernelSpec, cores: int) -> int:
    """Return the cores that a convolution of images uses: it deals the images of a batch out evenly (16 for 32)."""
    if spec.op_type not in {"Conv2D", "Conv3D"} or not spec.inputs or not spec.inputs[0].shape:
        return cores
    batch = spec.inputs[0].shape[0]
    if batch < cores:
        return cores
    return max((n for n in range(1, cores + 1) if batch % n == 0), default=cores)


def _padded(edge: int) -> int:
    return -(-edge // _EDGE) * _EDGE
