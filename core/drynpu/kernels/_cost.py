"""
What a kernel costs on a chip: a roofline on the chip's public figures (device_and_cost_model.md 3 and 5).

The slowest of the pipes bounds the engine, a small part of the others does not hide behind it, and the duration
adds a fixed launch overhead. All counters are read off the same account, so their identities hold by construction.
"""

from __future__ import annotations

import math

from attrs import evolve

from drynpu.kernels import _pipes as pipes
from drynpu.kernels._access import dealt_rows
from drynpu.kernels._account import CubeTimes, KernelCost, VectorTimes
from drynpu.kernels._attention_blocks import (
    SOFTMAX_GRADIENT_OPS,
    SOFTMAX_OPS,
    attention_blocks,
    is_gradient,
)
from drynpu.kernels._attention_shapes import attention_pairs
from drynpu.kernels._calibration import Factors
from drynpu.kernels._families import family_of
from drynpu.kernels._products import Cut, cuts, edges_of
from drynpu.kernels._traffic import traffic
from drynpu.kernels._tuning import Fixed, Tuning
from drynpu.kernels._types import DTYPES, Copy, KernelSpec, TaskType
from drynpu.platforms import Chip

MODEL_VERSION = "tiles-6"
"""Names the model in what a run writes; changes whenever the times of the same kernels change."""


def task_type_on(task_type: TaskType, chip: Chip) -> TaskType:
    """Return the task type that *chip* reports: unified chips run vector, cube and mixed kernels on ``AI_CORE``."""
    engines = {TaskType.AI_VECTOR_CORE, TaskType.MIX_AIC, TaskType.MIX_AIV}
    return TaskType.AI_CORE if task_type in engines and not chip.split else task_type


def cost(spec: KernelSpec, chip: Chip, tuning: Tuning | None = None) -> KernelCost:
    """
    Return the physical account of *spec* on *chip*.

    Split chips: ``AI_CORE`` fills ``cube`` (mte2 in, fixpipe out; element operations ride on fixpipe),
    ``AI_VECTOR_CORE`` and ``MIX_AIV`` fill ``vector``, ``MIX_AIC`` both, with two vector blocks per cube block.

    Unified chips have one engine, whose time both have; mac, scalar, mte1 and mte2 are in ``cube``, vec and mte3 in
    ``vector``, and the remaining times are 0.

    ``AI_CPU``, ``DSA`` and copies have no engine; block number 1, 0 and 0.

    A kernel of which it is not known what it works on costs nothing: all fields are 0.

    What the engines do and move in that time is :func:`drynpu.kernels._traffic.traffic`.
    """
    tuning = tuning or Tuning()
    timed = _timed(spec, chip, tuning)
    return evolve(timed, work=traffic(spec, chip, tuning, timed))


def _timed(spec: KernelSpec, chip: Chip, tuning: Tuning) -> KernelCost:
    if not spec.known:
        return KernelCost(duration_ns=0.0, block_num=0, mix_block_num=0)
    if spec.task_type is TaskType.MEMCPY:
        return _copy(spec, chip, tuning)
    if spec.task_type is TaskType.DSA:
        moved = (spec.bytes_read + spec.bytes_written) / tuning.dsa.bytes_per_ns
        return KernelCost(duration_ns=tuning.dsa.start_ns + moved, block_num=0, mix_block_num=0)
    if spec.task_type is TaskType.AI_CPU:
        moved = (spec.bytes_read + spec.bytes_written) / tuning.aicpu.bytes_per_ns
        worked = (spec.vector_ops + spec.cube_flops) / tuning.aicpu.ops_per_ns
        return KernelCost(duration_ns=tuning.aicpu.start_ns + moved + worked, block_num=1, mix_block_num=0)
    if not chip.split:
        return _unified(spec, chip, tuning)
    if spec.task_type is TaskType.AI_CORE:
        return _cube(spec, chip, tuning)
    if spec.task_type is TaskType.MIX_AIC:
        return _mixed(spec, chip, tuning)
    return _vector(spec, chip, tuning)


def _copy(spec: KernelSpec, chip: Chip, tuning: Tuning) -> KernelCost:
    if spec.copy is Copy.DEVICE_TO_DEVICE:
        moved = (spec.bytes_read + spec.bytes_written) / (chip.memory_gbs * tuning.copies.link_efficiency)
    else:
        moved = max(spec.bytes_read, spec.bytes_written) / (chip.pcie_gbs * tuning.copies.link_efficiency)
    return KernelCost(duration_ns=tuning.copies.latency_ns + moved, block_num=0, mix_block_num=0)


