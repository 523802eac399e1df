"""What the simulation knows about a chip. The numbers live in ``chips/<name>.yaml``, each with its source."""

from __future__ import annotations

from attrs import frozen

from drynpu.platforms._platform import Platform
from drynpu.platforms._platforms import find_platform


@frozen(kw_only=True)
class SlowLink:
    """A link between two ranks, in both directions, that moves its bytes ``factor`` times slower than its level."""

    ranks: tuple[int, int]
    factor: float


@frozen(kw_only=True)
class Interconnect:
    """
    How devices of one kind reach each other (device_and_cost_model.md 1.3). Rates are peaks, one way.

    Ranks are counted through packages, boards, nodes and super-nodes: rank ``r`` sits on board ``r // board_devices``.
    Between boards of a node bytes go over PCIe, between nodes of a super-node over its switches. What no level covers
    goes over the network, or over PCIe where there is none.
    """

    board_devices: int = 1
    """Devices that the chip's own links join; 1 where it has none."""
    shape: str = "none"
    """``mesh``: every pair has a link; ``switch``: all peers share the device's rate; ``ring``: two neighbours."""
    link: str = "HCCS"
    """Link type of the board as records name it: ``HCCS``, ``HCCS_SW`` (through switches), ``UB``."""
    pair_gbs: float = 0.0
    """Between two devices of a board; with ``switch`` when only they talk."""
    latency_us: float = 0.0
    package_devices: int = 1
    """Dies of a package that are devices of their own."""
    package_gbs: float = 0.0
    package_latency_us: float = 0.0
    node_devices: int = 1
    """Devices of a node; where it has no more than a board, boards are nodes."""
    super_devices: int = 1
    """Devices that switches join beyond a node; 1 where there are none."""
    super_link: str = "HCCS_SW"
    """Link type between the nodes of a super-node, as ``link``."""
    super_gbs: float = 0.0
    super_latency_us: float = 0.0
    network_gbs: float = 0.0
    """RoCE, per device."""
    network_latency_us: float = 0.0
    pcie_latency_us: float = 3.0
    """S1's figure for A5 cards, assumed for others."""
    efficiency: float = 0.7
    """Share of a link's peak that a transfer reaches."""
    start_us: float = 10.0
    """What a collective costs besides its transfers."""
    notify_us: float = 0.0
    """With ``switch``: what each further peer of a step adds, whose notification follows the one before."""
    slow_links: tuple[SlowLink, ...] = ()
    """Links that are slower than the other links of their level."""


@frozen(kw_only=True)
class Chip:
    """
    One Ascend chip as the profiler sees it (a die of an A3 package counts as a chip).

    Units are in the names: ``_mhz`` = 10^6/s, ``_gbs`` = 10^9 bytes/s one way, ``_bytes`` = bytes.
    """

    name: str
    """SoC name, e.g. ``Ascend910B2``."""
    generation: str
    """``mini``, ``unified`` (cube and vector in one core) or ``split`` (A2, A3, A5)."""
    platform_version: str
    """The text of info.json ``platform_version`` (cann_msprof.md 1.9), e.g. ``"5"``."""
    cube_cores: int
    vector_cores: int
    """On unified chips the vector units of the AI cores (plus separate vector cores where the chip has them)."""
    aic_mhz: int
    aiv_mhz: int
    hwts_mhz: float
    """Frequency of the device time stamp counter."""
    aicpu_cores: int
    ctrl_cpu_cores: int
    cube_flop_per_cycle: int
    """16-bit operands: multiply and add counted separately, per core (16*16*16*2 = 8192)."""
    cube_fp32_ratio: float
    """Rate of FP32 cube work relative to 16-bit work."""
    cube_hf32_ratio: float = 0.5
    """Rate of FP32 operands in the HF32 mode of the cube, relative to 16-bit work."""
    cube_int8_ratio: float
    """Rate of INT8 cube work relative to 16-bit work."""
    vector_lanes_16bit: int
    """Lanes of 16 bit per cycle per vector core; 32 bit has half."""
    memory_bytes: int
    memory_gbs: float
    l2_bytes: int
    l2_read_gbs: float
    l2_write_gbs: float
    hccs_gbs: float
    """One way, per device over all peers; 0 where the chip has no such link."""
    pcie_gbs: float
    interconnect: Interconnect = Interconnect()
    npu_info_name: str = ""
    """Of older descriptions, and not used: ``platform`` knows how the database calls the chip."""
    aliases: tuple[str, ...] = ()
    """Other SoC names of the same description, e.g. ``Ascend910_9391``."""
    sources: tuple[str, ...] = ()
    """Where the numbers come from; a number that is only commonly quoted says so here."""

    @property
    def split(self) -> bool:
        """Whether cube and vector cores are separate, so that counters carry ``aic_``/``aiv_``."""
        return self.generation == "split"

    @property
    def platform(self) -> Platform:
        """What its generation records."""
        return find_platform(self.platform_version, split=self.split)

    def cube_gflops(self, dtype: str, *, hf32: bool) -> float:
        """Return the 10^9 operations per second of one cube core with operands of a type, in the HF32 mode or not."""
        ratio = 1.0
        if dtype in {"FLOAT", "DOUBLE"}:
            ratio = self.cube_hf32_ratio if hf32 else self.cube_fp32_ratio
        elif dtype in {"INT8", "UINT8"}:
            ratio = self.cube_int8_ratio
        return self.cube_flop_per_cycle * ratio * self.aic_mhz / 1000

    @property
    def tick_ns(self) -> float:
        """Length of one device tick in nanoseconds (20 at 50 MHz)."""
        return 1000.0 / self.hwts_mhz

    @property
    def hwts_hz(self) -> int:
        """Frequency of the device time stamp counter in whole Hz, as ``ClockAnchors`` takes it."""
        return round(self.hwts_mhz * 1_000_000)
