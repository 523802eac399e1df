"""
The constants of the cost model that are not the chip's own figures, by the part of the chip that they are about.

They are efficiencies and fixed costs (ns, bytes, shares), read off device_and_cost_model.md 3; not calibrated. The
defaults are part of the model.
"""

from __future__ import annotations

from attrs import evolve, field, frozen

from drynpu.kernels._account import Conflicts
from drynpu.kernels._calibration import Calibration, Factors, usual_calibration
from drynpu.kernels._types import DTYPES, KernelSpec
from drynpu.platforms import Chip

_WORD = 4
"""Bytes of the widest numbers that the vector unit computes with."""


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
    static_saves_ns: float
    """What a kernel that was compiled for its shapes need not do at its start."""

    wide_ns: float = 0.0
    """What is added for numbers of 64 bits in a kernel that was compiled for any shape."""

    def for_kernel(self, spec: KernelSpec) -> Fixed:
        """Return the fixed costs of a kernel, which depend on its state (static or dynamic) and data type."""
        if spec.static:
            return evolve(self, start_ns=self.start_ns - self.static_saves_ns)
        wide = any(DTYPES[t.dtype].size_bytes > _WORD for t in spec.outputs[:1])
        return evolve(self, start_ns=self.start_ns + self.wide_ns) if wide else self


_VECTOR = Fixed(
    start_ns=450.0,  # the shortest kernel lasts 1.24 us (3.6)
    start_per_block_ns=70.0,
    overhead_ns=500.0,  # duration - aiv_time is 0.5 / 1.9 / 5.4 us (3.1, item 5)
    overhead_per_block_ns=50.0,  # 0.13 us a block in all: 7.3 us on 48 cores for what takes 1.1 on one
    overhead_share=0.01,
    scalar_ns=300.0,  # aiv_scalar_ratio is high in short kernels and vanishes in long ones (3.2)
    scalar_share=0.02,
    icache_cold=0.2,
    static_saves_ns=300.0,  # small kernels take 1.1 us in a static graph, 1.4 to 2 called alone
    wide_ns=400.0,  # a scalar added in INT64 takes 2.8 to 3.6 us, in FLOAT 1.9; a fill 2.1 and 1.4
)
_CUBE = Fixed(
    start_ns=1500.0,
    start_per_block_ns=50.0,
    overhead_ns=500.0,  # 2.0 to 2.4 us on 22 to 24 cores, and a product of 32 x 32 x 32 takes 2.6 us in all
    overhead_per_block_ns=75.0,
    overhead_share=0.03,
    scalar_ns=500.0,
    scalar_share=0.36,  # median aic_scalar_ratio .39 (3.2)
    icache_cold=0.03,
    static_saves_ns=600.0,
)


# No measurement: small shares of the busy vector cycles lost to conflicts, as library kernels are laid out.
_CONFLICTS = Conflicts(bankgroup=0.002, bank=0.01, resource=0.02)


# First generation: static kernels of TensorFlow and MindSpore, besides a few of PyTorch.
_UNIFIED_VECTOR = evolve(_VECTOR, start_ns=550.0, start_per_block_ns=50.0, overhead_per_block_ns=30.0)
_UNIFIED_CUBE = evolve(_CUBE, overhead_ns=2000.0, overhead_per_block_ns=0.0)  # 2 us + 3 to 5 % (5)


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
    unified_fixed: Fixed = _UNIFIED_VECTOR
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
    unified_fixed: Fixed = _UNIFIED_CUBE
    mac_factor: float = 1.05
    """3.1, item 4."""
    tile_m: int = 128
    tile_n: int = 256
    """Output tile of a cube block, which sets how often operands are read again from L2."""
    refetch_efficiency: float = 0.9
    refetch_efficiency_lost: float = 0.2
    """
    The part that is lost where results pass through L2 and push the operands out: 4096 x 151936 results of 1024
    products each reach 172 TFLOPS on 910B4, 4096 x 1024 results of 6144 products 187.
    """
    first_read_share: float = 0.8
    """
    The part of reading the operands from memory, once, that does not hide behind the products: 512 x 2560 x 9728 reach
    208 TFLOPS on 910B2 with 50 MB of weights, products of 8192 cubed 301.
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

    vector_ops: float = 2.2
    gradient_vector_ops: float = 2.0
    """What the vector cores do in FP32 (4 stated operations per pair forward, 8 backward), with conversions and
    rescaling: 3.2 ps per pair on 910B2, with a mask or without, at any width of a head; 27 passes per pair of the
    measured gradient at the vector efficiency."""
    cube_efficiency: float = 0.75
    """The cube waits for probabilities, and its operands are blocks of 128 rows."""
    usual_start_ns: float = 12_000.0
    prompt_start_ns: float = 34_000.0
    """PromptFlashAttention takes 44 us and then 3.3 ps for each pair of 16 heads of 384 to 5632 queries."""
    decode_start_ns: float = 8_000.0
    """IncreFlashAttention takes 10 us besides 9 us for each 1024 keys of two heads that a core reads."""
    exchanged_bytes: float = 1.5
    gradient_exchanged_bytes: float = 4.0
    """Scores and probabilities that pass between cube and vector cores: 4 bytes out of the cube as FP32 and 2 back in
    16 bit; the gradient has them twice, and sums of dQ, dK and dV in FP32."""

    def start_ns(self, op_type: str) -> float:
        """Return the engine time of an attention before its first block."""
        name = op_type.lower()
        if "prompt" in name:
            return self.prompt_start_ns
        return self.decode_start_ns if "incre" in name or "paged" in name else self.usual_start_ns

    def operations(self, op_type: str) -> float:
        """Return how many operations of the vector cores a stated one stands for."""
        return self.gradient_vector_ops if "grad" in op_type.lower() else self.vector_ops


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