def _cube_pipes(cut: Cut, moved: pipes.Transfer, tuning: Tuning) -> tuple[float, float, float, float]:
    """Return the busy times of mac with what it waits for, mte1, mte2 with what shares its way, and fixpipe."""
    waits = tuning.cube.first_read_share * min(cut.mac_ns, moved.first_read_ns)
    mte2 = max(moved.core_ns, cut.load_ns, cut.draw_ns)
    return cut.mac_ns + waits, tuning.cube.mte1_per_mac * cut.mac_ns, mte2, max(moved.write_ns, cut.store_ns)


def _cube_engine_ns(cut: Cut, moved: pipes.Transfer, tuning: Tuning, factors: Factors, fixed: Fixed) -> float:
    rates = max(moved.limit_ns, moved.memory_ns, moved.one_core_ns / cut.blocks)
    limit = max(cut.mac_ns / tuning.cube.mac_factor, rates)
    return pipes.engine_ns(fixed, cut.blocks, _cube_pipes(cut, moved, tuning), tuning, factors, limit)


def _cube_side(
    spec: KernelSpec, chip: Chip, tuning: Tuning, cut: Cut, moved: pipes.Transfer, at_least_ns: float = 0.0
) -> CubeTimes[float]:
    fixed = tuning.cube.fixed.for_kernel(spec)
    engine = max(_cube_engine_ns(cut, moved, tuning, tuning.factors(spec, chip), fixed), at_least_ns)
    # Tiles of a tail leave cores idle, which wait: the pipe of a core is busy with its share of all products.
    mac = min(cut.mac_ns, pipes.mac_ns(spec, chip, tuning, cut.blocks))
    return CubeTimes(
        time_ns=engine,
        mac_ns=pipes.pipe_ns(mac, engine, tuning),
        scalar_ns=pipes.scalar_ns(fixed, engine),
        mte1_ns=pipes.pipe_ns(tuning.cube.mte1_per_mac * mac, engine, tuning),
        mte2_ns=pipes.pipe_ns(max(moved.read_ns, cut.load_ns, cut.draw_ns), engine, tuning),
        fixpipe_ns=pipes.pipe_ns(max(moved.write_ns, cut.store_ns), engine, tuning),
        icache_miss_rate=pipes.icache_miss_rate(fixed, engine, tuning),
    )


def _cut_all(spec: KernelSpec, chip: Chip, tuning: Tuning) -> list[Cut]:
    size = DTYPES[pipes.cube_dtype(spec)].size_bytes
    return list(cuts(edges_of(spec, split=chip.split), spec, chip, tuning, pipes.mac_rate(spec, chip), size))


def _vector_side(
    blocks: int,
    vec: float,
    moved: pipes.Transfer,
    tuning: Tuning,
    factors: Factors,
    fixed: Fixed,
    at_least_ns: float = 0.0,
) -> VectorTimes[float]:
    # What a core does with the bytes takes as long wherever they come from; memory goes on meanwhile.
    limit = max(vec * tuning.vector.efficiency, moved.limit_ns, moved.memory_ns)
    engine = pipes.engine_ns(fixed, blocks, (vec, moved.core_ns), tuning, factors, limit)
    engine = max(engine, at_least_ns)
    return VectorTimes(
        time_ns=engine,
        vec_ns=pipes.pipe_ns(vec, engine, tuning),
        scalar_ns=pipes.scalar_ns(fixed, engine),
        mte2_ns=pipes.pipe_ns(moved.read_ns, engine, tuning),
        mte3_ns=pipes.pipe_ns(moved.write_ns, engine, tuning),
        icache_miss_rate=pipes.icache_miss_rate(fixed, engine, tuning),
    )


def _cube(spec: KernelSpec, chip: Chip, tuning: Tuning) -> KernelCost:
    cores, factors, fixed = chip.cube_cores, tuning.factors(spec, chip), tuning.cube.fixed.for_kernel(spec)
    moved = pipes.transfer(spec, chip, tuning, cores=cores, all_cores=cores)

    def duration(way: Cut) -> float:
        return pipes.duration_ns(fixed, way.blocks, _cube_engine_ns(way, moved, tuning, factors, fixed), factors)

    # Of equally fast ways the first has the largest tiles.
    cut = min(_cut_all(spec, chip, tuning), key=duration)
    times = _cube_side(spec, chip, tuning, cut, moved)
    return KernelCost(duration_ns=duration(cut), block_num=cut.blocks, mix_block_num=0, cube=times)


