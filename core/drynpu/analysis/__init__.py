"""
What a profile means: which operator launched what, steps, overlap, statistics, memory, a summary.

Every function takes a loaded profile (:class:`drynpu.tables.Profile`) and gives a polars table with raw numbers;
how they are printed is for ``export`` and ``views``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from drynpu._lazy import lazy_room

if TYPE_CHECKING:
    from drynpu.analysis._absent_files import AbsentFile
    from drynpu.analysis._bandwidth import llc_averages, memory_averages
    from drynpu.analysis._cluster import cluster_links, cluster_ranks, cluster_steps
    from drynpu.analysis._cluster_schemas import CLUSTER_LINKS, CLUSTER_RANKS, CLUSTER_STEPS
    from drynpu.analysis._comparison import COMPARED, COMPARED_TYPES, Comparison, compare_profiles
    from drynpu.analysis._graph import (
        ITERATION_TRACE,
        GraphIterations,
        graph_iterations,
        graph_names,
        infer_ids,
        iteration_trace,
    )
    from drynpu.analysis._host_phases import HOST_PHASES, host_phases
    from drynpu.analysis._interconnect import hccs_summary, pcie_summary, port_summary, shown_hccs
    from drynpu.analysis._intervals import HOST_ERROR, step_intervals_us, total_interval_us
    from drynpu.analysis._kept import once_per_profile
    from drynpu.analysis._launched_steps import launched_step_trace
    from drynpu.analysis._memory import MEMORY_RECORD, OPERATOR_MEMORY, memory_record, operator_memory
    from drynpu.analysis._memory_blocks import (
        CATEGORIES,
        MEMORY_BLOCKS,
        component_memory,
        framework_lives,
        live_blocks,
        memory_blocks,
    )
    from drynpu.analysis._modules import MODULE_CALLS, module_calls, modules_at
    from drynpu.analysis._outliers import slow_links, slow_ranks
    from drynpu.analysis._phases import STEP_PHASES, step_phases
    from drynpu.analysis._scopes import SCOPE_BARS, scope_bars
    from drynpu.analysis._sides import changed_options, objections, refusal_text, run_facts
    from drynpu.analysis._statistics import API_STATISTIC, OP_STATISTIC, api_statistic, op_statistic
    from drynpu.analysis._steps import HOST_STEPS, STEP_RANGES, host_steps, launched_ranges, step_ranges, steps_at
    from drynpu.analysis._summary import Busy, KernelShare, Summary, summarise
    from drynpu.analysis._toolkit_memory import TOOLKIT_MEMORY, toolkit_memory
    from drynpu.analysis.communication import (
        COMMUNICATION_STATISTIC,
        COMMUNICATION_TIME,
        COMMUNICATION_TRANSFERS,
        communication_statistic,
        communication_steps,
        communication_time,
        communication_transfers,
        launched_communication_steps,
    )
    from drynpu.analysis.launches import (
        EVENT_APIS,
        MINDSPORE_LAUNCHES,
        MINDSPORE_STEP_TRACE,
        MINDSPORE_STEPS,
        mindspore_launches,
        mindspore_step_at,
        mindspore_step_trace,
        mindspore_steps,
        select_mindspore_steps,
    )
    from drynpu.analysis.links import KERNEL_OP, Links, link_operators
    from drynpu.analysis.operators import OPERATOR_DETAILS, STACK_METRICS, operator_details, stack_times
    from drynpu.analysis.overlaps import OVERLAP, OVERLAP_KINDS, STEP_TRACE, overlap, step_trace
else:
    __getattr__ = lazy_room(__name__)

__all__ = [
    "API_STATISTIC",
    "CATEGORIES",
    "CLUSTER_LINKS",
    "CLUSTER_RANKS",
    "CLUSTER_STEPS",
    "COMMUNICATION_STATISTIC",
    "COMMUNICATION_TIME",
    "COMMUNICATION_TRANSFERS",
    "COMPARED",
    "COMPARED_TYPES",
    "EVENT_APIS",
    "HOST_ERROR",
    "HOST_PHASES",
    "HOST_STEPS",
    "ITERATION_TRACE",
    "KERNEL_OP",
    "MEMORY_BLOCKS",
    "MEMORY_RECORD",
    "MINDSPORE_LAUNCHES",
    "MINDSPORE_STEPS",
    "MINDSPORE_STEP_TRACE",
    "MODULE_CALLS",
    "OPERATOR_DETAILS",
    "OPERATOR_MEMORY",
    "OP_STATISTIC",
    "OVERLAP",
    "OVERLAP_KINDS",
    "SCOPE_BARS",
    "STACK_METRICS",
    "STEP_PHASES",
    "STEP_RANGES",
    "STEP_TRACE",
    "TOOLKIT_MEMORY",
    "AbsentFile",
    "Busy",
    "Comparison",
    "GraphIterations",
    "KernelShare",
    "Links",
    "Summary",
    "api_statistic",
    "changed_options",
    "cluster_links",
    "cluster_ranks",
    "cluster_steps",
    "communication_statistic",
    "communication_steps",
    "communication_time",
    "communication_transfers",
    "compare_profiles",
    "component_memory",
    "framework_lives",
    "graph_iterations",
    "graph_names",
    "hccs_summary",
    "host_phases",
    "host_steps",
    "infer_ids",
    "iteration_trace",
    "launched_communication_steps",
    "launched_ranges",
    "launched_step_trace",
    "link_operators",
    "live_blocks",
    "llc_averages",
    "memory_averages",
    "memory_blocks",
    "memory_record",
    "mindspore_launches",
    "mindspore_step_at",
    "mindspore_step_trace",
    "mindspore_steps",
    "module_calls",
    "modules_at",
    "objections",
    "once_per_profile",
    "op_statistic",
    "operator_details",
    "operator_memory",
    "overlap",
    "pcie_summary",
    "port_summary",
    "refusal_text",
    "run_facts",
    "scope_bars",
    "select_mindspore_steps",
    "shown_hccs",
    "slow_links",
    "slow_ranks",
    "stack_times",
    "step_intervals_us",
    "step_phases",
    "step_ranges",
    "step_trace",
    "steps_at",
    "summarise",
    "toolkit_memory",
    "total_interval_us",
]
