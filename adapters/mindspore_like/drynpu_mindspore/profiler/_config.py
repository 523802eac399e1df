"""``_ExperimentalConfig``: eleven options in one object, unchecked until a profiler takes them."""

from __future__ import annotations

from typing import Any

from drynpu_mindspore.profiler._values import AicoreMetrics, ExportType, HostSystem, ProfilerLevel

CONFIG_FIELDS = (
    "profiler_level",
    "aic_metrics",
    "l2_cache",
    "mstx",
    "data_simplification",
    "export_type",
    "mstx_domain_include",
    "mstx_domain_exclude",
    "sys_io",
    "sys_interconnection",
    "host_sys",
)
"""What a config overrides of a profiler's keywords."""


class _ExperimentalConfig:
    """Options of ``profile(experimental_config=...)``; nothing is checked here."""

    def __init__(
        self,
        profiler_level: ProfilerLevel = ProfilerLevel.Level0,
        aic_metrics: AicoreMetrics = AicoreMetrics.AiCoreNone,
        l2_cache: bool = False,
        mstx: bool = False,
        data_simplification: bool = True,
        export_type: list[ExportType] | None = None,
        mstx_domain_include: list[str] | None = None,
        mstx_domain_exclude: list[str] | None = None,
        sys_io: bool = False,
        sys_interconnection: bool = False,
        host_sys: list[HostSystem] | None = None,
    ) -> None:
        self.profiler_level = profiler_level
        self.aic_metrics = aic_metrics
        self.l2_cache = l2_cache
        self.mstx = mstx
        self.data_simplification = data_simplification
        self.export_type = export_type
        self.mstx_domain_include = mstx_domain_include
        self.mstx_domain_exclude = mstx_domain_exclude
        self.sys_io = sys_io
        self.sys_interconnection = sys_interconnection
        self.host_sys = host_sys

    def describe(self) -> dict[str, Any]:
        """Return the options by name."""
        return {name: getattr(self, name) for name in CONFIG_FIELDS}
