"""How many raw bytes a request leaves per kernel, operator, step and second: an estimate from the record sizes."""

from __future__ import annotations

from collections.abc import Iterator

from attrs import frozen

from drynpu.options._request import ProfilingRequest
from drynpu.options._sampled_costs import sampled_bytes
from drynpu.options._values import Activity, Level, MetricGroup

__all__ = ["KERNEL", "OPERATOR", "SECOND", "STEP", "Footprint", "RecordCost", "estimate_footprint"]

KERNEL, OPERATOR, STEP, SECOND = "kernel", "operator", "step", "second"

# Record sizes: cann_msprof.md 7.3 and 7.4, torch_npu_profiler.md 3.7.
_API, _COMPACT, _ADDITIONAL = 40, 64, 256
_STARS, _FFTS, _L2_CACHE, _TS_TRACK = 64, 128, 72, 40
_KEY_POINTS = 5
"""Model start and end, forward start, backward end, iteration end (cann_msprof.md 5)."""
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
    """
    One kind of record: how many bytes of it one kernel, operator, step or second leaves, and which option asks for it.

    ``per`` is ``kernel``, ``operator``, ``step`` or ``second``.
    """

    record: str
    option: str
    per: str
    bytes: float


@frozen
class Footprint:
    """The estimate with its parts."""

    parts: tuple[RecordCost, ...]

    @property
    def bytes_per_kernel(self) -> float:
        """Raw bytes under ``PROF_*`` per kernel."""
        return self._per(KERNEL)

    @property
    def bytes_per_operator(self) -> float:
        """Raw bytes under ``FRAMEWORK/`` per framework operator."""
        return self._per(OPERATOR)

    @property
    def bytes_per_second(self) -> float:
        """Raw bytes of the items sampled by time, per second of recording."""
        return self._per(SECOND)

    def _per(self, per: str) -> float:
        return sum(part.bytes for part in self.parts if part.per == per)

    def bytes_per_step(self, *, kernels: float, operators: float = 0, step_s: float = 0) -> float:
        """
        Return the raw bytes of one step.

        Parameters
        ----------
        kernels, operators:
            How many one step runs.
        step_s:
            How long it takes, for the items sampled by time.
        """
        counts = {KERNEL: kernels, OPERATOR: operators, STEP: 1, SECOND: step_s}
        return sum(part.bytes * counts[part.per] for part in self.parts)

    def of_option(self, option: str, per: str) -> float:
        """Return the share of one option path; *per* is ``kernel``, ``operator``, ``step`` or ``second``."""
        return sum(part.bytes for part in self.parts if part.option == option and part.per == per)

    def total_bytes(self, *, kernels: int, operators: int, steps: int = 0, seconds: float = 0) -> float:
        """Return the bytes of a run with that many kernels, operators and steps that records for *seconds*."""
        counts = {KERNEL: kernels, OPERATOR: operators, STEP: steps, SECOND: seconds}
        return sum(part.bytes * counts[part.per] for part in self.parts)


def estimate_footprint(request: ProfilingRequest, chip: str = "5") -> Footprint:
    """
    Estimate the raw bytes per kernel, operator, step and second; *chip* decides what is sampled.

    Per kernel, with the device recorded (sizes of cann_msprof.md 7.3, 7.4)::

        L0 and up   2 x 64 stars_soc (start, end) + 64 task_track + 2 x 40 api_event (node launch, runtime launch)
        acl_api     + 40 api_event
        L1 and up   + 64 node_basic_info + 256 tensor_info (five tensors fit into one)
        counters    + 128 ffts_profile, L1 and up
        runtime_api + 40 api_event, one further runtime call
        attributes  + 64 node_attr_info, with op_attributes
        task_memory + 2 x 256 task_memory_info (allocation, release)
        l2_cache    + 72 l2_cache

    Per operator, with the host recorded (torch_npu_profiler.md 3.7; a field has a head of 6 bytes)::

        always          6 + 58 op_range + 6 + 20 name + 4 x (6 + 40) op_mark (queue in and out, start and end)
        record_shapes   + 5 x 6 + 80 text
        with_modules    + 6 + 60 text
        profile_memory  + 2 x (6 + 77) memory_usage
        with_stack      + 2 x 4 x 33 python_tracer_func

    Per step, with the iteration trace: 5 x 40 ts_track. Per second: rate x size of the records of every sampled item.

    Lengths of texts, the two memory events, the one further runtime call and the four Python functions per operator
    are assumptions about an average operator; what one sample of an item holds is partly assumed, too. User marks, the
    records of instruction profiling and those of communication depend on none of these counts and are left out.

    Raises
    ------
    OptionError
        For an unknown chip.
    """
    sampled = (RecordCost(item.record, item.option, SECOND, item.bytes) for item in sampled_bytes(request, chip))
    return Footprint((*_kernel_costs(request), *_operator_costs(request), *_step_costs(request), *sampled))


def _step_costs(request: ProfilingRequest) -> Iterator[RecordCost]:
    if Activity.DEVICE in request.activities and request.switches.training_trace:
        yield RecordCost("ts_track", "switches.training_trace", STEP, _KEY_POINTS * _TS_TRACK)


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
        if request.aic_metrics is not MetricGroup.NONE and request.sampling.ai_core_hz is None:
            yield RecordCost("ffts_profile", "aic_metrics", KERNEL, _FFTS)
    if switches.acl_api:
        yield RecordCost("api_event", "switches.acl_api", KERNEL, _API)
    if switches.runtime_api:
        yield RecordCost("api_event", "switches.runtime_api", KERNEL, _API)
    if switches.op_attributes:
        yield RecordCost("node_attr_info", "switches.op_attributes", KERNEL, _COMPACT)
    if switches.task_memory:
        yield RecordCost("task_memory_info", "switches.task_memory", KERNEL, 2 * _ADDITIONAL)
    if switches.l2_cache:
        yield RecordCost("l2_cache", "switches.l2_cache", KERNEL, _L2_CACHE)


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
