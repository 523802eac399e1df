"""
What a kernel computes and moves, level by level: the part of its account that counters other than times show.

It follows from the same figures as the times (blocks, refetched operands, the share that L2 misses), so that bytes
per time stay under the rates that the times were made from. Assumptions that no reference settles:

- every byte that enters L1 goes on to L0A or L0B once, in the proportions of an output tile, and no product goes
  back from L0C to L1;
- on unified chips products leave L0C through the vector unit and UB, on split chips by fixpipe;
- the cube side of a mixed kernel leaves its results in L2, where the vector side finds them;
- L2 is asked in lines of 128 bytes (the unit of the memory counters of cann_msprof.md 4.2); misses that do not fit
  into L2 any more push other lines out.
"""

from __future__ import annotations

import math

from attrs import evolve

from drynpu.kernels import _pipes as pipes
from drynpu.kernels._account import Conflicts, CubeBytes, KernelCost, Products, VectorBytes, VectorCycles, Work
from drynpu.kernels._tuning import Tuning
from drynpu.kernels._types import DTYPES, KernelSpec, TensorDesc
from drynpu.platforms import Chip

LINE_BYTES = 128
"""Unit of requests to L2 and to main memory."""
SCALAR_BYTES = 16
"""Unit of the scalar unit's access to UB (cann_msprof.md 4.2: pipe 128, scale 1)."""

_EDGE = 16
_INT8_EDGE = 32
_L0C_BYTES_PER_PRODUCT = _EDGE * _EDGE * 4
_PADDED_FORMATS = frozenset({"NC1HWC0", "NDC1HWC0", "FRACTAL_Z", "FRACTAL_NZ"})
_CHANNEL_SECOND = frozenset({"NCHW", "NCDHW", "NCL"})
_CONVERTED_BYTES = 3
"""A conversion between 16 and 32 bit moves 2 bytes one way and 4 the other."""


def traffic(spec: KernelSpec, chip: Chip, tuning: Tuning, timed: KernelCost) -> Work[float]:
    """Return what a kernel with these times computes and moves; nothing without engine."""
    if not timed.cube.time_ns and not timed.vector.time_ns:
        return Work()
    cube, vector = _moved(spec, chip, tuning, timed)
    cycles, conflicts = VectorCycles[float](), Conflicts[float]()
    if timed.vector.time_ns:
        cycles = _cycles(pipes.vector_work(spec), pipes.vector_lanes(pipes.vector_work(spec).dtype, chip, tuning))
        conflicts = tuning.counters.conflicts
        vector = _with_accesses(vector, spec, chip, tuning, timed)
    main = (cube.main_read_bytes, cube.main_write_bytes, vector.main_read_bytes, vector.main_write_bytes)
    misses = sum(main)
    return Work(
        products=_products(spec, chip, timed) if timed.cube.mac_ns else Products(),
        cube=cube,
        vector=vector,
        cycles=cycles,
        conflicts=conflicts,
        l2_victim_share=max(1 - chip.l2_bytes / misses, 0.0) if misses else 0.0,
    )


def _products(spec: KernelSpec, chip: Chip, timed: KernelCost) -> Products[float]:
    """
    Return the products of the cube and what they draw from L0.

    Edges are padded where the shape of the result tells them and the time leaves room: the cost model times
    products without padding, and of the shapes that this makes several times as long only those that wait for
    their operands anyway can hide it.
    """
    dtype = pipes.cube_dtype(spec)
    int8 = dtype in {"INT8", "UINT8"}
    depth = _INT8_EDGE if int8 else _EDGE
    exact = math.ceil(spec.cube_flops / (2 * _EDGE * _EDGE * depth))
    cycles = timed.cube.time_ns * chip.aic_mhz / 1000 * timed.block_num
    padded = _padded_products(spec, depth)
    products = padded if exact < padded <= cycles / 2 else exact
    operand = DTYPES[dtype].size_bytes if dtype != "DOUBLE" else DTYPES["FLOAT"].size_bytes
    return Products(
        float_ops=0 if int8 else products,
        int8_ops=products if int8 else 0,
        l0_read_bytes=products * _EDGE * depth * operand,
        l0c_bytes=products * _L0C_BYTES_PER_PRODUCT,
    )


def _padded_products(spec: KernelSpec, depth: int) -> int:
    """Return the number of products with each edge rounded up, 0 where the edges cannot be told."""
    if len(spec.outputs) == 0 or spec.outputs[0].elements == 0 or spec.outputs[0].format in _PADDED_FORMATS:
        return 0
    batch, rows, columns = _result_edges(spec.outputs[0], batched="Batch" in spec.op_type)
    inner, rest = divmod(spec.cube_flops, 2 * batch * rows * columns)
    if rest or not inner:
        return 0
    return batch * math.ceil(rows / _EDGE) * math.ceil(inner / depth) * math.ceil(columns / _EDGE)


