"""The functions of ``acl.prof``: names, argument formats and what answers (pyacl_prof.md 2)."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from drynpu_acl.binding import Binder
from drynpu_acl.constants import ReturnCode
from drynpu_acl.prof._profiling import Profiling
from drynpu_acl.prof._records import RECORD_BYTES

_SPELT = {
    "init": "Init",
    "model_un_subscribe": "model_unsubscribe",
    **dict.fromkeys(("get_op_type_v2", "get_op_type_len"), "get_op_type"),
    **dict.fromkeys(("get_op_name_v2", "get_op_name_len"), "get_op_name"),
}
"""The names in the texts of parse errors of functions where the vendor writes another name."""


def functions(profiling: Profiling) -> dict[str, Callable[..., Any]]:
    """Return all functions by name, working on *profiling*."""
    p, readers, calls, subscribing = profiling, profiling.readers, profiling.calls, profiling.subscribing
    value = partial(partial, readers.value)
    table: tuple[tuple[str, str, Callable[..., Any]], ...] = (
        ("create_config", "OikK", calls.create_config),
        ("destroy_config", "k", calls.destroy_config),
        ("init", "s", calls.init),
        ("finalize", "", calls.finish),
        ("start", "k", calls.start),
        ("stop", "k", calls.stop),
        ("set_config", "is", calls.set_config),
        ("model_subscribe", "Ik", subscribing.subscribe),
        ("model_unsubscribe", "I", subscribing.unsubscribe),
        ("model_un_subscribe", "I", subscribing.unsubscribe),
        ("create_subscribe_config", "bii", subscribing.create_config),
        ("destroy_subscribe_config", "k", subscribing.destroy_config),
        ("get_op_desc_size", "", _desc_size),
        ("get_op_num", "kk", readers.number),
        ("get_op_type", "kkIk", partial(readers.text, "type")),
        ("get_op_name", "kkIk", partial(readers.text, "name")),
        ("get_op_type_v2", "kkI", partial(readers.text_v2, "type")),
        ("get_op_name_v2", "kkI", partial(readers.text_v2, "name")),
        ("get_op_type_len", "kkI", partial(readers.text_length, "type")),
        ("get_op_name_len", "kkI", partial(readers.text_length, "name")),
        ("get_op_start", "kkI", value("start_us", missing=0)),
        ("get_op_end", "kkI", value("end_us", missing=0)),
        ("get_op_duration", "kkI", value("duration_us", missing=0)),
        ("get_model_id", "kkI", value("model_id", missing=ReturnCode.INVALID_PARAM)),
        ("create_step_info", "", p.steps.create),
        ("destroy_step_info", "k", p.steps.destroy),
        ("get_step_timestamp", "kik", p.get_step_timestamp),
        ("create_stamp", "", p.create_stamp),
        ("destroy_stamp", "k", p.stamps.destroy),
        ("set_stamp_trace_message", "ksI", p.stamps.set_message),
        ("mark", "k", p.stamps.mark),
        ("mark_ex", "sk", p.mark_ex),
        ("push", "k", p.stamps.push),
        ("pop", "", p.stamps.pop),
        ("range_start", "k", p.stamps.range_start),
        ("range_stop", "I", p.stamps.range_stop),
    )
    # No listener gets these calls: a recording does not show what controls it.
    bind = Binder("acl.prof", "aclprof", lambda: None)
    return {name: bind(name, letters, call, api="", refused=_refusal(name)) for name, letters, call in table}


def _refusal(name: str) -> str:
    """Return the text of parse errors of a function: the vendor writes other names for some, and ``!`` after most."""
    mark = "" if name.startswith(("get_", "model_")) or name.endswith(("subscribe_config", "step_info")) else "!"
    return f"acl.prof.{_SPELT.get(name, name)} args parse failed{mark}"


def _desc_size() -> tuple[int, int]:
    """Return the bytes of a record, and the code."""
    return RECORD_BYTES, ReturnCode.SUCCESS
