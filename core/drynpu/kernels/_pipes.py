"""
Times of the pipes of a core, from work and rates.

Every time here grows, or stays, when its work grows: a block of a kernel never moves less than a full block's
share until all cores are in use, so that more work cannot finish sooner by spreading wider.
"""

from __future__ import annotations

import math

from attrs import evolve, frozen

from drynpu.kernels._access import access_ns, chain_ns, dealt_rows, has_short_rows, repeated_operands
from drynpu.kernels._attention_shapes import attention_pairs
from drynpu.kernels._calibration import PHYSICS, Factors
from drynpu.kernels._families import family_of, is_prolog
from drynpu.kernels._shapes_of_work import PROLOG_WEIGHTS
from drynpu.kernels._sorting import operations_per_element
from drynpu.kernels._tuning import Fixed, Tuning
from drynpu.kernels._types import DTYPES, KernelSpec, TaskType, TensorDesc
from drynpu.platforms import Chip

_CUBE_OPERANDS = frozenset({"FLOAT", "FLOAT16", "DT_BF16", "DOUBLE", "INT8", "UINT8"})
_FLOATING = frozenset({"FLOAT", "FLOAT16", "DT_BF16", "DOUBLE", "COMPLEX64", "COMPLEX128"})


@frozen
class Transfer:
    """Busy time of the reading and the writing pipe, and what memory and L2 need for the bytes (ns)."""

    read_ns: float
    write_ns: float
    limit_ns: float = 0.0
    """What the rates of memory and L2 allow at best."""
    one_core_ns: float = 0.0
    """What the port of one core needs at least for everything that is read."""
    memory_ns: float = 0.0
    """What memory needs for the part that L2 does not serve."""
    l2_read_ns: float = 0.0
    """What reading takes at the rate of L2, with accesses that wait; likewise writing."""
    l2_write_ns: float = 0.0
    first_read_ns: float = 0.0
    """What memory needs for everything that is read, once."""

    @property
    def core_ns(self) -> float:
        """What the cores need for the bytes if L2 has all of them."""
        return max(self.l2_read_ns, self.l2_write_ns)


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
    if chip.split and has_short_rows(spec):
        # Bytes of a row that are no whole lines are copied apart and moved to their place.
        spec = evolve(spec, bytes_read=2 * spec.bytes_read, bytes_written=2 * spec.bytes_written)
    share = cores / all_cores
    per_core = tuning.memory.core_bytes_per_cycle * chip.aic_mhz / 1000
    memory = min(chip.memory_gbs, max(cores * per_core, chip.memory_gbs * share))
    read = _spread(spec.bytes_read, cores, block_bytes)
    written = _spread(spec.bytes_written, cores, block_bytes)
    memory_read = read / (memory * tuning.memory.read_efficiency)
    memory_write = written / (memory * tuning.memory.write_efficiency)
    # A cache slower than the memory behind it would be passed by.
    l2_read = min(memory_read, read / (chip.l2_read_gbs * share * tuning.l2.efficiency))
    l2_write = min(memory_write, written / (chip.l2_write_gbs * share * tuning.l2.efficiency))
    waiting = access_ns(spec, split=chip.split)
    waiting = max(waiting / all_cores, min(waiting, _LEAST_WAIT_NS)) if waiting else 0.0
    waiting += chain_ns(spec) if chip.split else 0.0
    one_core = spec.bytes_read / (_PORT_BYTES_PER_CYCLE * chip.aic_mhz / 1000)
    if spec.read_miss is not None:
        misses = missed_shares(spec, chip, tuning)
        behind = [share * ns for share, ns in zip(misses, (memory_read, memory_write), strict=True)]
        before = [(1 - share) * ns for share, ns in zip(misses, (l2_read, l2_write), strict=True)]
        turned = tuning.memory.turnaround * min(misses[0] * read, misses[1] * written) / memory
        crossed = misses[0] * spec.bytes_read + misses[1] * spec.bytes_written
        return Transfer(
            read_ns=behind[0] + before[0] + waiting,
            write_ns=behind[1] + before[1],
            limit_ns=max(
                (sum(behind) + turned) * _MEMORY_AT_BEST if chip.split else crossed / chip.memory_gbs,
                (1 - misses[0]) * spec.bytes_read / chip.l2_read_gbs,
                (1 - misses[1]) * spec.bytes_written / chip.l2_write_gbs,
            ),
            one_core_ns=one_core,
            memory_ns=sum(behind) + turned,
            l2_read_ns=l2_read + waiting,
            l2_write_ns=l2_write,
            first_read_ns=memory_read,
        )
    cold = cold_bytes(spec)
    # Of a kernel that is cold altogether nothing is in L2; else the cold operand is read, beside what L2 serves.
    total = spec.bytes_read + spec.bytes_written
    overflow = 1.0 if cold >= total else overflow_share(spec, chip, tuning)
    from_l2 = 1 - overflow
    added = from_l2 * (memory_read - l2_read) * min(cold / spec.bytes_read, 1.0) if cold and spec.bytes_read else 0.0
    bus_memory = memory_read + memory_write + tuning.memory.turnaround * min(read, written) / memory
    return Transfer(
        read_ns=overflow * memory_read + from_l2 * l2_read + added + waiting,
        write_ns=overflow * memory_write + from_l2 * l2_write,
        limit_ns=max(
            max(overflow * total, min(cold, total)) / chip.memory_gbs,
            overflow * bus_memory * _MEMORY_AT_BEST if chip.split else 0.0,
            from_l2 * max(spec.bytes_read / chip.l2_read_gbs, spec.bytes_written / chip.l2_write_gbs),
        ),
        one_core_ns=one_core,
        memory_ns=overflow * bus_memory + added,
        l2_read_ns=l2_read + waiting,
        l2_write_ns=l2_write,
        first_read_ns=memory_read,
    )


