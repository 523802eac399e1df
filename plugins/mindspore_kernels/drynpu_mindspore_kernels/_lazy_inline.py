"""
Cells that ``lazy_inline`` compiles once: each use of them is compiled where it stands.

The CPU's backend refuses graphs with calls of such cells ("Input[0] must be a Primitive ValueNode"). What a device
launches is the same with and without: there the calls are resolved behind the passes of the graph.
"""

from __future__ import annotations

from typing import Any

from drynpu_mindspore.patching import SimulatedDevice

_PREFIX = "lazy_inline_"


def compile_each_use(cell: Any, device: SimulatedDevice) -> None:
    """Have ``lazy_inline`` leave no trace in objects of MindSpore's class *cell* while a script runs on Ascend."""
    genuine = cell.cell_init_args

    def keep(self: Any, value: object) -> None:
        if not (device.is_ascend and isinstance(value, str) and value.startswith(_PREFIX)):
            genuine.fset(self, value)

    cell.cell_init_args = property(genuine.fget, keep, doc=genuine.__doc__)
