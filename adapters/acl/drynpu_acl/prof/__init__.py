"""``acl.prof``: configurations, sessions, stamps, steps and subscriptions of a process."""

from __future__ import annotations

from drynpu_acl.prof._functions import functions
from drynpu_acl.prof._process import open_profiling
from drynpu_acl.prof._profiling import Profiling
from drynpu_acl.prof._runtime import NoRuntime, Runtime
from drynpu_acl.prof._settings import AclSettings

__all__ = ["AclSettings", "NoRuntime", "Profiling", "Runtime", "functions", "open_profiling"]
