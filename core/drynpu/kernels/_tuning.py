"""
The constants of the cost model that are not the chip's own figures, by the part of the chip that they are about.

They are efficiencies and fixed costs (ns, bytes, shares), read off device_and_cost_model.md 3; not calibrated. The
defaults are part of the model.
"""

from __future__ import annotations

from attrs import field, frozen

from drynpu.kernels._account import Conflicts
from drynpu.kernels._calibration import Calibration, Factors, usual_calibration
from drynpu.kernels._types import KernelSpec
from drynpu.platforms import Chip


@frozen(kw_only=True)
class Fixed:
    """Costs of a kind of kernel besides its work (ns; shares of the engine time)."""

    start_ns: float
    """Engine time of an empty kernel, besides the latency of a pipe."""
    start_per_block_ns: float
    overhead_ns: float
    """Duration minus engine time."""
    overhead_per_block_ns: float
    overhead_share: float
    scalar_ns: float
    scalar_share: float
    """Busy time of the scalar pipe, the part that grows with the engine time."""
    icache_cold: float
    """Instruction cache misses per request in a kernel too short to warm up."""


_VECTOR = Fixed(
    start_ns=550.0,  # the shortest kernel lasts 1.24 us (3.6)
    start_per_block_ns=50.0,
    overhead_ns=500.0,  # duration - aiv_time is 0.5 / 1.9 / 5.4 us (3.1, item 5)
    overhead_per_block_ns=30.0,
    overhead_share=0.01,
    scalar_ns=300.0,  # aiv_scalar_ratio is high in short kernels and vanishes in long ones (3.2)
    scalar_share=0.02,
    icache_cold=0.2,
)
_CUBE = Fixed(
    start_ns=1500.0,
    start_per_block_ns=50.0,
    overhead_ns=2000.0,  # 2 us + 3-5 % (5)
    overhead_per_block_ns=0.0,
    overhead_share=0.03,
    scalar_ns=500.0,
    scalar_share=0.36,  # median aic_scalar_ratio .39 (3.2)
    icache_cold=0.03,
)


# No measurement: small shares of the busy vector cycles lost to conflicts, as library kernels are laid out.
_CONFLICTS = Conflicts(bankgroup=0.002, bank=0.01, resource=0.02)


@frozen(kw_only=True)
class MemoryTuning:
    """What kernels reach of the memory's rate."""

    read_efficiency: float = 0.92
    """Share of the memory rate that pure reading reaches."""
    write_efficiency: float = 0.99
    """A pure fill reaches 0.99 (3.4)."""
    turnaround: float = 0.4
    """Added bus time per byte that is both read and written; with it a copy reaches 0.80 of the rate (3.4)."""
    core_bytes_per_cycle: float = 32.0
    """What one core can draw from memory while others idle, of the platform file (1.1); never less than its share."""


@frozen(kw_only=True)
class CacheTuning:
    """What kernels reach of the rate of L2, and what they find there."""

    efficiency: float = 0.7
    warm_share: float = 0.75
    """A footprint up to this share of L2 is found there."""
    cold_share: float = 1.5
    """A footprint from this share of L2 on comes from memory; in between the part found falls linearly."""
    cold_share_unified: float = 3.0
    """The same on unified chips, where kernels that stream 75 MB through 32 MB reach 1.9 TB/s of a memory of 1.2."""


@frozen(kw_only=True)
class VectorTuning:
    """Vector cores."""

    fixed: Fixed = _VECTOR
    efficiency: float = 0.6
    block_bytes: int = 8192
    """Traffic per block of a vector kernel: 4096 FLOAT elements copied = 32 KiB ran as 4 blocks (3.3)."""
    block_ops: int = 16384
    wide_lanes_share: float = 1 / 32
    """Elements of 8 bytes are emulated: share of the 16-bit lanes."""


@frozen(kw_only=True)
class CubeTuning:
    """Cube cores."""

    fixed: Fixed = _CUBE
    mac_factor: float = 1.05
    """3.1, item 4."""
    tile_m: int = 128
    tile_n: int = 256
    """Output tile of a cube block, which sets how often operands are read again from L2."""
    refetch_efficiency: float = 0.9
    refetch_efficiency_lost: float = 0.2
    """
    The part that is lost where the operands do not fit into L2: measured 100 bytes per cycle and core, and 64 to 86.
    """
    mte1_per_mac: float = 0.83
    """Medians .64 / .77 (3.2)."""
    fixpipe_bytes_per_cycle: float = 48.0
    memory_bytes_per_cycle: float = 64.0
    """What one cube core can draw from memory while others idle: 16 of 24 cores reach 1.56 TB/s in a product of 32
    rows."""