def _result_edges(result: TensorDesc, *, batched: bool) -> tuple[int, int, int]:
    """Return batch, rows and columns of a matrix product: channels are the columns of a convolution."""
    shape = result.shape or (1,)
    if result.format in _CHANNEL_SECOND and len(shape) > 2:
        return 1, result.elements // shape[1], shape[1]
    if batched and len(shape) > 2:
        return math.prod(shape[:-2]), shape[-2], shape[-1]
    return 1, math.prod(shape[:-1]), shape[-1]


def _cycles(work: pipes.VectorWork, lanes: float) -> VectorCycles[float]:
    """Return the cycles of the vector units by the kind of numbers."""
    computed, converted = math.ceil(work.ops / lanes), math.ceil(work.conversions / lanes)
    if work.dtype == "FLOAT":
        return VectorCycles(fp32=computed, misc=converted)
    if work.dtype == "FLOAT16":
        return VectorCycles(fp16=computed, misc=converted)
    if work.dtype in {"INT32", "UINT32"}:
        return VectorCycles(int32=computed, misc=converted)
    return VectorCycles(misc=computed + converted)


def _with_accesses(
    moved: VectorBytes[float], spec: KernelSpec, chip: Chip, tuning: Tuning, timed: KernelCost
) -> VectorBytes[float]:
    """Return *moved* with the accesses of vector and scalar units to UB."""
    work, rates = pipes.vector_work(spec), tuning.counters
    computed = work.ops * DTYPES[work.dtype].size_bytes
    converted = work.conversions * _CONVERTED_BYTES
    scalar = timed.vector.scalar_ns * chip.aiv_mhz if chip.split else timed.cube.scalar_ns * chip.aic_mhz
    scalar *= (timed.mix_block_num or timed.block_num) / 1000
    return evolve(
        moved,
        vector_read_bytes=rates.ub_reads_per_op * computed + converted,
        vector_write_bytes=computed + converted,
        scalar_read_bytes=SCALAR_BYTES * round(scalar * rates.scalar_ub_reads_per_cycle),
        scalar_write_bytes=SCALAR_BYTES * round(scalar * rates.scalar_ub_writes_per_cycle),
    )


def _moved(
    spec: KernelSpec, chip: Chip, tuning: Tuning, timed: KernelCost
) -> tuple[CubeBytes[float], VectorBytes[float]]:
    """Return the bytes that cross into and out of the cores, and the part that comes from behind L2."""
    missed_reads, missed_writes = pipes.missed_shares(spec, chip, tuning)
    read, written = spec.bytes_read, spec.bytes_written
    from_main, to_main = _lines(missed_reads * read), _lines(missed_writes * written)
    operands = _operands(spec, tuning) if timed.cube.mac_ns else None
    if not chip.split:
        cube = evolve(operands or CubeBytes(), main_read_bytes=from_main, main_write_bytes=to_main)
        if operands is None:
            return cube, VectorBytes(gm_to_ub_bytes=read, ub_to_gm_bytes=written)
        return evolve(cube, l0c_to_ub_bytes=written), VectorBytes(ub_to_gm_bytes=written)
    if not timed.cube.time_ns:
        return CubeBytes(), VectorBytes(
            gm_to_ub_bytes=read, ub_to_gm_bytes=written, main_read_bytes=from_main, main_write_bytes=to_main
        )
    cube = evolve(operands or CubeBytes(gm_to_l1_bytes=read), l0c_to_gm_bytes=written, main_read_bytes=from_main)
    if not timed.vector.time_ns:
        return evolve(cube, main_write_bytes=to_main), VectorBytes()
    return cube, VectorBytes(gm_to_ub_bytes=written, ub_to_gm_bytes=written, main_write_bytes=to_main)


def _operands(spec: KernelSpec, tuning: Tuning) -> CubeBytes[float]:
    """Return the way of the operands into the cube: a tile of the result takes rows of A once per tile of columns."""
    entered = max(spec.bytes_read, round(pipes.refetch_bytes(spec, tuning)))
    left = round(entered * tuning.cube.tile_m / (tuning.cube.tile_m + tuning.cube.tile_n))
    return CubeBytes(gm_to_l1_bytes=entered, l1_to_l0a_bytes=left, l1_to_l0b_bytes=entered - left)


def _lines(size: float) -> int:
    return LINE_BYTES * round(size / LINE_BYTES)
