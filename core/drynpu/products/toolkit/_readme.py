"""README.txt beside the toolkit's result files (cann_msprof.md 2.3)."""

from __future__ import annotations

from collections.abc import Iterable

_TIMELINES = {
    "msprof": "All layers on one time axis: host calls, device tasks, communication, memory, overlap analysis.",
    "msprof_tx": "Marks and ranges of the user, on the host and on the streams they were put on.",
    "step_trace": "Iterations of graphs: forward and backward part, refresh, reductions, get-next.",
}
_SUMMARIES = {
    "ai_core_utilization": "Counters of each cube core over the whole recording, and their mean.",
    "ai_vector_core_utilization": "Counters of each vector core over the whole recording, and their mean.",
    "aicpu": "AI CPU kernels: compute, copy, dispatch.",
    "aicpu_mi": "Waits for the data queue.",
    "api_statistic": "Time spent in the calls of the CANN interfaces, by level and name.",
    "cpu_usage": "Shares of user, system and waiting time of the CPUs.",
    "communication_statistic": "Number and time of communication operators by type.",
    "ddr": "Bandwidth of the device's memory, averaged over all samples.",
    "dp": "Events of the data preprocessing queue.",
    "dvpp": "Time, frames and load of the image engines.",
    "fusion_op": "Operators that the graph engine made of several, with their memory.",
    "hbm": "Bandwidth of the device's memory by unit, averaged over all samples.",
    "hccs": "Traffic of the links to other devices: largest, least, average.",
    "l2_cache": "Victims and, where it is shown, hits of L2 by task.",
    "llc_read_write": "Hit rate and traffic of the last level caches, averaged over all samples.",
    "host_cpu_usage": "Cores of the host that the process kept busy.",
    "host_disk_usage": "Peak rates at which the process read and wrote.",
    "host_mem_usage": "Peak memory of the process on the host.",
    "host_network_usage": "Peak traffic of the network cards of the host.",
    "memory_record": "Memory held by the toolkit's operators after every allocation and release.",
    "nic": "Traffic of the network port.",
    "msprof_tx": "One row per mark or range of the user, with its times on the device.",
    "npu_mem": "Memory of the process and of the device, sampled.",
    "npu_module_mem": "Memory reserved by each component of the device software, sampled.",
    "op_statistic": "Number and time of kernels by operator type and core type.",
    "op_summary": "One row per kernel and collective: task, time, shapes, counters.",
    "operator_memory": "One row per allocation of an operator, with its release.",
    "pcie": "Traffic of the PCIe link by kind of packet.",
    "roce": "RDMA traffic of the network port.",
    "process_cpu_usage": "Share of CPU time by process.",
    "process_mem": "Memory of the processes, in pages.",
    "soc_pmu": "Hits and misses of the translation buffers by task.",
    "static_op_mem": "Memory that a graph planned, by operator.",
    "step_trace": "One row per iteration of a graph, with its key points.",
    "sys_mem": "Memory of the system.",
    "task_time": "One row per device task with start and end.",
}
_NO_DESCRIPTION = "Here is no description about this file: {name}, please check in 'Profiling Instructions'!"


def readme_text(names: Iterable[str]) -> str:
    """
    Return the text that describes files by their names without time stamp (``op_summary.csv``, ``msprof.json``).

    A name without a suffix is a timeline if one of that name is known, else a table.
    """
    files = {name if "." in name else f"{name}.{'json' if name in _TIMELINES else 'csv'}" for name in names}
    blocks: dict[str, list[tuple[str, str, str]]] = {"json": [], "csv": []}
    for stem, suffix in sorted((file.rsplit(".", 1)[0], file.rsplit(".", 1)[1]) for file in files):
        # A table may be JSON, too.
        kind = "csv" if stem in _SUMMARIES and stem not in _TIMELINES else suffix
        texts = _TIMELINES if kind == "json" else _SUMMARIES
        blocks[kind].append((stem, suffix, texts.get(stem, _NO_DESCRIPTION.format(name=stem))))
    return "\n".join([*_block("Timeline", blocks["json"]), "", *_block("Summary", blocks["csv"])]) + "\n"


def _block(title: str, entries: list[tuple[str, str, str]]) -> list[str]:
    lines = [f"{number}.{name}.{suffix}:{text}" for number, (name, suffix, text) in enumerate(entries, start=1)]
    return [f"{title} file description:", *lines]
