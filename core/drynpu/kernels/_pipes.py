"""
Times of the pipes of a core, from work and rates.

Every time here grows, or stays, when its work grows: a block of a kernel never moves less than a full block's
share until all cores are in use, so that more work cannot finish sooner by spreading wider.
"""

from __future__ import annotations

import math

from attrs import frozen

from drynpu.kernels._tuning import Fixed, Tuning
from drynpu.kernels._types import DTYPES, KernelSpec, TaskType
from drynpu.platforms import Chip

_CUBE_OPERANDS = frozenset({"FLOAT", "FLOAT16", "DT_BF16", "DOUBLE", "INT8", "UINT8"})
_FLOATING = frozenset({"FLOAT", "FLOAT16", "DT_BF16", "DOUBLE", "COMPLEX64", "COMPLEX128"})


@frozen
class Transfer:
    """Busy time of the reading and the writing pipe, and the time until all bytes have crossed (ns)."""

    read_ns: float
    write_ns: float
    bus_ns: float


@frozen
class VectorWork:
    """Element operations of a kernel, the data type that they are computed in, and conversions around them."""

    ops: int
    conversions: int
    dtype: str


def transfer(
    spec: KernelSpec, chip: Chip, tuning: Tuning, *, cores: int, all_cores: int, block_bytes: int = 0
) -> Transfer:
    """
    Time the traffic of a kernel, through L2 or from memory by its footprint (device_and_cost_model.md 3.4).

    Parameters
    ----------
    cores, all_cores:
        Cores in use, and cores that together reach the rates of the chip.
    block_bytes:
        Smallest share of one core; 0 = the bytes divide evenly.
    """
    share = cores / all_cores
    per_core = tuning.memory_bytes_per_cycle * chip.aic_mhz / 1000
    memory = min(chip.memory_gbs, max(cores * per_core, chip.memory_gbs * share))
    read = _spread(spec.bytes_read, cores, block_bytes)
    written = _spread(spec.bytes_written, cores, block_bytes)
    memory_read, memory_write = read / (memory * tuning.read_efficiency), written / (memory * tuning.write_efficiency)
    # A cache slower than the memory behind it would be passed by.
    l2_read = min(memory_read, read / (chip.l2_read_gbs * share * tuning.l2_efficiency))
    l2_write = min(memory_write, written / (chip.l2_write_gbs * share * tuning.l2_efficiency))
    from_memory = missed_share(spec, chip, tuning)
    from_l2 = 1 - from_memory
    bus_memory = memory_read + memory_write + tuning.turnaround * min(read, written) / memory
    return Transfer(
        read_ns=from_memory * memory_read + from_l2 * l2_read,
        write_ns=from_memory * memory_write + from_l2 * l2_write,
        bus_ns=from_memory * bus_memory + from_l2 * max(l2_read, l2_write),
    )


def _spread(work: float, cores: int, block: int) -> float:
    """Return the work counted as if the busiest core's share were everybody's."""
    return max(work, cores * min(work, block))


def missed_share(spec: KernelSpec, chip: Chip, tuning: Tuning) -> float:
    """Return the share of the traffic that L2 does not serve."""
    footprint = spec.bytes_read + spec.bytes_written
    warm, cold = tuning.l2_warm_share * chip.l2_bytes, tuning.l2_cold_share * chip.l2_bytes
    return min(max((footprint - warm) / (cold - warm), 0.0), 1.0)


def vector_blocks(spec: KernelSpec, cores: int, tuning: Tuning) -> int:
    """Return the block number of a vector kernel: one per 8 KiB of traffic, 1 for scalars, at most all cores."""
    by_bytes = math.ceil((spec.bytes_read + spec.bytes_written) / tuning.vector_block_bytes)
    by_ops = math.ceil((spec.vector_ops + spec.cube_flops) / tuning.vector_block_ops)
    return min(max(by_bytes, by_ops, 1), cores)


def cube_blocks(spec: KernelSpec, cores: int, tuning: Tuning) -> int:
    """Return the block number of a cube kernel: its output tiles, at most all cores (3.3)."""
    tiles = spec.cube_tiles
    if tiles <= 0:
        elements = max((t.elements for t in spec.outputs), default=0)
        tiles = math.ceil(elements / (tuning.tile_m * tuning.tile_n)) if elements else cores
    return min(max(tiles, 1), cores)


def cube_dtype(spec: KernelSpec) -> str:
    """Return the operand type of the cube: the first input that a cube can multiply, ``FLOAT16`` if unknown."""
    return next((t.dtype for t in spec.inputs if t.dtype in _CUBE_OPERANDS), "FLOAT16")


