"""The interface that controls profiling in a process (pyacl_prof.md 5): one for all threads and devices."""

from __future__ import annotations

import enum
import threading

from attrs import define, field

from drynpu_acl.constants import ReturnCode

DYNAMIC = "dynamic"
"""Value of ``PROFILING_MODE`` with which recordings begin and end by commands from outside."""


class ActiveApi(enum.Enum):
    """Only one at a time: nobody, the calls (``init`` to ``finalize``), subscriptions, a file or a collector."""

    OFF = "off"
    CALLS = "calls"
    SUBSCRIBED = "subscribed"
    COMMAND = "command"


@define
class ActiveApiLock:
    """
    The mode. ``lock`` guards it, and whatever changes with it.

    ``dynamic`` says whether a collector outside may begin a recording at any time.
    """

    mode: ActiveApi = ActiveApi.OFF
    dynamic: bool = False
    lock: threading.RLock = field(factory=threading.RLock)

    @property
    def refuses_calls(self) -> int:
        """The code of ``init``, ``start``, ``stop`` and ``finalize`` while somebody else is in control, else 0."""
        if self.mode is ActiveApi.COMMAND:
            return ReturnCode.PROF_ALREADY_RUN
        return ReturnCode.PROF_API_CONFLICT if self.mode is ActiveApi.SUBSCRIBED else 0

    @property
    def refuses_subscriptions(self) -> int:
        """The code of ``model_subscribe`` and ``model_unsubscribe`` while somebody else is in control, else 0."""
        if self.mode is ActiveApi.COMMAND:
            return ReturnCode.PROF_ALREADY_RUN
        return ReturnCode.PROF_API_CONFLICT if self.mode is ActiveApi.CALLS else 0
