"""What the host side of a PROF directory is made from."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property

import numpy as np
from attrs import field, frozen

from drynpu.arrays import I64, U64, Bools
from drynpu.deliverables._host_launches import HostLaunches, TaskIds, host_launches, number_tasks
from drynpu.deliverables.dictionaries import MarkNumbers, TextIds, TypeIds
from drynpu.kernels import KernelSpec, Operators, TaskType
from drynpu.options import Level as ProfileLevel
from drynpu.simulate import AclCalls, Simulation


@frozen(eq=False, kw_only=True)
class HostRows:
    """
    One recording as the host sees it.

    ``launching`` is the id of the thread that takes calls from the queue, ``loading`` of the one that loads graphs
    (0: the same); ``to_raw_ns`` added to Unix time gives raw
    host time. ``acl`` tells whether calls into ACL are recorded, ``runtime`` whether all those into the runtime are.
    ``calls`` are those that the script itself made into ACL, on the measured timeline.
    ``texts``, ``types`` and ``mark_numbers`` collect what the records refer to.
    """

    simulation: Simulation
    operators: Operators
    level: ProfileLevel
    launching: int
    device_id: int
    to_raw_ns: int
    loading: int = 0
    acl: bool = True
    runtime: bool = False
    calls: AclCalls | None = None
    texts: TextIds = field(factory=TextIds)
    types: TypeIds = field(factory=TypeIds)
    mark_numbers: MarkNumbers = field(factory=MarkNumbers)

    def of_kernels(self, value: Callable[[KernelSpec], int]) -> I64:
        """Return a number for every launch, int64 ``[m]``."""
        table = np.array([value(kernel) for kernel in self.simulation.lowered.kernels] or [0], np.int64)
        return table[self.simulation.lowered.launch_kernel]

    def text_ids(self, text: Callable[[KernelSpec], str]) -> U64:
        """Return the id of a text for every kernel, uint64 ``[k]``; kernels that never ran leave no text."""
        kernels = self.simulation.lowered.kernels
        ids = np.zeros(max(len(kernels), 1), np.uint64)
        used = np.unique(self.simulation.lowered.launch_kernel)
        ids[used] = self.texts.ids([text(kernels[index]) for index in used.tolist()])
        return ids

    @property
    def dispatch_threads(self) -> I64:
        """Ids of the threads that launch the operators' dispatches, int64 ``[d]``."""
        lowered = self.simulation.lowered
        calling = self.operators.thread[lowered.dispatch_op].astype(np.int64)
        return np.full_like(calling, self.launching) if self.simulation.launch_mode.queued else calling

    @property
    def launch_threads(self) -> I64:
        """Ids of the threads that launch the operators' kernels, int64 ``[m]``."""
        return self.dispatch_threads[self.simulation.lowered.launch_dispatch]

    @cached_property
    def task_ids(self) -> TaskIds:
        """Ids of the tasks of operators."""
        return number_tasks(self.simulation)

    @cached_property
    def launches(self) -> HostLaunches:
        """What the host launched: nodes of loaded graphs once."""
        return host_launches(self.simulation, self.task_ids, self.launch_threads, self.loading_thread)

    @property
    def loading_thread(self) -> int:
        """Id of the thread that loads graphs."""
        return self.loading or self.launching

    @property
    def collective_threads(self) -> I64:
        """Ids of the threads that launch the collectives, int64 ``[c]``."""
        calling = np.array([each.thread for each in self.simulation.collectives.calls.collectives], np.int64)
        return np.full_like(calling, self.launching) if self.simulation.launch_mode.queued else calling

    @property
    def is_copy(self) -> Bools:
        """Which launches are copies, which have no operator and no node level; ``[m]``."""
        return np.asarray(self.of_kernels(lambda kernel: kernel.task_type is TaskType.MEMCPY), bool)