@frozen(kw_only=True)
class AttentionTuning:
    """Work of the vector cores in an attention, per stated operation of a softmax."""

    vector_ops: float = 1.5
    gradient_vector_ops: float = 2.0
    """What the vector cores do (4 stated operations per pair forward, 8 backward), with conversions and rescaling: 27
    passes per pair of the measured gradient at the vector efficiency."""
    exchanged_bytes: float = 1.5
    gradient_exchanged_bytes: float = 4.0
    """Scores and probabilities that pass between cube and vector cores: 4 bytes out of the cube as FP32 and 2 back in
    16 bit; the gradient has them twice, and sums of dQ, dK and dV in FP32."""


@frozen(kw_only=True)
class MixedTuning:
    """Kernels on both kinds of cores."""

    reforming_passes: float = 2.7
    """How often the vector cores move an operand that they bring into blocks, at the memory's rate: a TransData kernel
    of the same matrix takes that long (4096 x 151936 BF16: 4157 us at 0.8 TB/s)."""
    cube_share: float = 0.87
    """A cube engine that waits for its vector side ends at this share of it (1962 of 2238 us, 3.1 item 5)."""


@frozen(kw_only=True)
class PipeTuning:
    """The pipes of a core beside each other."""

    unhidden_share: float = 0.05
    """Part of the faster pipes that does not hide behind the slowest."""
    latency_ns: float = 150.0
    """Busy time of a pipe that moves anything at all."""


@frozen(kw_only=True)
class CounterTuning:
    """What only counters show: it changes no time."""

    ub_reads_per_op: int = 2
    """An element operation reads two operands from UB and writes one result there; assumed for all of them."""
    scalar_ub_reads_per_cycle: float = 1 / 64
    scalar_ub_writes_per_cycle: float = 1 / 128
    """No measurement: the scalar unit works on registers and touches UB rarely, 16 bytes at a time."""
    conflicts: Conflicts[float] = _CONFLICTS
    icache_warm_ns: float = 10_000.0
    """Instruction cache misses are a matter of kernels of a few us (3.2): rate = cold / (1 + engine / this)."""


@frozen(kw_only=True)
class AicpuTuning:
    """AI CPU. No measurement: tens of us, then a scalar processor's pace."""

    start_ns: float = 30_000.0
    bytes_per_ns: float = 2.0
    ops_per_ns: float = 1.0


@frozen(kw_only=True)
class DsaTuning:
    """The generator of random masks. Two measured masks: 16384 B in 2.12 us, 36864 B in 3.38 us."""

    start_ns: float = 1_100.0
    bytes_per_ns: float = 16.25


@frozen(kw_only=True)
class CopyTuning:
    """Copies by the DMA engines (1.3)."""

    latency_ns: float = 2_200.0
    """First-generation remote copies."""
    link_efficiency: float = 0.7


@frozen(kw_only=True)
class Tuning:
    """The constants of the cost model, by what they are about; ``cost`` takes another instance to calibrate."""

    memory: MemoryTuning = MemoryTuning()
    l2: CacheTuning = CacheTuning()
    vector: VectorTuning = VectorTuning()
    cube: CubeTuning = CubeTuning()
    attention: AttentionTuning = AttentionTuning()
    mixed: MixedTuning = MixedTuning()
    pipes: PipeTuning = PipeTuning()
    counters: CounterTuning = CounterTuning()
    aicpu: AicpuTuning = AicpuTuning()
    dsa: DsaTuning = DsaTuning()
    copies: CopyTuning = CopyTuning()
    calibration: Calibration = field(factory=usual_calibration)
    """Factors on the physics of kernels."""
    uniform: Factors | None = None
    """Factors of all kernels, instead of the calibration's factors."""

    def factors(self, spec: KernelSpec, chip: Chip) -> Factors:
        """Return the factors on the physics of a kernel."""
        if self.uniform is not None:
            return self.uniform
        return self.calibration.factors(spec.op_type, chip.generation, chip.name)
