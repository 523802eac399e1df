"""``_ExperimentalConfig`` and its surroundings into the neutral model (torch_npu_profiler.md 1.6, C-layer meaning)."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any

import attrs
from attrs import frozen

from drynpu._errors import OptionError
from drynpu._spelling import did_you_mean
from drynpu.options._notices import Notice, NoticeCode, Origin, warning
from drynpu.options._problems import shown, shown_key
from drynpu.options._request import Output, Parsed, ProfilingRequest, leaf_values, with_values
from drynpu.options._schedule import Schedule
from drynpu.options._table import fixed_hz, option_names
from drynpu.options._values import Activity, Level, MetricGroup
from drynpu.options.experimental_config._config import ConfigValues, normalise_config
from drynpu.options.experimental_config._constants import (
    AIC_METRICS,
    EXPORTS,
    LEVELS,
    METRIC_GROUPS,
)
from drynpu.options.profiling_options import HOST_SYSTEM_WORDS, metric_groups, metrics_text
from drynpu.platforms import DEFAULT_CHIP, Platform, resolve_platform


@frozen(kw_only=True)
class Flags:
    """The five switches of ``profile`` itself."""

    record_shapes: bool = False
    profile_memory: bool = False
    with_stack: bool = False
    with_flops: bool = False
    with_modules: bool = False


def parse(
    document: Mapping[str, Any] | None = None,
    *,
    attribute_names: bool = True,
    toolkit_exports_db: bool = False,
    **circumstances: Any,
) -> Parsed:
    """
    Read the keywords of ``_ExperimentalConfig`` from a mapping, e.g. a JSON document.

    Parameters
    ----------
    document:
        Keyword -> value; nothing means a default configuration, which the vendor does not accept silently either.
    attribute_names:
        Whether ``profiler_level`` and ``aic_metrics`` may be attribute names such as ``PipeUtilization``, as in
        ``profiler_config.json``, beside the attribute values that Python code passes.
    toolkit_exports_db:
        See `normalise_config`.
    circumstances:
        ``chip``, ``activities``, ``flags``, ``schedule``, ``output``: see `build_parsed`.

    Raises
    ------
    OptionError
        When *document* is no mapping or names keywords that do not exist; values never fail, they are reset.
    """
    document = {} if document is None else document
    if not isinstance(document, Mapping):
        raise OptionError([f"experimental_config: {shown(document)} is not allowed; allowed: a mapping."])
    names = [attribute.name for attribute in attrs.fields(ConfigValues)]
    unknown = [name for name in document if name not in names]
    if unknown:
        raise OptionError(
            [
                f"{shown_key(name)}: unknown option.{did_you_mean(str(name), names)} Allowed: {', '.join(names)}."
                for name in unknown
            ]
        )
    keywords = dict(document)
    if attribute_names and isinstance(keywords.get("aic_metrics"), str):
        keywords["aic_metrics"] = AIC_METRICS.get(keywords["aic_metrics"], keywords["aic_metrics"])
    values, notices = normalise_config(toolkit_exports_db=toolkit_exports_db, **keywords)
    return build_parsed(values, keywords=keywords, notices=notices, **circumstances)


def build_parsed(
    values: ConfigValues,
    *,
    keywords: Mapping[str, object] | None = None,
    notices: Iterable[Notice] = (),
    chip: str = DEFAULT_CHIP,
    activities: Iterable[Activity] = (Activity.HOST, Activity.DEVICE),
    flags: Flags | None = None,
    schedule: Schedule | None = None,
    output: Output | None = None,
) -> Parsed:
    """
    Map normalised values into the neutral model.

    Parameters
    ----------
    values:
        What `normalise_config` returned.
    keywords:
        The keywords of the constructor, to tell values of the user from defaults.
    notices:
        Put before those that arise here.
    flags, schedule, activities:
        The other arguments of ``profile``.
    output:
        Directory, worker name, analyse flag and so on; its ``export`` and ``data_simplification`` are overridden by
        *values*.
    """
    flags = flags or Flags()
    level = LEVELS[values.profiler_level]
    group = METRIC_GROUPS[values.aic_metrics]
    metrics = framework_counters(group, level, resolve_platform(chip)) if level >= Level.L1 else MetricGroup.NONE
    said = []
    if metrics not in (group, MetricGroup.NONE):
        message = f"AiCMetrics is not supported to set to {metrics_text(group)}, reset to default."
        said.append(warning("aic_metrics", message, NoticeCode.UNSUPPORTED))
    base = ProfilingRequest(
        level=level,
        activities=tuple(activities),
        aic_metrics=metrics,
        schedule=schedule,
        output=output or Output(),
    )
    request = with_values(base, _values(values, level, flags))
    return Parsed.build(
        request,
        dialect="experimental_config",
        notices=[*notices, *said],
        origins=_origins(values, keywords or {}, request, flags, schedule, output),
        spellings=_spellings(request),
        effective=values.dump(),
    )


def _values(values: ConfigValues, level: Level, flags: Flags) -> dict[str, Any]:
    """Return the values of the request by their paths."""
    threshold = values.gc_detect_threshold
    # NaN and infinity are kept by the vendor and never reached by a collection.
    usable = threshold is not None and math.isfinite(_number(threshold))
    return {
        **{f"switches.{name}": value for name, value in attrs.asdict(flags).items()},
        **framework_switches(level, profile_memory=flags.profile_memory),
        **framework_rates(
            memory=flags.profile_memory, io=bool(values.sys_io), interconnection=bool(values.sys_interconnection)
        ),
        "switches.l2_cache": values.l2_cache,
        "switches.tx": values.tx_enabled,
        "switches.op_attributes": values.op_attr,
        "switches.record_op_args": values.record_op_args,
        "switches.gc_threshold_ms": _number(threshold) if usable else None,
        "filters.tx_domains_include": tuple(values.mstx_domain_include),
        "filters.tx_domains_exclude": tuple(values.mstx_domain_exclude),
        "sampling.host_systems": tuple(HOST_SYSTEM_WORDS[item] for item in values.host_sys),
        "output.export": tuple(EXPORTS[item] for item in values.export_type),
        "output.data_simplification": bool(values.data_simplification),
    }


def _number(value: float) -> float:
    try:
        return float(value)
    except OverflowError:  # an integer beyond the floats
        return math.inf


def _origins(
    values: ConfigValues,
    keywords: Mapping[str, object],
    request: ProfilingRequest,
    flags: Flags,
    schedule: Schedule | None,
    output: Output | None,
) -> dict[str, Origin]:
    origins = dict.fromkeys(framework_switches(request.level, profile_memory=flags.profile_memory), Origin.RULE)
    if flags.profile_memory:
        origins["sampling.hardware_memory_hz"] = Origin.RULE
    paths, defaults = option_names("torch"), ConfigValues()
    for name, value in attrs.asdict(values, recurse=False).items():
        path = paths[name]
        if _changed(name, keywords.get(name, getattr(defaults, name)), value):
            origins[path] = Origin.RULE
        elif name in keywords and origins.get(path) is not Origin.RULE:
            origins[path] = Origin.GIVEN
    if request.aic_metrics is not METRIC_GROUPS[values.aic_metrics]:
        origins["aic_metrics"] = Origin.RULE
    given_flags = (name for name, value in attrs.asdict(flags).items() if value != getattr(Flags(), name))
    origins.update({paths[name]: Origin.GIVEN for name in given_flags})
    if schedule is not None:
        origins.update({f"schedule.{field.name}": Origin.GIVEN for field in attrs.fields(Schedule)})
    if output is not None:
        for name in ("directory", "worker_name", "storage_limit_mb", "analyse", "asynchronous"):
            if getattr(output, name) != getattr(Output(), name):
                origins[f"output.{name}"] = Origin.GIVEN
    return origins


def _changed(name: str, value: object, used: object) -> bool:
    """Whether a rule replaced the value; wrapping it in a list or dropping doubles is no replacement."""
    if name == "export_type" and isinstance(value, str):
        value = [value]
    if isinstance(used, list):
        if not value:
            return bool(used)
        return not isinstance(value, list) or any(item not in used for item in value)
    # NaN differs from itself.
    return type(value) is not type(used) or (value is not used and bool(value != used))


def _spellings(request: ProfilingRequest) -> dict[str, str]:
    """Return path -> keyword; of several keywords the last."""
    leaves = leaf_values(request)
    return {path: name for name, path in option_names("torch").items() if path in leaves}


def framework_switches(level: Level, *, profile_memory: bool) -> dict[str, Any]:
    """Return path -> value of the switches that nobody gives there: they follow from the level and from memory."""
    return {
        "switches.acl_api": level >= Level.L0,
        "switches.communication": level >= Level.L1,
        "switches.runtime_api": level >= Level.L2,
        "switches.aicpu": level >= Level.L2,
        "switches.task_memory": profile_memory,
    }


def framework_rates(*, memory: bool, io: bool, interconnection: bool) -> dict[str, Any]:
    """Return path -> rate of the items that are only switched on there; ``None`` where they are off."""
    switched = {"hardware_memory_hz": memory, "io_hz": io, "interconnection_hz": interconnection}
    return {f"sampling.{name}": fixed_hz(f"sampling.{name}") if on else None for name, on in switched.items()}


def framework_counters(group: MetricGroup, level: Level, platform: Platform) -> MetricGroup:
    """Return the counters that are collected: none below L1, the default in place of a group that a chip lacks."""
    if level < Level.L1 or group is MetricGroup.NONE:
        return MetricGroup.NONE
    return group if group in metric_groups(platform) else MetricGroup.PIPE_UTILIZATION
