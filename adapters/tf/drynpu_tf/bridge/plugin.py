"""``npu_plugin``: opening and closing the device for programs that do not go through a session's options."""

from __future__ import annotations

import os

from drynpu import say_once
from drynpu_tf.bridge import utilities


def npu_resource_init(
    graph_run_mode: int = 1,
    op_debug_level: int = 0,
    enable_profiling: bool = False,
    profiling_options: str | None = None,
    auto_tune_mode: str | None = None,
    precision_mode: str | None = None,
    enable_scope_fusion_passes: str | None = None,
    enable_exception_dump: int = 2,
    aoe_mode: str | None = None,
    work_path: str | None = None,
    op_compiler_cache_mode: str | None = None,
    op_compiler_cache_dir: str | None = None,
    debug_dir: str | None = None,
    hcom_multi_mode: bool = False,
    **others: object,
) -> None:
    """
    Check the options as the vendor does, and hand profiling to later sessions by ``PROFILING_MODE``.

    Raises
    ------
    TypeError, ValueError
        With the vendor's messages.
    """
    utilities.check_nonnegative_integer(graph_run_mode, "graph_run_mode")
    if graph_run_mode > 1:
        raise ValueError('"graph_run_mode" value must be 0 or 1')
    utilities.check_nonnegative_integer(enable_exception_dump, "enable_exception_dump")
    utilities.check_nonnegative_integer(op_debug_level, "op_debug_level")
    utilities.check_bool_type(enable_profiling, "enable_profiling")
    utilities.check_bool_type(hcom_multi_mode, "hcom_multi_mode")
    if not enable_profiling:
        return
    if profiling_options is None:
        raise ValueError("profiling_options must be set when use profiling")
    say_once("npu_resource_init: profiling is handed to the sessions by PROFILING_MODE and PROFILING_OPTIONS")
    os.environ["PROFILING_MODE"] = "true"
    os.environ["PROFILING_OPTIONS"] = str(profiling_options)


def npu_resource_shutdown() -> None:
    """Do nothing: sessions end by themselves."""


npu_close = npu_resource_shutdown
