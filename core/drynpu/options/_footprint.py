"""How many raw bytes a request leaves per kernel and per operator: an estimate from the record sizes."""

from __future__ import annotations

from collections.abc import Iterator

from attrs import frozen

from drynpu.options._request import ProfilingRequest
from drynpu.options._values import Activity, Level, MetricGroup

__all__ = ["Footprint", "RecordCost", "estimate_footprint"]

KERNEL, OPERATOR = "kernel", "operator"

# Record sizes: cann_msprof.md 7.3 and 7.4, torch_npu_profiler.md 3.7.
_API, _COMPACT, _ADDITIONAL = 40, 64, 256
_STARS, _FFTS = 64, 128
_TLV_HEAD = 6
_OP_RANGE, _OP_MARK, _MEMORY_USAGE, _PYTHON_CALL = 58, 40, 77, 33

# Assumptions about an average operator, not facts: lengths of texts and how often things happen.
ASSUMED_NAME_BYTES = 20
ASSUMED_SHAPE_TEXT_BYTES = 80
"""Dtypes, shapes, tensors and scalars of one operator, as text in five fields."""
ASSUMED_MODULE_TEXT_BYTES = 60
ASSUMED_PYTHON_CALLS = 4
"""Python functions entered and left per operator."""


@frozen
class RecordCost:
    """One kind of record: how many bytes of it one kernel or operator leaves, and which option asks for it."""

    record: str
    option: str
    per: str
    bytes: float


@frozen
class Footprint:
    """The estimate with its parts. Rates per second (sampled items) are not in it: they do not grow with kernels."""

    parts: tuple[RecordCost, ...]

    @property
    def bytes_per_kernel(self) -> float:
        """Raw bytes under ``PROF_*`` per kernel."""
        return sum(part.bytes for part in self.parts if part.per == KERNEL)

    @property
    def bytes_per_operator(self) -> float:
        """Raw bytes under ``FRAMEWORK/`` per framework operator."""
        return sum(part.bytes for part in self.parts if part.per == OPERATOR)

    def of_option(self, option: str, per: str) -> float:
        """Return the share of one option path; *per* is ``kernel`` or ``operator``."""
        return sum(part.bytes for part in self.parts if part.option == option and part.per == per)

    def total_bytes(self, *, kernels: int, operators: int) -> float:
        """Return the bytes of a run with that many kernels and operators."""
        return kernels * self.bytes_per_kernel + operators * self.bytes_per_operator


def estimate_footprint(request: ProfilingRequest) -> Footprint:
    """
    Estimate the raw bytes per kernel and per operator.

    Per kernel, with the device recorded (sizes of cann_msprof.md 7.3, 7.4)::

        L0 and up   2 x 64 stars_soc (start, end) + 64 task_track + 2 x 40 api_event (node launch, runtime launch)
        acl_api     + 40 api_event
        L1 and up   + 64 node_basic_info + 256 tensor_info (five tensors fit into one)
        counters    + 128 ffts_profile, L1 and up
        runtime_api + 40 api_event, one further runtime call
        attributes  + 64 node_attr_info, with op_attributes
        task_memory + 2 x 256 task_memory_info (allocation, release)

    Per operator, with the host recorded (torch_npu_profiler.md 3.7; a field has a head of 6 bytes)::

        always          6 + 58 op_range + 6 + 20 name + 4 x (6 + 40) op_mark (queue in and out, start and end)
        record_shapes   + 5 x 6 + 80 text
        with_modules    + 6 + 60 text
        profile_memory  + 2 x (6 + 77) memory_usage
        with_stack      + 2 x 4 x 33 python_tracer_func

    Lengths of texts, the two memory events, the one further runtime call and the four Python functions per operator
    are assumptions about an average operator. User marks and sampled items depend on neither count and are left out.
    """
    return Footprint((*_kernel_costs(request), *_operator_costs(request)))


def _kernel_costs(request: ProfilingRequest) -> Iterator[RecordCost]:
    if Activity.DEVICE not in request.activities or request.level is Level.NONE:
        return
    switches = request.switches
    yield RecordCost("stars_soc", "level", KERNEL, 2 * _STARS)
    yield RecordCost("task_track", "level", KERNEL, _COMPACT)
    yield RecordCost("api_event", "level", KERNEL, 2 * _API)
    if request.level >= Level.L1:
        yield RecordCost("node_basic_info", "level", KERNEL, _COMPACT)
        yield RecordCost("tensor_info", "level", KERNEL, _ADDITIONAL)
        if request.aic_metrics is not MetricGroup.NONE:
            yield RecordCost("ffts_profile", "aic_metrics", KERNEL, _FFTS)
    if switches.acl_api:
        yield RecordCost("api_event", "switches.acl_api", KERNEL, _API)
    if switches.runtime_api:
        yield RecordCost("api_event", "switches.runtime_api", KERNEL, _API)
    if switches.op_attributes:
        yield RecordCost("node_attr_info", "switches.op_attributes", KERNEL, _COMPACT)
    if switches.task_memory:
        yield RecordCost("task_memory_info", "switches.task_memory", KERNEL, 2 * _ADDITIONAL)


def _operator_costs(request: ProfilingRequest) -> Iterator[RecordCost]:
    if Activity.HOST not in request.activities:
        return
    switches = request.switches
    name = _TLV_HEAD + ASSUMED_NAME_BYTES
    yield RecordCost("op_range", "activities", OPERATOR, _TLV_HEAD + _OP_RANGE + name)
    yield RecordCost("op_mark", "activities", OPERATOR, 4 * (_TLV_HEAD + _OP_MARK))
    if switches.record_shapes:
        yield RecordCost("op_range", "switches.record_shapes", OPERATOR, 5 * _TLV_HEAD + ASSUMED_SHAPE_TEXT_BYTES)
    if switches.with_modules:
        yield RecordCost("op_range", "switches.with_modules", OPERATOR, _TLV_HEAD + ASSUMED_MODULE_TEXT_BYTES)
    if switches.profile_memory:
        yield RecordCost("memory_usage", "switches.profile_memory", OPERATOR, 2 * (_TLV_HEAD + _MEMORY_USAGE))
    if switches.with_stack:
        calls = 2 * ASSUMED_PYTHON_CALLS * _PYTHON_CALL
        yield RecordCost("python_tracer_func", "switches.with_stack", OPERATOR, calls)
