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
from typing import Any

from drynpu.kernels import _pipes as pipes
from drynpu.kernels._tuning import Tuning
from drynpu.kernels._types import DTYPES, KernelCost, KernelSpec, TensorDesc
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
_KINDS = {"FLOAT": "fp32", "FLOAT16": "fp16", "INT32": "int32", "UINT32": "int32"}
_CONVERTED_BYTES = 3
"""A conversion between 16 and 32 bit moves 2 bytes one way and 4 the other."""


def traffic(spec: KernelSpec, chip: Chip, tuning: Tuning, timed: KernelCost) -> dict[str, Any]:
    """Return the work and byte fields of :class:`KernelCost` of a kernel with these times; none without engine."""
    if not timed.aic_time_ns and not timed.aiv_time_ns:
        return {}
    fields: dict[str, Any] = {}
    if timed.mac_ns:
        fields |= _products(spec, chip, timed)
    if timed.aiv_time_ns:
        fields |= _vector(spec, chip, tuning, timed)
    fields |= _moved(spec, chip, tuning, timed)
    misses = sum(value for name, value in fields.items() if "_main_" in name)
    return fields | {"l2_victim_share": max(1 - chip.l2_bytes / misses, 0.0) if misses else 0.0}


def _products(spec: KernelSpec, chip: Chip, timed: KernelCost) -> dict[str, int]:
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
    cycles = timed.aic_time_ns * chip.aic_mhz / 1000 * timed.block_num
    padded = _padded_products(spec, depth)
    products = padded if exact < padded <= cycles / 2 else exact
    operand = DTYPES[dtype].size_bytes if dtype != "DOUBLE" else DTYPES["FLOAT"].size_bytes
    return {
        "cube_int8_ops" if int8 else "cube_float_ops": products,
        "l0_read_bytes": products * _EDGE * depth * operand,
        "l0c_cube_bytes": products * _L0C_BYTES_PER_PRODUCT,
    }


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


def _vector(spec: KernelSpec, chip: Chip, tuning: Tuning, timed: KernelCost) -> dict[str, Any]:
    """Return cycles by kind, accesses to UB and conflicts there, of the vector and scalar units."""
    work = pipes.vector_work(spec)
    cycles = dict.fromkeys(("fp32", "fp16", "int32", "misc"), 0)
    lanes = pipes.vector_lanes(work.dtype, chip, tuning)
    cycles[_KINDS.get(work.dtype, "misc")] += math.ceil(work.ops / lanes)
    cycles["misc"] += math.ceil(work.conversions / lanes)
    computed = work.ops * DTYPES[work.dtype].size_bytes
    converted = work.conversions * _CONVERTED_BYTES
    blocks = timed.mix_block_num or timed.block_num
    scalar = timed.aiv_scalar_ns * chip.aiv_mhz if chip.split else timed.aic_scalar_ns * chip.aic_mhz
    scalar *= blocks / 1000
    return {
        **{f"vec_{kind}_cycles": number for kind, number in cycles.items()},
        "ub_vector_read_bytes": tuning.counters.ub_reads_per_op * computed + converted,
        "ub_vector_write_bytes": computed + converted,
        "ub_scalar_read_bytes": SCALAR_BYTES * round(scalar * tuning.counters.scalar_ub_reads_per_cycle),
        "ub_scalar_write_bytes": SCALAR_BYTES * round(scalar * tuning.counters.scalar_ub_writes_per_cycle),
        "bankgroup_conflict_share": tuning.counters.bankgroup_conflict_share,
        "bank_conflict_share": tuning.counters.bank_conflict_share,
        "resource_conflict_share": tuning.counters.resource_conflict_share,
    }


def _moved(spec: KernelSpec, chip: Chip, tuning: Tuning, timed: KernelCost) -> dict[str, int]:
    """Return the bytes that cross into and out of the cores, and the part that comes from behind L2."""
    missed_reads, missed_writes = pipes.missed_shares(spec, chip, tuning)
    read, written = spec.bytes_read, spec.bytes_written
    from_main, to_main = _lines(missed_reads * read), _lines(missed_writes * written)
    if not chip.split:
        main = {"aic_main_read_bytes": from_main, "aic_main_write_bytes": to_main}
        if not timed.mac_ns:
            return main | {"gm_to_ub_bytes": read, "ub_to_gm_bytes": written}
        return main | _operands(spec, tuning) | {"l0c_to_ub_bytes": written, "ub_to_gm_bytes": written}
    if not timed.aic_time_ns:
        main = {"aiv_main_read_bytes": from_main, "aiv_main_write_bytes": to_main}
        return main | {"gm_to_ub_bytes": read, "ub_to_gm_bytes": written}
    cube = {"l0c_to_gm_bytes": written, "aic_main_read_bytes": from_main}
    cube |= _operands(spec, tuning) if timed.mac_ns else {"gm_to_l1_bytes": read}
    if not timed.aiv_time_ns:
        return cube | {"aic_main_write_bytes": to_main}
    return cube | {"gm_to_ub_bytes": written, "ub_to_gm_bytes": written, "aiv_main_write_bytes": to_main}


def _operands(spec: KernelSpec, tuning: Tuning) -> dict[str, int]:
    """Return the way of the operands into the cube: a tile of the result takes rows of A once per tile of columns."""
    entered = max(spec.bytes_read, round(pipes.refetch_bytes(spec, tuning)))
    left = round(entered * tuning.cube.tile_m / (tuning.cube.tile_m + tuning.cube.tile_n))
    return {"gm_to_l1_bytes": entered, "l1_to_l0a_bytes": left, "l1_to_l0b_bytes": entered - left}


def _lines(size: float) -> int:
    return LINE_BYTES * round(size / LINE_BYTES)
