"""``acl.prof``: configurations, sessions, stamps, steps and subscriptions of a process."""

from __future__ import annotations

from drynpu_acl.prof._functions import functions
from drynpu_acl.prof._profiling import Profiling, Runtime
from drynpu_acl.prof._settings import AclSettings

__all__ = ["AclSettings", "Profiling", "Runtime", "functions"]
