"""What is left of ``npu_bridge.estimator.npu.util``: the values a process keeps, and small helpers on sessions."""

from __future__ import annotations

from typing import Any

import tensorflow.compat.v2 as tf

from drynpu_tf.bridge.ranks import get_rank_size

_VALUES: dict[str, Any] = {}
"""The vendor's own process-wide dictionary, behind `set_value` and `get_value`."""


def global_dict_init() -> None:
    """Forget all values."""
    _VALUES.clear()


def set_value(key: str, value: Any) -> None:
    """Keep a value."""
    _VALUES[key] = value


def get_value(key: str, def_value: Any = None) -> Any:
    """Return a value that was kept, else *def_value*."""
    return _VALUES.get(key, def_value)


def get_ranksize() -> int:
    """Return the number of ranks."""
    return get_rank_size()


def npu_compile(sess: Any, *fetches: Any) -> None:
    """Run *fetches* once, which is what makes a device compile them."""
    sess.run(fetches)


def variable_initializer_in_host(var_list: Any) -> tf.Operation:
    """Return an operator that initializes *var_list*."""
    return tf.compat.v1.variables_initializer(var_list, name="var_in_host")
