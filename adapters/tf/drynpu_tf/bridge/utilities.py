"""``npu_bridge.estimator.npu.util``: checks with the vendor's messages, values of the process, helpers on sessions."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import tensorflow.compat.v2 as tf

from drynpu.options.profiling_options import LEGACY_WORDS
from drynpu_tf.foreign import Fetches, Session, Variable

_TUNING_MODES = ("1", "2", "3", "4")

_VALUES: dict[str, Any] = {}
"""The vendor's own process-wide dictionary, behind `set_value` and `get_value`."""


def check_not_none(value: object, name: str) -> None:
    """Raise ``ValueError`` for ``None``."""
    if value is None:
        raise ValueError(f"{name} must not be None")


def check_positive_integer(value: object, name: str) -> None:
    """Raise ``TypeError`` for what is no int (a bool is one), ``ValueError`` for one below 1."""
    _check_integer(value, name, 1, "positive")


def check_nonnegative_integer(value: object, name: str) -> None:
    """Raise ``TypeError`` for what is no int (a bool is one), ``ValueError`` for one below 0."""
    _check_integer(value, name, 0, "nonnegative")


def _check_integer(value: object, name: str, least: int, word: str) -> None:
    if not isinstance(value, int):
        raise TypeError(f"{name} must be int, got {type(value)}")
    if value < least:
        raise ValueError(f"{name} must be {word}, got {value}")


def check_bool_type(value: object, name: str) -> None:
    """Raise ``TypeError`` for what is no bool."""
    if not isinstance(value, bool):
        raise TypeError(f"{name} must be True or False, got {value}")


def convert_bool_to_int(value: object) -> int:
    """Return 1 for ``True``, 0 for ``False``, -1 for anything else."""
    return int(value) if isinstance(value, bool) else -1


def format_string(value: object, name: str) -> str:
    """Return a str as it is, ``""`` for ``None``; raise ``TypeError`` for anything else."""
    if value is None:
        return ""
    if not isinstance(value, str):
        raise TypeError(f"{name} must be string, got {type(value)}")
    return value


def check_profiling_options(profiling_options: Sequence[str] = ()) -> str:
    """Return the profiling options of 2020 joined by colons; raise ``ValueError`` for none or for any other."""
    if not profiling_options or any(option not in LEGACY_WORDS for option in profiling_options):
        raise ValueError("profiling options must be in `training_trace`, `task_trace` or `op_trace`")
    return ":".join(profiling_options)


def check_path(path: str) -> str:
    """Return the real path of a directory that can be read and written; raise ``ValueError`` otherwise."""
    if not Path(path).exists():
        raise ValueError(f"path:{path} is not exists.")
    real = Path(path).resolve()
    if not real.is_dir():
        raise ValueError(f"path:{path} is not directory.")
    if not os.access(real, os.R_OK | os.W_OK):
        raise ValueError(f"path:{path} is not read and write permissions.")
    return str(real)


def check_mstune_mode(mstune_mode: object) -> None:
    """Raise ``ValueError`` for a tuning mode that is none of the strings 1 to 4."""
    if mstune_mode not in _TUNING_MODES:
        raise ValueError("mstune_mode is valid, should be in ['1', '2', '3', '4']")


def global_dict_init() -> None:
    """Forget all values."""
    _VALUES.clear()


def set_value(key: str, value: object) -> None:
    """Keep a value."""
    _VALUES[key] = value


def get_value(key: str, def_value: object = None) -> Any:
    """Return a value that was kept, else *def_value*."""
    return _VALUES.get(key, def_value)


def npu_compile(sess: Session, *fetches: Fetches) -> None:
    """Run *fetches* once, which is what makes a device compile them."""
    sess.run(fetches)


def variable_initializer_in_host(var_list: Iterable[Variable] | None) -> tf.Operation:
    """Return an operator that initializes *var_list*."""
    return tf.compat.v1.variables_initializer(var_list, name="var_in_host")
