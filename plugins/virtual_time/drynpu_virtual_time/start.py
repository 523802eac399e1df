"""How a process gets its virtual clock."""

from __future__ import annotations

import functools
import os
import socket
import sys
from collections.abc import MutableMapping

from drynpu_virtual_time._channels import patch_channels
from drynpu_virtual_time._clock import VirtualClock
from drynpu_virtual_time._patches import Replaced
from drynpu_virtual_time._peers import Peers
from drynpu_virtual_time._polls import patch_polls
from drynpu_virtual_time._processes import patch_processes
from drynpu_virtual_time._threads import patch_threads
from drynpu_virtual_time._times import patch_times
from drynpu_virtual_time.zeromq._install import serve_zeromq

_HASH_SEED = "PYTHONHASHSEED"


def start_virtual_time(environment: MutableMapping[str, str]) -> None:
    """
    Put this process on a virtual clock, before the script starts.

    The order of sets of texts, and all that follows from it, is a matter of chance unless Python is started with a
    seed: it is started again with one.
    """
    if environment.get(_HASH_SEED, "random") == "random":
        environment[_HASH_SEED] = "0"
        os.execv(sys.executable, [sys.executable, *sys.orig_argv[1:]])
    virtual_clock()


@functools.cache
def virtual_clock() -> VirtualClock:
    """Return the clock of this process; the first call puts the process on it."""
    clock, replaced = VirtualClock(), Replaced()
    patch_times(clock, replaced)
    patch_polls(clock, replaced)
    patch_threads(clock, replaced)
    patch_channels(clock, replaced)
    patch_processes(clock, replaced)
    replaced.spread(sys.modules)
    serve_zeromq()
    return clock


def go_on(descriptor: int) -> None:
    """Put a spawned process on the clock of its run; *descriptor* is its socket."""
    # A program that this process starts must not keep the socket open: its end says that the process has ended.
    os.set_inheritable(descriptor, False)
    virtual_clock().join_run(Peers.started(socket.socket(fileno=descriptor)))