_MEMORY_AT_BEST = 0.97
"""No factor that was fitted to kernels of another size makes memory faster than its measured rate by more than this."""
_PORT_BYTES_PER_CYCLE = 256
"""What enters L1 of a core in a cycle: the unit in which its counter of written bytes counts."""
_LEAST_WAIT_NS = 300.0
"""One access after the other does not get shorter than one."""


def _spread(work: float, cores: int, block: int) -> float:
    """Return the work counted as if the busiest core's share were everybody's."""
    return max(work, cores * min(work, block))


def missed_shares(spec: KernelSpec, chip: Chip, tuning: Tuning) -> tuple[float, float]:
    """
    Return the shares of what is read and of what is written that L2 does not serve.

    What a kernel before it wrote is found there as long as it fits. Not so what is used once in a step: the tensors
    of an optimizer, and the second operand of a product, which is a weight as a rule.
    """
    footprint, by_size = spec.bytes_read + spec.bytes_written, overflow_share(spec, chip, tuning)
    if spec.read_miss is not None:
        # What is changed in place was read before.
        in_place = family_of(spec.op_type).name == "optimizer"
        return spec.read_miss, max(by_size, spec.read_miss) if in_place else by_size
    share = max(by_size, cold_bytes(spec) / footprint) if footprint else by_size
    return share, share


def overflow_share(spec: KernelSpec, chip: Chip, tuning: Tuning) -> float:
    """Return the share of the traffic that does not fit into L2: it grows with the tensors."""
    warm, cold = l2_window(chip, tuning)
    return min(max((spec.bytes_read + spec.bytes_written - warm) / (cold - warm), 0.0), 1.0)


def l2_window(chip: Chip, tuning: Tuning) -> tuple[float, float]:
    """Return up to how many bytes L2 holds all of what was touched since, and from how many on nothing of it."""
    cold_share = tuning.l2.cold_share if chip.split else tuning.l2.cold_share_unified
    return tuning.l2.warm_share * chip.l2_bytes, cold_share * chip.l2_bytes


def presumed_cold(spec: KernelSpec) -> tuple[bool, ...]:
    """Return which inputs were not used for a long time, as far as the kernel itself suggests it."""
    family, count = family_of(spec.op_type).name, len(spec.inputs)
    if family == "matmul":
        last = PROLOG_WEIGHTS if is_prolog(spec.op_type) else 2
        return tuple(1 <= place <= last for place in range(count))
    if family == "attention":
        return tuple(place > 0 and reads_cache(spec) for place in range(count))
    return (cold_bytes(spec) > 0,) * count


def cold_bytes(spec: KernelSpec) -> int:
    """Return the bytes of tensors that were not used for a long time."""
    family = family_of(spec.op_type).name
    if family == "matmul":
        weights = spec.inputs[1 : 1 + PROLOG_WEIGHTS if is_prolog(spec.op_type) else 2]
        return min(sum(t.size_bytes for t in weights), spec.bytes_read)
    if family == "attention":
        return max(spec.bytes_read - spec.inputs[0].size_bytes, 0) if reads_cache(spec) else 0
    flat = bool(spec.inputs) and all(len(t.shape) <= 1 for t in (*spec.inputs, *spec.outputs))
    if family == "optimizer" or (flat and family in {"elementwise", "reduce"}):
        return spec.bytes_read + spec.bytes_written
    return 0


