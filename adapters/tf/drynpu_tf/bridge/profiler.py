"""``npu_bridge.profiler.profiler.Profiler``: local profiling."""
from __future__ import annotations
__all__=["Profiler"]
class Profiler: pass
