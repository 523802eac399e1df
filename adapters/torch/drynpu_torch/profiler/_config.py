"""``torch_npu.profiler._ExperimentalConfig``."""

from __future__ import annotations

import os
from typing import Any

from drynpu import DrynpuError
from drynpu.options import MetricGroup, Notice, NoticeCode, Settings, Severity
from drynpu.options.experimental_config import METRIC_GROUPS, ConfigValues, normalise_config
from drynpu.plugins import build_manager
from drynpu.recorder import load_chosen_chip
from drynpu_torch.profiler._messages import show
from drynpu_torch.profiler._values import AiCMetrics, ExportType, HostSystem, ProfilerLevel


class _ExperimentalConfig:
    """
    Further options of a profiler. Rules and messages follow torch_npu_profiler.md 1.6; nothing raises.

    The attributes, private names included, are those that profiler_info.json shows.
    """

    def __init__(
        self,
        profiler_level: Any = ProfilerLevel.Level0,
        aic_metrics: Any = AiCMetrics.PipeUtilization,
        l2_cache: Any = False,
        msprof_tx: Any = False,
        mstx: Any = False,
        data_simplification: Any = True,
        record_op_args: Any = False,
        op_attr: Any = False,
        gc_detect_threshold: Any = None,
        export_type: Any = ExportType.Text,
        host_sys: Any = None,
        mstx_domain_include: Any = None,
        mstx_domain_exclude: Any = None,
        sys_io: Any = False,
        sys_interconnection: Any = False,
    ) -> None:
        arguments = {name: value for name, value in locals().items() if name != "self"}
        values, notices = normalise_config(**arguments)
        show((*notices, *_without_counters(values), *_without_files(values)))
        self.given = arguments
        self.values = values
        for name, value in values.dump().items():
            setattr(self, name, value)

    @property
    def export_type(self) -> list[str]:
        """Forms of the deliverables."""
        return list(self.values.export_type)

    @property
    def with_gc(self) -> bool:
        """Whether garbage collections are recorded."""
        return self.values.with_gc

    @property
    def gc_detect_threshold(self) -> float | None:
        """Shortest garbage collection that is recorded, ms."""
        threshold: float | None = self.values.gc_detect_threshold
        return threshold

    @property
    def tx_enabled(self) -> bool:
        """Whether marks of the script are recorded."""
        return self.values.tx_enabled


def _without_counters(values: ConfigValues) -> tuple[Notice, ...]:
    """Say at once which counters the chip does not give, instead of leaving the user to look for columns."""
    group = METRIC_GROUPS.get(values.aic_metrics, MetricGroup.NONE)
    if group is MetricGroup.NONE:
        return ()
    try:
        chip = load_chosen_chip(Settings.from_environ(os.environ))
    except DrynpuError:  # reported when the recording begins
        return ()
    from drynpu.deliverables.counters.records import counter_problem  # the cost model, which few need at the start

    problem = counter_problem(group, chip)
    if problem is None:
        return ()
    # The C layer takes the default for a group that the chip lacks.
    usual = group is not MetricGroup.PIPE_UTILIZATION and counter_problem(MetricGroup.PIPE_UTILIZATION, chip) is None
    instead = "PipeUtilization's instead" if usual else "no counter columns"
    message = f"{problem} This recording will have {instead}."
    return (Notice(Severity.WARNING, "aic_metrics", message, NoticeCode.UNSUPPORTED),)


def _without_files(values: ConfigValues) -> tuple[Notice, ...]:
    """Say at once which files will be missing, instead of leaving the user to look for them."""
    # These metrics of the host need the system's tracers; drynpu measures the others.
    traced = (HostSystem.OSRT, HostSystem.NUMA)
    missing = [name for name in ("record_op_args", "op_attr") if getattr(values, name)]
    if missing and "operator_attributes" not in build_manager().switched_off:
        missing = []
    missing += [f"host_sys={system}" for system in values.host_sys or () if system in traced]
    if not missing:
        return ()
    message = f"drynpu does not record these, their files will be missing: {', '.join(missing)}"
    return (Notice(Severity.WARNING, missing[0], message, NoticeCode.UNSUPPORTED),)
