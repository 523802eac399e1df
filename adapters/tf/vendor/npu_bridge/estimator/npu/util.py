"""``util``: checks, loops, values of the process."""

from __future__ import annotations

from drynpu_tf.bridge.iterations import (
    IterationPerLoop,
    create_or_get_var,
    register_func,
    set_graph_exec_config,
    set_iteration_per_loop,
)
from drynpu_tf.bridge.ranks import get_rank_size as get_ranksize
from drynpu_tf.bridge.shared_updates import (
    GradDivisionItem,
    add_grads_and_vars,
    fair_division,
    get_all_grad_item,
    get_gid_by_grad,
    get_gid_by_weight,
)
from drynpu_tf.bridge.utilities import (
    check_bool_type,
    check_mstune_mode,
    check_nonnegative_integer,
    check_not_none,
    check_path,
    check_positive_integer,
    check_profiling_options,
    convert_bool_to_int,
    format_string,
    get_value,
    global_dict_init,
    npu_compile,
    set_value,
    variable_initializer_in_host,
)

__all__ = [
    "GradDivisionItem",
    "IterationPerLoop",
    "add_grads_and_vars",
    "check_bool_type",
    "check_mstune_mode",
    "check_nonnegative_integer",
    "check_not_none",
    "check_path",
    "check_positive_integer",
    "check_profiling_options",
    "convert_bool_to_int",
    "create_or_get_var",
    "fair_division",
    "format_string",
    "get_all_grad_item",
    "get_gid_by_grad",
    "get_gid_by_weight",
    "get_ranksize",
    "get_value",
    "global_dict_init",
    "npu_compile",
    "register_func",
    "set_graph_exec_config",
    "set_iteration_per_loop",
    "set_value",
    "variable_initializer_in_host",
]
