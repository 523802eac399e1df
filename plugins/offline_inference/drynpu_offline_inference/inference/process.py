"""
The library of this process for its sessions, as process-wide as the vendor's.

Importing it lets profiling take over what runs, as importing ``acl`` does.
"""

from __future__ import annotations

from drynpu_acl.prof.process import PROFILING
from drynpu_acl.runtime import PROCESS
from drynpu_offline_inference.inference._library import Library
from drynpu_offline_inference.inference._times import DeviceTimes

LIBRARY = Library(PROCESS, DeviceTimes(PROFILING.settings, PROFILING.runtime.plan))
