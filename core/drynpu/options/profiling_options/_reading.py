"""
Options as a script gives them (text, bytes, a mapping, nothing) become plain keys and values.

Names that older releases took, and names that belong to another surface, are known here as well.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from attrs import frozen

from drynpu._errors import OptionError
from drynpu.options._notices import Notice, NoticeCode, warning
from drynpu.options._problems import shown, shown_key
from drynpu.options.profiling_options._keys import ACL_JSON, GE_OPTIONS, Surface

LEGACY_WORDS = frozenset({"training_trace", "task_trace", "op_trace"})
"""Members of the colon-separated option list of 2020."""

# A shell or a raw string leaves the backslash in front of the end of a line.
_CONTINUATION = re.compile(r"\\[ \t]*\r?\n")
# The commonest slip in hand-written options: the quote in front of a key.
_MISSING_QUOTE = re.compile(r"[{,]\s*([A-Za-z_][A-Za-z0-9_]*)\"\s*:")


@frozen(kw_only=True)
class Document:
    """
    Options as given.

    ``form`` is ``empty``, ``legacy`` or ``json``; ``values`` are the keys of a JSON document, or the words of a legacy
    list with the value ``on``.
    """

    form: str
    values: Mapping[str, Any]
    notices: tuple[Notice, ...] = ()


def read_document(options: object, surface: Surface, *, strict: bool) -> Document:
    """
    Read *options*: ``None``, text, UTF-8 bytes, or a mapping that would have been the JSON object.

    Raises
    ------
    OptionError
        For other types, text that is not a JSON object, and (strict) what only the lenient reading accepts.
    """
    if options is None:
        return Document(form="empty", values={})
    if isinstance(options, Mapping):
        return Document(form="json" if options else "empty", values={_key_text(k): v for k, v in options.items()})
    if isinstance(options, (bytes, bytearray)):
        options = _decode(bytes(options), surface)
    if not isinstance(options, str):
        raise OptionError([f"{surface.name}: {shown(options)} is not options; allowed: JSON text or a mapping."])
    if not options.strip():
        return Document(form="empty", values={})
    words = options.strip().split(":")
    if surface.empty_rule and all(word.strip() in LEGACY_WORDS for word in words):
        return _legacy([word.strip() for word in words], options, surface, strict=strict)
    notices = _check_length(options, surface, strict=strict)
    text, joined = _join_lines(options, surface, strict=strict)
    values, repeated = _load(text, surface)
    return Document(form="json" if values else "empty", values=values, notices=(*notices, *joined, *repeated))


def _key_text(key: object) -> str:
    return key if isinstance(key, str) else shown(key)


def _decode(data: bytes, surface: Surface) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        problem = f"{surface.name}: {surface.value_id} {surface.syntax_reason} (not UTF-8 at byte {error.start})"
        raise OptionError([problem]) from error


def _legacy(words: list[str], options: str, surface: Surface, *, strict: bool) -> Document:
    if strict:
        raise OptionError([f"{surface.name}: {surface.value_id} value {options!r} refused: {surface.syntax_reason}"])
    message = (
        f"{options!r} is the option list of 2020; the current collector refuses it. "
        "It is read as JSON with " + ", ".join(f'"{word}":"on"' for word in words) + "."
    )
    notice = warning(surface.name, message, NoticeCode.LENIENT)
    return Document(form="legacy", values=dict.fromkeys(words, "on"), notices=(notice,))


def _check_length(text: str, surface: Surface, *, strict: bool) -> list[Notice]:
    size = len(text.encode("utf-8", "surrogatepass"))
    if size <= surface.byte_limit:
        return []
    if surface.length_fails:
        reason = f"Length of acl json config should be less than or equal to {surface.byte_limit}"
        raise OptionError([f"{surface.name}: {surface.value_id} value {size} refused: {reason}"])
    message = f"the options are {size} bytes long; the collector takes at most {surface.byte_limit}"
    if strict:
        raise OptionError([f"{surface.name}: {surface.value_id} {message}"])
    return [warning(surface.name, message, NoticeCode.LENIENT)]


def _join_lines(text: str, surface: Surface, *, strict: bool) -> tuple[str, list[Notice]]:
    """Take out backslash-newline pairs that a shell or a raw string left in the text."""
    joined = _CONTINUATION.sub(" ", text)
    if joined == text or strict:
        return text, []
    message = "backslash-newline continuations were taken out of the text; the collector would refuse it as JSON."
    return joined, [warning(surface.name, message, NoticeCode.LENIENT)]


def _load(text: str, surface: Surface) -> tuple[dict[str, Any], list[Notice]]:
    repeated: list[str] = []

    def pairs(items: list[tuple[str, Any]]) -> dict[str, Any]:
        repeated.extend(key for key, count in Counter(key for key, _ in items).items() if count > 1)
        return dict(items)

    refusal = f"{surface.name}: {surface.value_id} {surface.syntax_reason}"
    try:
        data = json.loads(text, object_pairs_hook=pairs)
    except json.JSONDecodeError as error:
        place = f"line {error.lineno} column {error.colno}: {error.msg}"
        raise OptionError([f"{refusal} ({place}){_pointer(text)}"]) from error
    except (ValueError, RecursionError) as error:
        raise OptionError([f"{refusal} ({error})"]) from error
    if not isinstance(data, dict):
        raise OptionError([f"{refusal}: {shown(data)} is no JSON object"])
    notices = [
        warning(key, f"{shown_key(key)} is given more than once; the last value counts.", NoticeCode.IGNORED)
        for key in dict.fromkeys(repeated)
    ]
    return data, notices


def _pointer(text: str) -> str:
    """Name the mistake where it is a known one: the opening quote of a key left out, or single quotes."""
    match = _MISSING_QUOTE.search(text)
    if match:
        return f'. The key {match.group(1)} lacks its opening quote; write "{match.group(1)}"'
    if "'" in text and '"' not in text:
        return ". JSON wants double quotes"
    return ""


# The names of 2020 and 2021, as GE's own tests of that time still spell them.
_RENAMED: Mapping[str, str] = MappingProxyType(
    {"result_path": "output", "aicpu_trace": "aicpu", "ai_core_metrics": "aic_metrics"}
)
# The value of the retired key scale: opType:<types>, or opType:<types>;opName:<names>.
_SCALE_PREFIX = "opType:"

# cann_msprof.md 1.3: "only as msprof command options".
_FLAGS: Mapping[str, str] = MappingProxyType(
    {
        "aic_mode": "--aic-mode",
        "aic_freq": "--aic-freq",
        "model_execution": "--model-execution",
        "sys_profiling": "--sys-profiling",
        "sys_pid_profiling": "--sys-pid-profiling",
    }
)


def current_name(name: str, value: object) -> tuple[str, object] | None:
    """
    Return the present name and value of a retired option, or ``None`` when it is none.

    ``scale`` became ``optype`` and lost its prefix; a list of operator names in it has no counterpart.
    """
    if name in _RENAMED:
        return _RENAMED[name], value
    if name == "scale" and isinstance(value, str) and value.startswith(_SCALE_PREFIX) and ";" not in value:
        return "optype", value.removeprefix(_SCALE_PREFIX)
    return None


def elsewhere(name: str, surface: Surface) -> str:
    """Return where an option that *surface* lacks does exist, as a sentence to append; ``""`` for nowhere."""
    if name in _FLAGS:
        return f" It exists only as the msprof flag {_FLAGS[name]}."
    if name == "switch" or (surface is not ACL_JSON and name in ACL_JSON.table):
        return " It is a key of acl.json."
    if surface is not GE_OPTIONS and name in GE_OPTIONS.table:
        return " It is a key of profiling_options."
    return ""
