"""
Graphs that MindSpore splits over several devices (``semi_auto_parallel``, ``auto_parallel``).

MindSpore's own passes split operators and parameters, and put collectives between them. They run for Ascend and GPUs
alone, and ask the device's library for the ranks: here they see Ascend, and the ranks of the script.
"""

from __future__ import annotations

from drynpu_mindspore_kernels.splitting._follow import split_on_ascend

__all__ = ["split_on_ascend"]
