"""Telling the dialects apart, for a document whose writer did not say which one it is."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import attrs

from drynpu import OptionError
from drynpu.options import (
    Parsed,
    ProfilingRequest,
    acl_json,
    did_you_mean,
    experimental_config,
    load_json,
    load_yaml,
    msprof_cli,
    parse_request,
    profiling_options,
    shown,
    shown_key,
)
from drynpu.platforms import DEFAULT_CHIP


def _words() -> dict[str, frozenset[str]]:
    """Return the keys of each dialect; the first of equals wins."""
    return {
        "profiling_options": frozenset(profiling_options.KEYS),
        "acl_json": frozenset(profiling_options.ACL_JSON.table) | {"switch", acl_json.SECTION},
        "msprof_cli": frozenset(flag.option for flag in msprof_cli.FLAGS.values()),
        "experimental_config": frozenset(a.name for a in attrs.fields(experimental_config.ConfigValues)),
        "request": frozenset(a.name for a in attrs.fields(ProfilingRequest)),
    }


def detect_dialect(mapping: Mapping[str, object]) -> str:
    """
    Return the dialect that knows most keys of *mapping*.

    It is ``profiling_options``, ``acl_json`` (a section, or a document with the member ``profiler``), ``msprof_cli``
    (keys with their two hyphens), ``experimental_config`` or ``request``. Keys that two dialects share count for both;
    where only ``aic_metrics`` is given, its value decides. An empty mapping is ``profiling_options``.

    Raises
    ------
    OptionError
        When *mapping* is no mapping, or no dialect knows any of its keys.
    """
    if not isinstance(mapping, Mapping):
        raise OptionError([f"document: {shown(mapping)} is not allowed; allowed: a mapping of options."])
    dialects = _words()
    if not mapping:
        return "profiling_options"
    score = {dialect: sum(key in words for key in mapping) for dialect, words in dialects.items()}
    if not any(score.values()):
        valid = sorted({*frozenset().union(*dialects.values())})
        tried = ", ".join(dialects)
        raise OptionError(
            [
                f"{shown_key(key)}: no dialect of options has this key ({tried}).{did_you_mean(str(key), valid)}"
                for key in mapping
            ]
        )
    best = max(score.values())
    tied = [dialect for dialect in dialects if score[dialect] == best]
    metrics = mapping.get("aic_metrics")
    if len(tied) > 1 and isinstance(metrics, str):
        if metrics in experimental_config.METRIC_GROUPS or metrics == "AiCoreNone":
            return "experimental_config" if "experimental_config" in tied else tied[0]
        if "request" in tied and metrics and metrics == metrics.lower():
            return "request"
    return tied[0]


def parse_mapping(mapping: Mapping[str, Any], *, chip: str = DEFAULT_CHIP, strict: bool = False) -> Parsed:
    """
    Read a document in the dialect that `detect_dialect` finds.

    *chip* and *strict* go to the dialects that have them. Raises `OptionError`.
    """
    dialect = detect_dialect(mapping)
    if dialect == "profiling_options":
        return profiling_options.parse(mapping, chip=chip, strict=strict)
    if dialect == "acl_json":
        read = acl_json.parse_document if acl_json.SECTION in mapping else acl_json.parse
        return read(mapping, chip=chip, strict=strict)
    if dialect == "msprof_cli":
        return msprof_cli.parse(mapping, chip=chip, require_target=False)
    if dialect == "experimental_config":
        return experimental_config.parse(mapping, chip=chip)
    return parse_request(mapping)


def parse_document(text: str, *, chip: str = DEFAULT_CHIP, strict: bool = False, where: str = "") -> Parsed:
    """
    Read JSON or YAML text in the dialect that `detect_dialect` finds.

    Text that only the reader of ``profiling_options`` understands (the option list of 2020, continued lines) is read by
    it; JSON with a mistake gets its pointed message.

    Raises
    ------
    OptionError
        With every problem; *where* names the document in those that concern its text.
    """
    try:
        mapping = load_json(text, where)
    except OptionError:
        if _collector_text(text):
            return profiling_options.parse(text, chip=chip, strict=strict)
        return parse_mapping(load_yaml(text, where), chip=chip, strict=strict)
    if isinstance(mapping, Mapping) and detect_dialect(mapping) == "profiling_options":
        return profiling_options.parse(text, chip=chip, strict=strict)
    return parse_mapping(mapping, chip=chip, strict=strict)


def _collector_text(text: str) -> bool:
    """Whether text that is not JSON was meant for the collector: quoted JSON gone wrong, or the list of 2020."""
    words = {word.strip() for word in text.strip().split(":")}
    return (text.lstrip().startswith("{") and '"' in text) or words <= profiling_options.LEGACY_WORDS
