"""
Profiling of this process, as process-wide as the vendor's: made at the first import, by the facade.

It takes over what the runtime runs, and ends whatever still records when the process does. Importing it raises
`OptionError` or `ChipError` for settings that cannot be.
"""

from __future__ import annotations

import os
from functools import cached_property

from drynpu.kernels import KernelPlan, RuleBook, Signature, build_rule_book
from drynpu.plugins import from_plugins
from drynpu.recorder import CHECK_VARIABLE, at_process_end
from drynpu_acl.kernels import RULES, node_plans
from drynpu_acl.prof._checking import CheckedSessions, start_check
from drynpu_acl.prof._profiling import Profiling
from drynpu_acl.prof._session import Sessions
from drynpu_acl.prof._settings import AclSettings
from drynpu_acl.runtime import PROCESS, Process


class _ProcessRuntime:
    """The library of the process, as profiling reads it."""

    def __init__(self, process: Process) -> None:
        self._process = process

    @cached_property
    def _rules(self) -> RuleBook:
        return build_rule_book(RULES, from_plugins(lambda plugins: plugins.kernel_rules("onnx")))

    def model_name(self, model_id: int) -> str | None:
        """Return the name of a loaded model."""
        model = self._process.models.get(model_id)
        return None if model is None else model.name

    def model_load(self, model_id: int) -> tuple[int, int]:
        """Return from when to when a model was loaded, Unix ns."""
        return self._process.models.load_ns(model_id)

    def stream_id(self, stream: int) -> int | None:
        """Return the number of a stream of this thread's context."""
        _, entry = self._process.devices.stream(stream)
        return None if entry is None else entry.number

    def device_id(self) -> int:
        """Return the device of this thread's context."""
        context = self._process.devices.current
        return 0 if context is None else context.device_id

    def plan(self, signature: Signature) -> KernelPlan:
        """Return what a node launches."""
        return node_plans(self._rules.plan)(signature)


def _end() -> None:
    PROFILING.shut_down()
    PROFILING.sessions.show()


_CHECK = os.environ.get(CHECK_VARIABLE, "")
PROFILING = Profiling(
    settings=AclSettings.from_environ(os.environ),
    runtime=_ProcessRuntime(PROCESS),
    sessions_class=CheckedSessions if _CHECK else Sessions,
)
PROCESS.listener = PROCESS.lifecycle = PROFILING
PROCESS.devices.timer = PROFILING.timer
at_process_end(_end)  # what a parent process records is the parent's
CHECKED = (
    start_check(_CHECK, PROFILING.sessions, PROFILING.settings.shared.devices, lambda: PROCESS.memory.peak_bytes)
    if isinstance(PROFILING.sessions, CheckedSessions)
    else None
)
"""What ``drynpu check`` notes of this process; ``None`` where nobody checks."""
