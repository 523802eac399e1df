"""The 22 rules of ``_ExperimentalConfig`` in execution order (torch_npu_profiler.md 1.6)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import attrs
from attrs import evolve, frozen

from drynpu.options._notices import Notice, NoticeCode, remark, warning
from drynpu.options.experimental_config._constants import AIC_METRICS, EXPORT_TYPES, HOST_SYSTEMS, PROFILER_LEVELS

_NONE_METRICS = AIC_METRICS["AiCoreNone"]
_PIPE = AIC_METRICS["PipeUtilization"]


@frozen(kw_only=True)
class ConfigValues:
    """
    The fifteen values of an ``_ExperimentalConfig`` in the order in which ``profiler_info.json`` shows them.

    The defaults are the constructor's, before any rule ran; `normalise_config` gives the values after.
    """

    profiler_level: Any = PROFILER_LEVELS["Level0"]
    aic_metrics: Any = _PIPE
    l2_cache: Any = False
    msprof_tx: Any = False
    mstx: Any = False
    data_simplification: Any = True
    record_op_args: Any = False
    export_type: Any = EXPORT_TYPES["Text"]
    host_sys: Any = None
    op_attr: Any = False
    gc_detect_threshold: Any = None
    mstx_domain_include: Any = None
    mstx_domain_exclude: Any = None
    sys_io: Any = False
    sys_interconnection: Any = False

    @property
    def tx_enabled(self) -> bool:
        """Whether user marks are recorded."""
        return bool(self.msprof_tx or self.mstx)

    @property
    def with_gc(self) -> bool:
        """Whether garbage collections are recorded."""
        return self.gc_detect_threshold is not None

    def dump(self) -> dict[str, Any]:
        """Return the attributes as ``profiler_info.json`` names and orders them; lists are fresh copies."""
        named = attrs.asdict(self, recurse=False)
        return {
            name if name == "record_op_args" else f"_{name}": list(value) if isinstance(value, list) else value
            for name, value in named.items()
        }


_Step = tuple[ConfigValues, list[Notice]]


def _reset(values: ConfigValues, option: str, value: object, message: str) -> _Step:
    return evolve(values, **{option: value}), [warning(option, message)]


def normalise_config(
    *, toolkit_exports_db: bool = False, **keywords: object
) -> tuple[ConfigValues, tuple[Notice, ...]]:
    """
    Apply the constructor's rules to the keywords of ``_ExperimentalConfig``.

    Parameters
    ----------
    toolkit_exports_db:
        Whether the installed toolkit writes the database along with text, which lets ``op_attr`` stand (rule 14).
    keywords:
        Keywords of the constructor, any values.

    Returns
    -------
    tuple
        The resulting values and the vendor's messages in the order in which they are printed. A notice with code
        ``PYTHON_WARNING`` goes through ``warnings.warn``, severity ``INFO`` through the info printer.

    Raises
    ------
    TypeError
        For a keyword that the constructor does not have.
    """
    values = ConfigValues(**keywords)
    notices: list[Notice] = []
    rules: list[Callable[[ConfigValues], _Step]] = [
        _export_form,
        _metrics_need_level,
        lambda v: _flag(v, "l2_cache"),
        lambda v: _flag(v, "msprof_tx"),
        _deprecated_tx,
        lambda v: _flag(v, "mstx"),
        _level_none_needs_tx,
        _simplification,
        lambda v: _flag(v, "record_op_args"),
        _known_level,
        _known_metrics,
        lambda v: _flag(v, "op_attr"),
        _known_exports,
        lambda v: _op_attr_needs_db(v, toolkit_exports_db=toolkit_exports_db),
        _gc_threshold,
        lambda v: _flag(v, "sys_io"),
        lambda v: _flag(v, "sys_interconnection"),
        _domains_need_tx,
        lambda v: _domain_list(v, "mstx_domain_include", "mstx_domain_include"),
        # The vendor's text for wrong contents names the private attribute.
        lambda v: _domain_list(v, "mstx_domain_exclude", "_mstx_domain_exclude"),
        _one_domain_list,
        _host_systems,
    ]
    values = evolve(values, host_sys=values.host_sys or [])
    for rule in rules:
        values, said = rule(values)
        notices += said
    return values, tuple(notices)


def _flag(values: ConfigValues, name: str) -> _Step:
    if isinstance(getattr(values, name), bool):
        return values, []
    message = f"Invalid parameter {name}, which must be of bool type, reset it to False."
    return _reset(values, name, False, message)


def _export_form(values: ConfigValues) -> _Step:
    export_type = values.export_type
    message = f"Invalid parameter export_type: {export_type}, reset it to text."
    if export_type and isinstance(export_type, str):
        return evolve(values, export_type=[export_type]), []
    if export_type and isinstance(export_type, list):
        try:
            set(export_type)
            # The vendor's order comes out of that set; the order of first appearance is one of those.
            return evolve(values, export_type=list(dict.fromkeys(export_type))), []
        except TypeError as error:
            message = f"{message} Error is {error}"
    return _reset(values, "export_type", [EXPORT_TYPES["Text"]], message)


def _metrics_need_level(values: ConfigValues) -> _Step:
    low = values.profiler_level in (PROFILER_LEVELS["Level0"], PROFILER_LEVELS["Level_none"])
    if not low or values.aic_metrics == _NONE_METRICS:
        return values, []
    message = "Please use level1 or level2 if you want to collect aic metrics, reset aic metrics to None!"
    return _reset(values, "aic_metrics", _NONE_METRICS, message)


def _deprecated_tx(values: ConfigValues) -> _Step:
    if not values.msprof_tx:
        return values, []
    message = "The parameter msprof_tx will be deprecated. Please use the new parameter mstx instead."
    return values, [warning("msprof_tx", message, NoticeCode.PYTHON_WARNING)]


def _level_none_needs_tx(values: ConfigValues) -> _Step:
    if values.profiler_level != PROFILER_LEVELS["Level_none"] or values.tx_enabled:
        return values, []
    message = "Parameter mstx or msprof_tx must be True if profiler_level is set to Level_none."
    return _reset(values, "mstx", True, message)


def _simplification(values: ConfigValues) -> _Step:
    if values.data_simplification is None or isinstance(values.data_simplification, bool):
        return values, []
    message = "Invalid parameter data_simplification, which must be of bool type, reset it to default."
    return _reset(values, "data_simplification", True, message)


def _known_level(values: ConfigValues) -> _Step:
    if values.profiler_level in list(PROFILER_LEVELS.values()):
        return values, []
    message = "Invalid parameter profiler_level, reset it to ProfilerLevel.Level0."
    return _reset(values, "profiler_level", PROFILER_LEVELS["Level0"], message)


def _known_metrics(values: ConfigValues) -> _Step:
    if values.aic_metrics in list(AIC_METRICS.values()):
        return values, []
    default = _NONE_METRICS if values.profiler_level == PROFILER_LEVELS["Level0"] else _PIPE
    return _reset(values, "aic_metrics", default, "Invalid parameter aic_metrics, reset it to default.")


def _known_exports(values: ConfigValues) -> _Step:
    if all(item in list(EXPORT_TYPES.values()) for item in values.export_type):
        return values, []
    message = "Invalid parameter export_type, reset it to text."
    return _reset(values, "export_type", [EXPORT_TYPES["Text"]], message)


def _op_attr_needs_db(values: ConfigValues, *, toolkit_exports_db: bool) -> _Step:
    if not values.op_attr or toolkit_exports_db or EXPORT_TYPES["Db"] in values.export_type:
        return values, []
    return _reset(values, "op_attr", False, "op_attr switch is invalid with export type set as text.")


def _gc_threshold(values: ConfigValues) -> _Step:
    threshold, name = values.gc_detect_threshold, "gc_detect_threshold"
    if threshold is None:
        return values, []
    if not isinstance(threshold, (int, float)):
        message = f"Parameter {name} is not int or float type, reset it to default."
        return _reset(values, name, None, message)
    if threshold < 0:
        message = f"Parameter {name} can not be negative, reset it to default."
        return _reset(values, name, None, message)
    if threshold == 0:
        message = f"Parameter {name} is set to 0, it will collect all gc events."
        return values, [remark(name, message)]
    return values, []


def _domains_need_tx(values: ConfigValues) -> _Step:
    include, exclude = values.mstx_domain_include or [], values.mstx_domain_exclude or []
    if values.tx_enabled or not (include or exclude):
        return evolve(values, mstx_domain_include=include, mstx_domain_exclude=exclude), []
    message = "mstx_domain_include and mstx_domain_exclude are valid when msprof_tx or mstx is True."
    values = evolve(values, mstx_domain_exclude=[])
    return _reset(values, "mstx_domain_include", [], message)


def _domain_list(values: ConfigValues, name: str, contents_name: str) -> _Step:
    domains = getattr(values, name)
    if not isinstance(domains, list):
        message = f"Invalid parameter {name}, which must be of list type, reset it to default."
        return _reset(values, name, [], message)
    if not all(isinstance(item, str) for item in domains):
        message = f"Invalid parameter {contents_name}, which contents must be of str type, reset it to default."
        return _reset(values, name, [], message)
    return evolve(values, **{name: list(dict.fromkeys(domains))}), []


def _one_domain_list(values: ConfigValues) -> _Step:
    if not values.mstx_domain_include or not values.mstx_domain_exclude:
        return values, []
    message = (
        "Parameter mstx_domain_include and mstx_domain_exclude can not be both set, only mstx_domain_include will work."
    )
    return _reset(values, "mstx_domain_exclude", [], message)


def _host_systems(values: ConfigValues) -> _Step:
    if not isinstance(values.host_sys, list):
        message = "Invalid parameter host_sys, which must be of list type, reset it to empty."
        return _reset(values, "host_sys", [], message)
    if not all(item in list(HOST_SYSTEMS.values()) for item in values.host_sys):
        return _reset(values, "host_sys", [], "Invalid parameter host_sys, reset it to empty.")
    return evolve(values, host_sys=list(dict.fromkeys(values.host_sys))), []
