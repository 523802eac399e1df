"""Dynamic profiling of a script that does not ask for it: ``PROF_CONFIG_PATH`` (torch_npu_profiler.md 1.9)."""

from __future__ import annotations

import functools
import os
from typing import Any
from weakref import WeakKeyDictionary

from attrs import define, field
from torch.optim.optimizer import Optimizer, register_optimizer_step_post_hook

from drynpu_torch.profiler._messages import never_raises
from drynpu_torch.profiler.dynamic._dynamic import DYNAMIC

_VARIABLE = "PROF_CONFIG_PATH"


@define(eq=False)
class _OptimizerSteps:
    """Counts a step of training whenever an optimizer has stepped more often than any before."""

    most: int = 0
    counts: WeakKeyDictionary[Optimizer, int] = field(factory=WeakKeyDictionary)

    def __call__(self, optimizer: Optimizer, *_: Any) -> None:
        count = self.counts.get(optimizer, 0) + 1
        self.counts[optimizer] = count
        if count > self.most:
            self.most = count
            DYNAMIC.step()


class NonIntrusiveProfile:
    """What the vendor's package runs at its import."""

    @staticmethod
    def init() -> None:
        """Watch the directory that ``PROF_CONFIG_PATH`` names, if it does; later calls change nothing."""
        path = os.environ.get(_VARIABLE)
        if path:
            _watch(path)


@functools.cache
@never_raises
def _watch(path: str) -> None:
    if DYNAMIC.init(path):
        register_optimizer_step_post_hook(never_raises(_OptimizerSteps().__call__))
