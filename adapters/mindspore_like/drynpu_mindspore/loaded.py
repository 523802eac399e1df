"""MindSpore as the adapter has patched it: what plugins get that add to it."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType

from attrs import define, field

from drynpu.kernels import Call
from drynpu_mindspore.inside import Tried
from drynpu_mindspore.patching._device import SimulatedDevice
from drynpu_mindspore.recording import JobRanks


@define
class LoadedMindSpore:
    """
    What a plugin's hook ``drynpu_framework_loaded`` gets for the framework ``"mindspore"``.

    Attributes
    ----------
    package:
        The module ``mindspore``, with the device and the profiler in place.
    device:
        What the script sees. Functions in its ``before_graphs`` are called when the script chooses GRAPH mode.
    ranks:
        The other ranks of the job.
    note:
        Records a call of which MindSpore's profiler knows nothing, while something is recorded.
    tried:
        Tries parts by themselves. A line on stderr names those that failed.
    primitives:
        Primitives that plugins have computed where the CPU build lacks them; a plugin adds its own.
    """

    package: ModuleType
    device: SimulatedDevice
    ranks: JobRanks
    note: Callable[[Call], None]
    tried: Tried
    primitives: set[str] = field(factory=set)