def mac_ns(spec: KernelSpec, chip: Chip, tuning: Tuning, blocks: int) -> float:
    """Return the time of the multiply-accumulate pipe (3.1, item 4)."""
    dtype = cube_dtype(spec)
    ratio = 1.0
    if dtype in {"FLOAT", "DOUBLE"}:
        ratio = chip.cube_hf32_ratio if spec.hf32 else chip.cube_fp32_ratio
    elif dtype in {"INT8", "UINT8"}:
        ratio = chip.cube_int8_ratio
    rate = chip.cube_flop_per_cycle * ratio * chip.aic_mhz / 1000 * blocks
    return spec.cube_flops / rate * tuning.mac_factor


def refetch_ns(spec: KernelSpec, chip: Chip, tuning: Tuning, blocks: int) -> float:
    """Return the time to bring both operands of every output tile from L2 into the cores."""
    rate = chip.l2_read_gbs * blocks / chip.cube_cores * tuning.refetch_efficiency
    return refetch_bytes(spec, tuning) / rate


def refetch_bytes(spec: KernelSpec, tuning: Tuning) -> float:
    """Return the bytes of both operands of every output tile."""
    tile = (tuning.tile_m + tuning.tile_n) / (2 * tuning.tile_m * tuning.tile_n)
    return spec.cube_flops * tile * DTYPES[cube_dtype(spec)].size_bytes


def vec_ns(spec: KernelSpec, chip: Chip, tuning: Tuning, *, cores: int, block_ops: int = 0) -> float:
    """Return the time of the vector pipe on *cores* vector cores."""
    work = vector_work(spec)
    lanes = vector_lanes(work.dtype, chip, tuning)
    done = _spread(work.ops + work.conversions, cores, block_ops)
    return done / (lanes * chip.aiv_mhz / 1000 * cores * tuning.vector_efficiency)


def vector_work(spec: KernelSpec) -> VectorWork:
    """
    Return what the vector units have to do.

    A task without a cube computes its products there as well. BF16 is converted to 32 bit and back, one
    operation per element moved.
    """
    ops = spec.vector_ops + (0 if spec.task_type in {TaskType.AI_CORE, TaskType.MIX_AIC} else spec.cube_flops)
    dtype = _vector_dtype(spec)
    if dtype != "DT_BF16":
        return VectorWork(ops, 0, dtype)
    return VectorWork(ops, (spec.bytes_read + spec.bytes_written) // 2 if ops else 0, "FLOAT")


def vector_lanes(dtype: str, chip: Chip, tuning: Tuning) -> float:
    """Return the elements of *dtype* that one vector core computes per cycle."""
    size = DTYPES[dtype].size_bytes
    if size > DTYPES["FLOAT"].size_bytes:
        return chip.vector_lanes_16bit * tuning.wide_lanes_share
    return chip.vector_lanes_16bit * (0.5 if size == DTYPES["FLOAT"].size_bytes else 1.0)


def _vector_dtype(spec: KernelSpec) -> str:
    tensors = (*spec.inputs, *spec.outputs)
    floating = next((t.dtype for t in tensors if t.dtype in _FLOATING), None)
    return floating or next((t.dtype for t in tensors), "FLOAT")


def pipe_ns(busy_ns: float, engine: float, tuning: Tuning) -> float:
    """Return a pipe's busy time with its latency, within the engine time; an idle pipe has 0."""
    return min(busy_ns + tuning.latency_ns, engine) if busy_ns > 0 else 0.0


def engine_ns(fixed: Fixed, blocks: int, pipes: tuple[float, ...], tuning: Tuning) -> float:
    """Return the engine time: the start, the slowest pipe and what the others cannot hide."""
    slowest = max(pipes)
    start = fixed.start_ns + fixed.start_per_block_ns * blocks + tuning.latency_ns
    return start + slowest + tuning.unhidden_share * (sum(pipes) - slowest)


def duration_ns(fixed: Fixed, blocks: int, engine: float) -> float:
    """Return the time from task start to task end around *engine*."""
    return fixed.overhead_ns + fixed.overhead_per_block_ns * blocks + (1 + fixed.overhead_share) * engine


def scalar_ns(fixed: Fixed, engine: float) -> float:
    """Return the busy time of the scalar pipe."""
    return min(fixed.scalar_ns + fixed.scalar_share * engine, engine)


def icache_miss_rate(fixed: Fixed, engine: float, tuning: Tuning) -> float:
    """Return misses per request: cold code in short kernels, none in long ones."""
    return fixed.icache_cold / (1 + engine / tuning.icache_warm_ns)
