"""
Operators to kernels.

An operator signature is mapped to a plan once (the rule book), each kernel of the plan is costed once per chip
(the cost model), and launches are gathered by index (jitter, counters), so that nothing here works per launch in
Python. The counters, and the columns made from them, all come from one physical account of a kernel.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from drynpu._lazy import lazy_room

if TYPE_CHECKING:
    from drynpu.kernels._account import KernelCost
    from drynpu.kernels._attention_blocks import SOFTMAX_GRADIENT_OPS, SOFTMAX_OPS, is_gradient
    from drynpu.kernels._attention_shapes import attention_pairs
    from drynpu.kernels._binding import Binding
    from drynpu.kernels._calibration import (
        CALIBRATION_VARIABLE,
        CONSTANT_SUFFIX,
        Calibration,
        Coefficient,
        Factors,
        Generation,
        Level,
        bundled_calibration,
        load_calibration,
        usual_calibration,
        width_by_duration,
    )
    from drynpu.kernels._call import NO_DATA, Key, Operator, OperatorCall, bind
    from drynpu.kernels._columns import absent_columns, core_columns, core_metrics, metric_columns
    from drynpu.kernels._core import CoreCounters
    from drynpu.kernels._cost import MODEL_VERSION, cost, task_type_on
    from drynpu.kernels._counter_groups import counter_group, metric_column_names
    from drynpu.kernels._counters import CounterValues, counter_values, event_codes
    from drynpu.kernels._elements import counted_types, element_operations
    from drynpu.kernels._estimate import Estimate, estimate
    from drynpu.kernels._families import family_of, is_of_family, is_prolog
    from drynpu.kernels._jitter import draw_quantiles, jitter, occurrences
    from drynpu.kernels._joining import concatenate, merge_equal, used_entries
    from drynpu.kernels._named import Named
    from drynpu.kernels._nodes import (
        NodeCall,
        framed,
        node_signature,
    )
    from drynpu.kernels._operators import Accesses, Allocations, Call, Operators
    from drynpu.kernels._pipes import l2_window, overflow_share, presumed_cold
    from drynpu.kernels._rules import (
        UNMAPPED_SUFFIX,
        Rule,
        RuleBook,
        broadcast_shape,
        build_rule_book,
        copy_kernel,
        copy_plan,
        join_rules,
        opaque_plan,
        unmapped_plan,
    )
    from drynpu.kernels._shapes_of_work import image_positions, product_edges, prolog_edges
    from drynpu.kernels._specs import (
        computed_on_cpu,
        launches_nothing,
        output_tiles,
        plan_of,
        tensor_like,
    )
    from drynpu.kernels._table import CostTable
    from drynpu.kernels._table_rows import table_rows
    from drynpu.kernels._traffic import LINE_BYTES
    from drynpu.kernels._tuning import Fixed, Tuning
    from drynpu.kernels._types import (
        CORE_TASKS,
        DTYPES,
        FORMATS,
        Copy,
        DType,
        KernelPlan,
        KernelSpec,
        Placement,
        Signature,
        TaskType,
        TensorDesc,
    )
else:
    __getattr__ = lazy_room(__name__)

__all__ = [
    "CALIBRATION_VARIABLE",
    "CONSTANT_SUFFIX",
    "CORE_TASKS",
    "DTYPES",
    "FORMATS",
    "LINE_BYTES",
    "MODEL_VERSION",
    "NO_DATA",
    "SOFTMAX_GRADIENT_OPS",
    "SOFTMAX_OPS",
    "UNMAPPED_SUFFIX",
    "Accesses",
    "Allocations",
    "Binding",
    "Calibration",
    "Call",
    "Coefficient",
    "Copy",
    "CoreCounters",
    "CostTable",
    "CounterValues",
    "DType",
    "Estimate",
    "Factors",
    "Fixed",
    "Generation",
    "KernelCost",
    "KernelPlan",
    "KernelSpec",
    "Key",
    "Level",
    "Named",
    "NodeCall",
    "Operator",
    "OperatorCall",
    "Operators",
    "Placement",
    "Rule",
    "RuleBook",
    "Signature",
    "TaskType",
    "TensorDesc",
    "Tuning",
    "absent_columns",
    "attention_pairs",
    "bind",
    "broadcast_shape",
    "build_rule_book",
    "bundled_calibration",
    "computed_on_cpu",
    "concatenate",
    "copy_kernel",
    "copy_plan",
    "core_columns",
    "core_metrics",
    "cost",
    "counted_types",
    "counter_group",
    "counter_values",
    "draw_quantiles",
    "element_operations",
    "estimate",
    "event_codes",
    "family_of",
    "framed",
    "image_positions",
    "is_gradient",
    "is_of_family",
    "is_prolog",
    "jitter",
    "join_rules",
    "l2_window",
    "launches_nothing",
    "load_calibration",
    "merge_equal",
    "metric_column_names",
    "metric_columns",
    "node_signature",
    "occurrences",
    "opaque_plan",
    "output_tiles",
    "overflow_share",
    "plan_of",
    "presumed_cold",
    "product_edges",
    "prolog_edges",
    "table_rows",
    "task_type_on",
    "tensor_like",
    "unmapped_plan",
    "used_entries",
    "usual_calibration",
    "width_by_duration",
]