def reads_cache(spec: KernelSpec) -> bool:
    """Return whether an attention reads keys and values that earlier steps made."""
    return family_of(spec.op_type).name == "attention" and attention_pairs(spec.inputs, spec.outputs).cached


def vector_blocks(spec: KernelSpec, cores: int, tuning: Tuning) -> int:
    """
    Return the block number of a vector kernel: one per 8 KiB of traffic, 1 for scalars, at most all cores.

    What works on whole rows has at most a block for each row (32 rows of a LogSoftmaxGrad on 48 cores ran as 32).
    """
    cores = min(cores, dealt_rows(spec) or cores)
    by_bytes = math.ceil((spec.bytes_read + spec.bytes_written) / tuning.vector.block_bytes)
    by_ops = math.ceil(max(spec.vector_ops + spec.cube_flops, vector_work(spec).ops) / tuning.vector.block_ops)
    blocks = max(by_bytes, by_ops, 1)
    # Results with operands that are repeated inside are cut among all cores, or not at all; a Range always is.
    everywhere = spec.op_type.startswith("Range") or (blocks > 1 and repeated_operands(spec))
    return cores if everywhere else min(blocks, cores)


def cube_dtype(spec: KernelSpec) -> str:
    """Return the operand type of the cube: the first input that a cube can multiply, ``FLOAT16`` if unknown."""
    return next((t.dtype for t in spec.inputs if t.dtype in _CUBE_OPERANDS), "FLOAT16")


def mac_rate(spec: KernelSpec, chip: Chip) -> float:
    """Return the operations per ns of one cube core with operands of the kernel's type."""
    return chip.cube_gflops(cube_dtype(spec), hf32=spec.hf32)


def mac_ns(spec: KernelSpec, chip: Chip, tuning: Tuning, blocks: int) -> float:
    """Return the time of the multiply-accumulate pipe (3.1, item 4)."""
    return spec.cube_flops / (mac_rate(spec, chip) * blocks) * tuning.cube.mac_factor


def exchanged_bytes(spec: KernelSpec, tuning: Tuning) -> float:
    """Return the bytes that pass from the cube to the vector cores inside a kernel, and back."""
    if family_of(spec.op_type).name != "attention":
        # Sums that the vector cores work on leave the cube as 32-bit numbers.
        return float(_SUM_BYTES * max((t.elements for t in spec.outputs), default=0)) if spec.vector_ops else 0.0
    gradient = "grad" in spec.op_type.lower()
    per_op = tuning.attention.gradient_exchanged_bytes if gradient else tuning.attention.exchanged_bytes
    return spec.vector_ops * per_op


_SUM_BYTES = 4


def reforming_ns(spec: KernelSpec, chip: Chip, tuning: Tuning) -> float:
    """
    Return the time in which the vector cores bring the operands of a product into blocks, before its cube part.

    MatMulV3 uses vector cores for that alone (then it is a MIX_AIC kernel): for rows that the cube's own way in cannot
    take apart, because they are longer than its stride counts or do not begin at whole lines of L2. Other products of
    both kinds of cores use the vector cores on their results.
    """
    if not spec.op_type.startswith(_REFORMED_TYPES) or not spec.cube_flops:
        return 0.0
    apart = sum(t.size_bytes for t in spec.inputs[:2] if _is_taken_apart(t))
    rate = chip.memory_gbs * tuning.memory.read_efficiency
    return tuning.mixed.reforming_passes * apart / rate * overflow_share(spec, chip, tuning)


_REFORMED_TYPES = ("MatMulV3", "MatMulV2", "BatchMatMulV3", "BatchMatMulV2")
_LONGEST_STRIDE = 65535
"""Elements between rows that the instruction which brings a matrix into blocks can count: it has 16 bits for them."""
_LINE_OF_L2_BYTES = 512


def _is_taken_apart(tensor: TensorDesc) -> bool:
    if tensor.format != "ND" or len(tensor.shape) < 2:
        return False
    row = tensor.shape[-1]
    return row > _LONGEST_STRIDE or row * DTYPES[tensor.dtype].size_bytes % _LINE_OF_L2_BYTES != 0


def refetch_bytes(spec: KernelSpec, tuning: Tuning) -> float:
    """Return the bytes of both operands of every output tile."""
    tile = (tuning.cube.tile_m + tuning.cube.tile_n) / (2 * tuning.cube.tile_m * tuning.cube.tile_n)
    return spec.cube_flops * tile * DTYPES[cube_dtype(spec)].size_bytes


