"""What code asks of a platform: a generation of chips that leave the same records. The facts are in platforms.yaml."""

from __future__ import annotations

from collections.abc import Mapping

from attrs import field, frozen

from drynpu.platforms._counters import CounterGroup, CounterSet, counter_set


@frozen(kw_only=True)
class CacheEvents:
    """
    Events of the L2 cache that a platform counts per task, in the order of the record (Ascend/msprof l2_cache_config).

    ``requests`` and ``hits`` are (read, write) where they are counted apart. ``misses`` is empty where hits are
    counted; else a hit is a request that is neither a miss nor a victim.
    """

    events: tuple[int, ...]
    requests: tuple[int, ...]
    hits: tuple[int, ...] = ()
    misses: tuple[int, ...] = ()
    victims: tuple[int, ...]

    @property
    def text(self) -> str:
        """As sample.json names them."""
        return ",".join(f"{event:#04x}" for event in self.events)


@frozen(kw_only=True)
class PlatformOptions:
    """Which profiling options the collector takes there, and what they mean."""

    known: bool = True
    """Whether it is known which options the collector takes."""
    level_l3: bool = False
    """Whether ``task_time`` takes ``l3``."""
    instruction_interval: bool = False
    """Whether an interval asks for instruction profiling, which elsewhere a switch does."""
    llc_modes: tuple[str, ...] = ("read", "write")
    """What the last level cache can count; the first is the default."""
    samples_nic_alone: bool = False
    """Whether ``sys_io_sampling_freq`` samples the NIC only, and only in root complex mode."""
    filters_op_types: bool = False
    """Whether the public collector filters by operator type."""
    default_metric_group: str = "PipeUtilization"
    """Group that acl.json and the msprof command collect when none is named."""


@frozen(kw_only=True)
class PlatformTasks:
    """The scheduler of tasks, and its records."""

    stars: bool = True
    """Whether tasks are scheduled by STARS: op_summary has ``Context ID`` and ``Mix Block Num``."""
    record: str = "stars_soc"
    """Record that says when tasks ran."""
    step_record: str = "ts_track_step"
    """Record of the step trace."""
    unique_ids: bool = True
    """Whether task ids are unique in a run; else a run with iterations is exported graph by graph."""
    wide_ids: bool = False
    """Whether task ids have 32 bits and are unique on the device, so that the launch alone knows the stream."""
    mixed_sub_tasks: bool = False
    """Whether a kernel on both kinds of core is a sub-task: its times and counters belong to context 0."""
    ai_cpu_in_ts_track: bool = False
    """Whether the task scheduler instead of `record` says when tasks of the AI CPU ran."""


@frozen(kw_only=True)
class PlatformCounters:
    """The counters of the cores, and their records."""

    name: str
    """Name of the counter groups in counters.yaml."""
    modelled: bool = True
    """Whether the simulation knows what the counters count."""
    slots: int = 8
    """Counters that one record holds."""
    record: str = "ffts_profile"
    """Record with the counters of a task."""
    sample_records: tuple[str, ...] = ("ai_core_sample", "ai_vector_core_sample")
    """Records with samples of single cores: one for both kinds of core, or cube and vector cores apart."""
    first_vector_core: int | None = None
    """Number of the first vector core where one record has both kinds: all below are cube cores."""


@frozen(kw_only=True)
class PlatformMemory:
    """Caches, memory, and the records with their counters."""

    ddr_bytes: int = 16
    """Bytes that one DDR count stands for: the width of the bus."""
    last_level_caches: int = 4
    """Last level caches, among which addresses alternate."""
    l2_events: CacheEvents | None = None
    """What the L2 cache counts per task; ``None``: nothing that is known."""
    l2_read_us: tuple[float, ...] = ()
    """
    How long the stream of a kernel rests until the L2 counters of it are read: quantiles from the shortest to the
    longest at equal distances. None where nothing was measured.
    """
    soc_pmu_record: str = "soc_pmu"
    """Record with the counters outside the cores."""
    translation_counters: bool = False
    """Whether it is known which of those counters are address translations."""
    qos_record: str = "qos"
    """Record with the bandwidth of memory partitions."""


@frozen(kw_only=True)
class PlatformLinks:
    """Dies, and links to other dies and chips."""

    dies: bool = False
    """Whether records of links and of memory partitions say which die they are of."""
    sio_dies: Mapping[int, str] = field(factory=lambda: {0: "die 0", 1: "die 1"}, hash=False)
    """Names of the dies at the inter-die link, by the number in its records."""
    chip_trans_record: str = "chip_trans"
    """Record with the traffic to other chips."""


@frozen(kw_only=True)
class PlatformFiles:
    """What the files of the toolkit show."""

    native_writer: bool = False
    """Whether the toolkit's native writer makes the files, whose numbers look different."""
    blank_columns: frozenset[str] = frozenset()
    """Counter columns that are ``N/A``."""
    l2_hit_rate: bool = True
    """Whether l2_cache.csv shows the hit rate."""
    frequency_layer: bool = False
    """Whether the timeline shows changes of the cores' clock. Series of the 950 belong to dies, which are not read."""
    module_memory: bool = True
    """Whether the toolkit reads the memory of modules, which npu_module_mem.csv shows."""
    last_pcie_sample: bool = False
    """Whether pcie.csv shows the last sample instead of the mean of all."""


@frozen(kw_only=True)
class Platform:
    """
    One generation of chips: all that the collector and the parser treat alike.

    Names of records come from ``drynpu.raw``. Defaults hold for platforms that no source describes.
    """

    version: str
    """The text of info.json ``platform_version`` (cann_msprof.md 1.9)."""
    label: str
    """Readable name for messages."""
    series: Mapping[str, tuple[str, ...]] = field(factory=dict, hash=False)
    """Series of chips (``A2`` and ``A3`` share a platform), each with the prefixes of SoC names that mean it here."""
    npu_info_name: str = "UNKNOWN"
    """``NPU_INFO.name`` of the database."""
    split: bool = False
    """Whether cube and vector cores are separate, so that counters carry ``aic_`` and ``aiv_``."""
    compiles_constants: bool = False
    """Whether the operator library has kernels with axes and sizes compiled in, whose types end in D."""
    options: PlatformOptions = PlatformOptions()
    tasks: PlatformTasks = PlatformTasks()
    counters: PlatformCounters
    memory: PlatformMemory = PlatformMemory()
    links: PlatformLinks = PlatformLinks()
    files: PlatformFiles = PlatformFiles()

    @property
    def counter_set(self) -> CounterSet:
        """What its cores count, and what the numbers of events mean."""
        return counter_set(self.counters.name, split=self.split)

    @property
    def counter_groups(self) -> Mapping[str, CounterGroup]:
        """The groups of counters it has, under their names in sample.json, in the order of cann_msprof.md 1.8."""
        return self.counter_set.groups
