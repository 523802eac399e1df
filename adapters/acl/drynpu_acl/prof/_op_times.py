"""The records of one run of a subscribed model, from the same model of the device that a recording uses."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from attrs import define, field

from drynpu.arrays import I64, Records
from drynpu.device import fifo
from drynpu.kernels import KernelPlan, KernelSpec, Operators, Signature, TaskType, jitter, occurrences
from drynpu.options import Clock
from drynpu.platforms import Chip
from drynpu.simulate import Recording, simulate, warm_shares
from drynpu_acl.constants import SubscribeFlag
from drynpu_acl.prof._records import RECORD
from drynpu_acl.recording import launches

_NO_CORE = (TaskType.AI_CPU, TaskType.DSA)
"""Tasks that no AI core runs: their execution time in a record is 0."""


@define(kw_only=True)
class OpTimes:
    """
    Times the operators of the runs of one subscription, in order.

    Durations equal a recording with the same seed: the same kernel, counted from the subscription on, takes
    equally long. Starts lie on the projected clock from the run's own start.
    """

    chip: Chip
    seed: int
    plan: Callable[[Signature], KernelPlan]
    _seen: dict[object, int] = field(factory=dict, init=False)
    """Launches so far by kernel: a place in the plan of a signature."""
    _last: KernelSpec | None = field(default=None, init=False)
    """What the run before ended with: an equal kernel behind it takes less time."""

    def records(
        self, operators: Operators, model_id: int, *, counters: bool, start_ns: int, end_ns: int
    ) -> tuple[Records, list[tuple[str, str]]]:
        """
        Return the unsigned records of one run, without device and ``op_index``, and the name and type of each.

        *counters* says whether the subscription has counters, among which are the floating point operations.
        """
        operators = launches(operators, self.plan, start_ns=start_ns, end_ns=end_ns)
        recording = Recording(operators=operators, begin_ns=start_ns, end_ns=end_ns)
        simulation = simulate(
            recording, plan=self.plan, chip=self.chip, clock=Clock.PROJECTED, seed=self.seed, base_ns=start_ns
        )
        lowered, costs = simulation.lowered, simulation.costs
        kernel = lowered.launch_kernel
        times = occurrences(kernel) + self._earlier(operators, lowered.dispatch_plan, lowered.launch_dispatch, kernel)
        factor = jitter(kernel, times, costs.duration_ns, self.seed, lowered.kernels)
        factor *= warm_shares(lowered, simulation.stream, costs, self._last)
        self._last = lowered.kernels[kernel[-1]] if len(kernel) else self._last
        ticks = np.maximum(1, np.ceil(costs.duration_ns[kernel] * factor / self.chip.tick_ns)).astype(np.int64)
        begin = fifo(simulation.schedule.kernel_start_ticks, ticks, 0)
        on_device = np.array([each.task_type is not TaskType.MEMCPY for each in lowered.kernels] or [False])[kernel]
        rows = np.flatnonzero(on_device)
        kernel, records = kernel[rows], np.zeros(len(rows), RECORD)
        start_us = (start_ns + np.ceil(begin[rows] * self.chip.tick_ns).astype(np.int64)) // 1000
        end_us = (start_ns + np.ceil((begin + ticks)[rows] * self.chip.tick_ns).astype(np.int64)) // 1000
        core_ns = np.maximum(costs.cube.time_ns, costs.vector.time_ns)[kernel] * factor[rows]
        cores = np.array([each.task_type not in _NO_CORE for each in lowered.kernels] or [False])[kernel]
        records["model_id"], records["flag"] = model_id, int(SubscribeFlag.OP)
        records["start_us"], records["end_us"], records["duration_us"] = start_us, end_us, end_us - start_us
        records["execution_us"] = np.where(cores, core_ns, 0).astype(np.int64) // 1000
        if counters:
            for name, values in (
                ("cube_flops", [each.cube_flops for each in lowered.kernels]),
                ("vector_flops", [each.vector_ops for each in lowered.kernels]),
            ):
                records[name] = np.array(values or [0], np.uint64)[kernel]
        words = [(each.name, each.op_type) for each in lowered.kernels]
        return records, [words[index] for index in kernel.tolist()]

    def _earlier(
        self,
        operators: Operators,
        dispatch_plan: I64,
        launch_dispatch: I64,
        kernel: I64,
    ) -> I64:
        """Return how often the kernel of each launch ran in earlier runs, and count this run."""
        base = np.zeros(int(kernel.max(initial=-1)) + 1, np.int64)
        first, position = np.unique(kernel, return_index=True)
        amount = np.bincount(kernel, minlength=len(base))
        lowest: dict[int, int] = {}
        for index, launch in zip(first.tolist(), position.tolist(), strict=True):
            signature = int(dispatch_plan[launch_dispatch[launch]])
            key = (*operators.signatures[signature].key, index - lowest.setdefault(signature, index))
            base[index] = self._seen.get(key, 0)
            self._seen[key] = int(base[index]) + int(amount[index])
        return np.asarray(base[kernel])