def vec_ns(spec: KernelSpec, chip: Chip, tuning: Tuning, *, cores: int, block_ops: int = 0) -> float:
    """Return the time of the vector pipe on *cores* vector cores."""
    work = vector_work(spec)
    lanes = vector_lanes(work.dtype, chip, tuning)
    ops = float(work.ops)
    if family_of(spec.op_type).name == "attention":
        # Scores leave the cube as FP32, whatever the operands are.
        ops, lanes = ops * tuning.attention.operations(spec.op_type), vector_lanes("FLOAT", chip, tuning)
        done = _spread(ops, cores, block_ops)
    else:
        done = _spread(ops + work.conversions, cores, block_ops)
    return done / (lanes * chip.aiv_mhz / 1000 * cores * tuning.vector.efficiency)


def vector_work(spec: KernelSpec) -> VectorWork:
    """
    Return what the vector units have to do.

    A task without a cube computes its products there as well. BF16 is converted to 32 bit and back, one
    operation per element moved.
    """
    ops = spec.vector_ops + (0 if spec.task_type in {TaskType.AI_CORE, TaskType.MIX_AIC} else spec.cube_flops)
    if not spec.cube_flops and spec.vector_ops:
        # What a rule counts are the operations of the algorithm; a kernel of some families does more around them.
        family = family_of(spec.op_type)
        if family.name not in {"gather", "scatter"}:
            ops = max(ops, round(operations_per_element(spec) * _worked_elements(spec)))
    dtype = _vector_dtype(spec)
    if dtype != "DT_BF16":
        return VectorWork(ops, 0, dtype)
    return VectorWork(ops, (spec.bytes_read + spec.bytes_written) // 2 if ops else 0, "FLOAT")


def _worked_elements(spec: KernelSpec) -> float:
    """Return the elements of the largest tensor, but no more than are read or written: of a cache some rows alone."""
    largest = max((t.elements for t in (*spec.inputs, *spec.outputs)), default=0)
    read, written = (
        min((DTYPES[t.dtype].size_bytes for t in part if t.elements), default=1) for part in (spec.inputs, spec.outputs)
    )
    return min(largest, max(spec.bytes_read / read, spec.bytes_written / written))


def vector_lanes(dtype: str, chip: Chip, tuning: Tuning) -> float:
    """Return the elements of *dtype* that one vector core computes per cycle."""
    size = DTYPES[dtype].size_bytes
    if size > DTYPES["FLOAT"].size_bytes:
        return chip.vector_lanes_16bit * tuning.vector.wide_lanes_share
    return chip.vector_lanes_16bit * (0.5 if size == DTYPES["FLOAT"].size_bytes else 1.0)


def _vector_dtype(spec: KernelSpec) -> str:
    tensors = (*spec.inputs, *spec.outputs)
    floating = next((t.dtype for t in tensors if t.dtype in _FLOATING), None)
    return floating or next((t.dtype for t in tensors), "FLOAT")


def pipe_ns(busy_ns: float, engine: float, tuning: Tuning) -> float:
    """Return a pipe's busy time with its latency, within the engine time; an idle pipe has 0."""
    return min(busy_ns + tuning.pipes.latency_ns, engine) if busy_ns > 0 else 0.0


def engine_ns(
    fixed: Fixed,
    blocks: int,
    pipes: tuple[float, ...],
    tuning: Tuning,
    factors: Factors = PHYSICS,
    limit_ns: float = 0.0,
) -> float:
    """
    Return the engine time: the start, the slowest pipe and what the others cannot hide.

    The calibrated *factors* scale the start and the work; work never takes less than *limit_ns*, the chip's rates.
    """
    slowest = max(pipes)
    start = fixed.start_ns + fixed.start_per_block_ns * blocks + tuning.pipes.latency_ns
    work = slowest + tuning.pipes.unhidden_share * (sum(pipes) - slowest)
    return start * factors.fixed + max(work * factors.work, limit_ns)


def duration_ns(fixed: Fixed, blocks: int, engine: float, factors: Factors = PHYSICS) -> float:
    """Return the time from task start to task end around *engine*."""
    around = fixed.overhead_ns + fixed.overhead_per_block_ns * blocks
    return factors.fixed * around + (1 + fixed.overhead_share) * engine


def scalar_ns(fixed: Fixed, engine: float) -> float:
    """Return the busy time of the scalar pipe."""
    return min(fixed.scalar_ns + fixed.scalar_share * engine, engine)


def icache_miss_rate(fixed: Fixed, engine: float, tuning: Tuning) -> float:
    """Return misses per request: cold code in short kernels, none in long ones."""
    return fixed.icache_cold / (1 + engine / tuning.counters.icache_warm_ns)
