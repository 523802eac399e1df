"""profiler_config.json: its template, and its content as arguments of a profiler (torch_npu_profiler.md 1.9)."""

from __future__ import annotations

import difflib
import json
import logging
from collections.abc import Mapping
from typing import Any

from attrs import frozen

from drynpu.options.experimental_config import PROFILE_FLAGS
from drynpu_torch.profiler._config import _ExperimentalConfig
from drynpu_torch.profiler._values import AiCMetrics, ProfilerActivity, ProfilerLevel

_MAX_BYTES = 1024 * 1024  # the vendor's limit
NEXT_STEP = -1
"""The value of ``start_step`` for a recording that begins with the next step."""


@frozen(kw_only=True)
class DynamicConfig:
    """
    One recording as profiler_config.json describes it.

    Attributes
    ----------
    arguments:
        Arguments of the profiler, besides schedule and handler.
    prof_dir, analyse, async_mode:
        Arguments of the handler.
    active, warmup:
        Length of the recording in steps.
    start_step:
        Number of its first step, -1 for the next one.
    metadata:
        Entries for profiler_metadata.json, as JSON text.
    ranks:
        The ranks that record, ``None`` for all.
    """

    arguments: Mapping[str, Any]
    prof_dir: Any
    analyse: bool
    async_mode: bool
    active: int
    warmup: int
    start_step: int
    metadata: Mapping[str, str]
    ranks: frozenset[int] | None


def template() -> str:
    """Return the text of the file that is written where there is none."""
    experimental = {
        "profiler_level": "Level0",
        "aic_metrics": "AiCoreNone",
        "l2_cache": False,
        "op_attr": False,
        "gc_detect_threshold": None,
        "data_simplification": True,
        "record_op_args": False,
        "export_type": ["text"],
        "msprof_tx": False,
        "mstx": False,
        "host_sys": [],
        "mstx_domain_include": [],
        "mstx_domain_exclude": [],
        "sys_io": False,
        "sys_interconnection": False,
    }
    document = {
        "activities": ["CPU", "NPU"],
        "prof_dir": "./",
        "analyse": False,
        "async_mode": False,
        **dict.fromkeys(PROFILE_FLAGS, False),
        "active": 1,
        "warmup": 0,
        "start_step": 0,
        "is_rank": False,
        "rank_list": [],
        "experimental_config": experimental,
    }
    return json.dumps(document, indent=4)


def parse_document(data: bytes) -> dict[str, Any]:
    """
    Read the text of the file.

    Raises
    ------
    ValueError
        It is not a JSON object, or too large.
    """
    if len(data) > _MAX_BYTES:
        raise ValueError(f"cfg bytes size over {_MAX_BYTES} bytes")
    document = json.loads(data)
    if not isinstance(document, dict):
        raise ValueError(f"the file must hold an object in braces, not {type(document).__name__}")
    return document


def parse_config(document: Mapping[str, object], log: logging.Logger) -> DynamicConfig:
    """Return the recording that *document* describes; bad values are replaced and named in the log. Nothing raises."""
    _name_unknown_keys(document, log)
    arguments: dict[str, Any] = {name: document.get(name, False) for name in PROFILE_FLAGS}
    arguments["activities"] = _activities(document.get("activities"), log)
    arguments["experimental_config"] = _experimental_config(document.get("experimental_config"), log)
    analyse, async_mode = document.get("analyse"), document.get("async_mode")
    metadata = document.get("metadata")
    return DynamicConfig(
        arguments=arguments,
        prof_dir=document.get("prof_dir"),
        analyse=analyse is True,
        async_mode=async_mode is True,
        active=_number(document, "active", 1, 1, log),
        warmup=_number(document, "warmup", 0, 0, log),
        start_step=_start_step(document, log),
        metadata={str(k): json.dumps(v) for k, v in metadata.items()} if isinstance(metadata, dict) else {},
        ranks=_ranks(document, log),
    )


def _name_unknown_keys(document: Mapping[str, object], log: logging.Logger) -> None:
    known = json.loads(template())
    experimental = document.get("experimental_config")
    _name_unknown(document, [*known, "metadata", "is_valid"], log)
    if isinstance(experimental, dict):
        _name_unknown(experimental, list(known["experimental_config"]), log)


def _name_unknown(content: Mapping[str, object], known: list[str], log: logging.Logger) -> None:
    for key in content:
        if key not in known:
            near = difflib.get_close_matches(key, known, 1)
            log.warning("Unknown key %s is ignored%s", key, f"; did you mean {near[0]}?" if near else ".")


def _activities(names: object, log: logging.Logger) -> list[ProfilerActivity]:
    """Return the activities that are named; an empty list stands for all."""
    activities: dict[ProfilerActivity, None] = {}
    for name in names if isinstance(names, list) else []:
        activity = ProfilerActivity.__members__.get(name.upper()) if isinstance(name, str) else None
        if activity is None:
            log.warning("Set activity failed, activity must be CPU OR NPU!")
        else:
            activities[activity] = None
    return list(activities)


def _number(document: Mapping[str, object], name: str, least: int, default: int, log: logging.Logger) -> int:
    value = document.get(name, default)
    if isinstance(value, int) and value >= least:
        return value
    log.warning("Invalid parameter %s, reset it to %d.", name, default)
    return default


def _start_step(document: Mapping[str, object], log: logging.Logger) -> int:
    """Return the number of the first step; a file of the older form, without the key, means the next step."""
    value = document.get("start_step", NEXT_STEP)
    if isinstance(value, int) and not isinstance(value, bool) and value >= NEXT_STEP:
        return value
    log.warning("Invalid parameter start_step, reset it to 0.")
    return 0


def _ranks(document: Mapping[str, object], log: logging.Logger) -> frozenset[int] | None:
    is_rank, ranks = document.get("is_rank", False), document.get("rank_list", False)
    if not isinstance(is_rank, bool):
        log.warning("Set is_rank failed, is_rank must be bool!")
        return None
    if not is_rank:
        return None
    log.info("Set is_rank success!")
    if not isinstance(ranks, list):
        log.warning("Set rank_list failed, rank_list must be list!")
        return frozenset()
    return frozenset(rank for rank in ranks if isinstance(rank, int) and rank >= 0)


def _experimental_config(options: object, log: logging.Logger) -> _ExperimentalConfig | None:
    """Return the configuration, which checks its values; the file has levels and metrics by name."""
    if not options:
        return None
    if not isinstance(options, dict):
        log.warning("Set experimental_config failed, experimental_config must be dict!")
        return None
    defaults: dict[str, Any] = json.loads(template())["experimental_config"]
    values = {name: options.get(name, default) for name, default in defaults.items()}
    values["profiler_level"] = _by_name(ProfilerLevel, values["profiler_level"])
    values["aic_metrics"] = _by_name(AiCMetrics, values["aic_metrics"])
    return _ExperimentalConfig(**values)


def _by_name(values: type, name: object) -> Any:
    return getattr(values, name, name) if isinstance(name, str) else name
