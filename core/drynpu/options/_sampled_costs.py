"""What the items sampled by time leave per second."""

from __future__ import annotations

from collections.abc import Iterator

from attrs import frozen

from drynpu.options._request import ProfilingRequest
from drynpu.options._values import Activity, MetricGroup
from drynpu.options.profiling_options import ChipClass, resolve_class

__all__ = ["SampledBytes", "sampled_bytes"]

# Record sizes: cann_msprof.md 7.4.
_HBM, _LLC, _NPU_MEM, _MODULE_MEM = 24, 24, 32, 24
_QOS, _PCIE, _STARS_PROFILE = 64, 96, 64
_LPM, _LPM_SAMPLES = 888, 55

# Assumptions about what one sample holds: how many units a chip has, how long lines of text are.
ASSUMED_MEMORY_UNITS = 4
ASSUMED_CACHE_UNITS = 4
ASSUMED_MODULES = 20
ASSUMED_CORES = 24
ASSUMED_CORE_BYTES = 128
ASSUMED_LINE_BYTES = 120
"""One line of the text files of nic, roce, hccs, ub and dvpp."""
ASSUMED_ENGINES = 6
ASSUMED_DEVICE_CPUS = 8
"""Device CPUs with a sample of function and counters each, a line of text."""
ASSUMED_SYSTEM_BYTES = 1024
"""One reading of CPU or memory use of a system, as text."""
ASSUMED_PROCESSES_BYTES = 20_000
"""One reading of all processes of a system, as text."""
HOST_SYSTEM_HZ = 50
"""The rate of ``host_sys``, which has no option of its own (hicann/runtime input_parser_host_sys.cpp)."""

_MOST_HZ = 100
"""Above this rate, QoS and SoC bandwidth alone are sampled (cann_msprof.md 1.3)."""

_C = ChipClass
_A2_A3 = (_C.ASCEND_A2, _C.ASCEND_A3)
_ROCE = (_C.ASCEND_910, *_A2_A3)


@frozen
class SampledBytes:
    """One kind of record: what it leaves per second, and which option asks for it."""

    record: str
    option: str
    bytes: float


def sampled_bytes(request: ProfilingRequest, chip: str) -> Iterator[SampledBytes]:
    """Yield what every sampled item of *request* leaves per second on *chip*. Raises `OptionError`."""
    here = resolve_class(chip)
    sampling = request.sampling
    if Activity.DEVICE in request.activities:
        for option, rate_hz in (
            ("hardware_memory_hz", sampling.hardware_memory_hz),
            ("io_hz", sampling.io_hz),
            ("interconnection_hz", sampling.interconnection_hz),
            ("cpu_hz", sampling.cpu_hz),
            ("dvpp_hz", sampling.dvpp_hz),
            ("low_power_hz", sampling.low_power_hz),
            ("device_system_hz", sampling.device_system_hz),
            ("device_process_hz", sampling.device_process_hz),
        ):
            for record, size in _sizes(option, here) if rate_hz else ():
                capped = rate_hz if record in ("qos",) else min(rate_hz or 0, _MOST_HZ)
                yield SampledBytes(record, f"sampling.{option}", (capped or 0) * size)
        if sampling.ai_core_hz and request.aic_metrics is not MetricGroup.NONE:
            size = ASSUMED_CORES * ASSUMED_CORE_BYTES
            yield SampledBytes("aicore", "sampling.ai_core_hz", sampling.ai_core_hz * size)
    for item in sampling.host_systems:
        yield SampledBytes(f"host_{item.value}", "sampling.host_systems", HOST_SYSTEM_HZ * ASSUMED_SYSTEM_BYTES)
    for usage in sampling.host_usage:
        size = ASSUMED_SYSTEM_BYTES + ASSUMED_PROCESSES_BYTES
        yield SampledBytes(f"host_sys_{usage.value}", "sampling.host_usage", sampling.host_usage_hz * size)


def _sizes(option: str, here: ChipClass) -> Iterator[tuple[str, float]]:
    """Yield the records of one sample of an item, with their size."""
    if option == "hardware_memory_hz":
        yield "hbm", 2 * ASSUMED_MEMORY_UNITS * _HBM
        yield "llc", 2 * ASSUMED_CACHE_UNITS * _LLC
        yield "npu_mem", 2 * _NPU_MEM
        yield "npu_module_mem", ASSUMED_MODULES * _MODULE_MEM
        if here in (*_A2_A3, _C.ASCEND_310B):
            yield "stars_soc_profile", 2 * _STARS_PROFILE
        if here in (*_A2_A3, _C.ASCEND_950):
            yield "qos", _QOS
    elif option == "io_hz":
        if here is _C.ASCEND_950:
            yield "ub", ASSUMED_LINE_BYTES
        elif here is not _C.ASCEND_310P:
            yield "nic", ASSUMED_LINE_BYTES
        if here in _ROCE:
            yield "roce", ASSUMED_LINE_BYTES
    elif option == "interconnection_hz":
        if here not in (_C.ASCEND_310, _C.ASCEND_310B):
            yield "pcie", _PCIE
        if here in _ROCE:
            yield "hccs", ASSUMED_LINE_BYTES
        if here in (*_A2_A3, _C.ASCEND_950):
            yield "stars_soc_profile", _STARS_PROFILE
    elif option == "cpu_hz":
        yield "ai_ctrl_cpu", ASSUMED_DEVICE_CPUS * ASSUMED_LINE_BYTES
        if here is not _C.ASCEND_950:
            yield "tscpu", ASSUMED_LINE_BYTES
    elif option == "dvpp_hz":
        yield "dvpp", ASSUMED_ENGINES * ASSUMED_LINE_BYTES
    elif option == "low_power_hz":
        yield "lpmInfoConv", _LPM / _LPM_SAMPLES
    elif option == "device_system_hz":
        yield "SystemCpuUsage", 2 * ASSUMED_SYSTEM_BYTES
    else:
        yield "CpuUsage", 2 * ASSUMED_PROCESSES_BYTES