def _vector(spec: KernelSpec, chip: Chip, tuning: Tuning) -> KernelCost:
    every, factors, fixed = chip.vector_cores, tuning.factors(spec, chip), tuning.vector.fixed.for_kernel(spec)
    cores, blocks = min(every, dealt_rows(spec) or every), pipes.vector_blocks(spec, every, tuning)
    vec = pipes.vec_ns(spec, chip, tuning, cores=cores, block_ops=tuning.vector.block_ops)
    moved = pipes.transfer(spec, chip, tuning, cores=cores, all_cores=every, block_bytes=tuning.vector.block_bytes)
    times = _vector_side(blocks, vec, moved, tuning, factors, fixed)
    duration = pipes.duration_ns(fixed, blocks, times.time_ns, factors)
    return KernelCost(duration_ns=duration, block_num=blocks, mix_block_num=0, vector=times)


def _mixed(spec: KernelSpec, chip: Chip, tuning: Tuning) -> KernelCost:
    """Cube and vector cores side by side: the cube's results pass through L2 to the vector cores and out again."""
    factors, cores = tuning.factors(spec, chip), min(chip.cube_cores, chip.vector_cores // 2)
    moved = pipes.transfer(spec, chip, tuning, cores=cores, all_cores=chip.cube_cores)
    fixed = _fixed_of_mixed(spec, tuning)
    exchanged = max(spec.bytes_written, pipes.exchanged_bytes(spec, tuning))
    reformed = pipes.reforming_ns(spec, chip, tuning)
    vec = pipes.vec_ns(spec, chip, tuning, cores=2 * cores) * 2 * cores

    def vector(way: Cut) -> VectorTimes[float]:
        rate = tuning.l2.efficiency * 2 / chip.vector_cores
        out, back = (exchanged * way.share / (l2 * rate) for l2 in (chip.l2_write_gbs, chip.l2_read_gbs))
        through = pipes.Transfer(read_ns=back, write_ns=out, l2_read_ns=max(out, back) + reformed)
        waits = _cube_engine_ns(way, moved, tuning, factors, tuning.cube.fixed.for_kernel(spec)) + reformed
        return _vector_side(2 * way.blocks, vec * way.share / 2, through, tuning, factors, fixed, at_least_ns=waits)

    def duration(way: Cut) -> float:
        return pipes.duration_ns(fixed, 2 * way.blocks, vector(way).time_ns, factors)

    cut = min(_mixed_cuts(spec, chip, tuning, cores), key=duration)
    times = vector(cut)
    return KernelCost(
        duration_ns=duration(cut),
        block_num=cut.blocks,
        mix_block_num=2 * cut.blocks,
        cube=_cube_side(spec, chip, tuning, cut, moved, at_least_ns=tuning.mixed.cube_share * times.time_ns),
        vector=times,
    )


def _mixed_cuts(spec: KernelSpec, chip: Chip, tuning: Tuning, cores: int) -> list[Cut]:
    """
    Return the ways of cutting a kernel of cube and vector cores.

    Tiles of a product are dealt out as without vector cores, an attention by :func:`attention_blocks`. Of a kernel
    without a result nobody knows the rows: it has all cores, because rows that were made of its operations would let
    more of them take less time.
    """
    family = family_of(spec.op_type).name
    if family == "attention" and (cut := _attention_cut(spec, chip, tuning, cores)):
        return [cut]
    ways = _cut_all(spec, chip, tuning)
    if family == "matmul" and any(tensor.elements for tensor in spec.outputs):
        return ways
    return [evolve(way, blocks=cores, share=1 / cores) for way in ways]


def _attention_cut(spec: KernelSpec, chip: Chip, tuning: Tuning, cores: int) -> Cut | None:
    """Return how an attention is dealt out; None where its shapes do not say what it works on."""
    pairs, gradient = attention_pairs(spec.inputs, spec.outputs), is_gradient(spec.op_type)
    if not pairs.computed or not spec.vector_ops:
        return None
    computed = spec.vector_ops / (SOFTMAX_GRADIENT_OPS if gradient else SOFTMAX_OPS)
    if pairs.paged:
        # Who launched the kernel may know how long the sequences are; its table does not tell.
        known = computed / pairs.computed
        pairs = evolve(pairs, keys=pairs.keys * known, key_bytes=math.ceil(pairs.key_bytes * known))
    blocks = attention_blocks(pairs, computed, cores, gradient=gradient)
    key_bytes = pairs.key_bytes or max(spec.bytes_read - spec.inputs[0].size_bytes, 0)
    per_core = tuning.memory.core_bytes_per_cycle * chip.aic_mhz / 1000
    return Cut(
        blocks=blocks.cores,
        mac_ns=pipes.mac_ns(spec, chip, tuning, 1) / tuning.attention.cube_efficiency * blocks.share,
        load_ns=0.0,
        store_ns=0.0,
        draw_ns=key_bytes * blocks.key_share / per_core,
        share=blocks.share,
    )


def _fixed_of_mixed(spec: KernelSpec, tuning: Tuning) -> Fixed:
    """Return the fixed costs of a kernel of both kinds of cores: an attention prepares longer than others."""
    if family_of(spec.op_type).name != "attention":
        return tuning.vector.fixed.for_kernel(spec)
    return evolve(tuning.vector.fixed.for_kernel(spec), start_ns=tuning.attention.start_ns(spec.op_type))


def _unified(spec: KernelSpec, chip: Chip, tuning: Tuning) -> KernelCost:
    """One engine with all pipes; a kernel without products is laid out by the vector rule."""
    cores = chip.cube_cores
    if spec.cube_flops and spec.task_type in {TaskType.AI_CORE, TaskType.MIX_AIC}:
        vec = pipes.vec_ns(spec, chip, tuning, cores=cores)
        moved = pipes.transfer(spec, chip, tuning, cores=cores, all_cores=cores)
        factors = tuning.factors(spec, chip)

        def busy(way: Cut) -> tuple[float, float, float]:
            return way.mac_ns, vec * cores / way.blocks, max(way.load_ns, way.draw_ns)

        def engine(way: Cut) -> float:
            return _unified_engine_ns(tuning.cube.unified_fixed, way.blocks, busy(way), moved, tuning, factors)

        # The vector work of an attention follows its queries or its cache: tiles of few queries would leave most of it
        # to one core.
        mixed = family_of(spec.op_type).name == "attention"
        cut = min(_mixed_cuts(spec, chip, tuning, cores) if mixed else _cut_all(spec, chip, tuning), key=engine)
        return _unified_account(spec, chip, tuning.cube.unified_fixed, cut.blocks, busy(cut), moved, tuning)
    used, blocks = min(cores, dealt_rows(spec) or cores), pipes.vector_blocks(spec, cores, tuning)
    vec = pipes.vec_ns(spec, chip, tuning, cores=used, block_ops=tuning.vector.block_ops)
    moved = pipes.transfer(spec, chip, tuning, cores=used, all_cores=cores, block_bytes=tuning.vector.block_bytes)
    return _unified_account(spec, chip, tuning.vector.unified_fixed, blocks, (0.0, vec, 0.0), moved, tuning)


def _unified_engine_ns(
    fixed: Fixed,
    blocks: int,
    work: tuple[float, float, float],
    moved: pipes.Transfer,
    tuning: Tuning,
    factors: Factors,
) -> float:
    mac, vec, drawn = work
    rates = max(moved.limit_ns, moved.memory_ns, moved.one_core_ns / blocks)
    busy = (mac, vec, tuning.cube.mte1_per_mac * mac, max(drawn, moved.core_ns), moved.l2_write_ns)
    limit = max(mac / tuning.cube.mac_factor, vec * tuning.vector.efficiency, rates)
    return pipes.engine_ns(fixed, blocks, busy, tuning, factors, limit)


def _unified_account(
    spec: KernelSpec,
    chip: Chip,
    fixed: Fixed,
    blocks: int,
    work: tuple[float, float, float],
    moved: pipes.Transfer,
    tuning: Tuning,
) -> KernelCost:
    mac, vec, drawn = work
    mte1 = tuning.cube.mte1_per_mac * mac
    factors = tuning.factors(spec, chip)
    engine = _unified_engine_ns(fixed, blocks, work, moved, tuning, factors)
    if mac:
        mac = min(mac, pipes.mac_ns(spec, chip, tuning, blocks))
        mte1 = tuning.cube.mte1_per_mac * mac
    return KernelCost(
        duration_ns=pipes.duration_ns(fixed, blocks, engine, factors),
        block_num=blocks,
        mix_block_num=0,
        cube=CubeTimes(
            time_ns=engine,
            mac_ns=pipes.pipe_ns(mac, engine, tuning),
            scalar_ns=pipes.scalar_ns(fixed, engine),
            mte1_ns=pipes.pipe_ns(mte1, engine, tuning),
            mte2_ns=pipes.pipe_ns(max(moved.read_ns, drawn), engine, tuning),
            icache_miss_rate=pipes.icache_miss_rate(fixed, engine, tuning),
        ),
        vector=VectorTimes(
            time_ns=engine,
            vec_ns=pipes.pipe_ns(vec, engine, tuning),
            mte3_ns=pipes.pipe_ns(moved.write_ns, engine, tuning),
        ),
    )
