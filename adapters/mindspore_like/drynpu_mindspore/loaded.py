"""MindSpore as the adapter has patched it: what plugins get that add to it."""

from __future__ import annotations

from types import ModuleType

from attrs import define, field

from drynpu_mindspore.inside import Tried
from drynpu_mindspore.patching._device import SimulatedDevice
from drynpu_mindspore.recording import RecordingBackend


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
    backend:
        What records: its ``ranks`` are the other ranks of the job, ``note`` records a call of which MindSpore's
        profiler knows nothing, ``use_graph_engine`` has the graphs of jit level O2 compiled.
    tried:
        Tries parts by themselves. A line on stderr names those that failed.
    primitives:
        Primitives that plugins have computed where the CPU build lacks them; a plugin adds its own.
    """

    package: ModuleType
    device: SimulatedDevice
    backend: RecordingBackend
    tried: Tried
    primitives: set[str] = field(factory=set)
