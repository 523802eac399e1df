"""What MindSpore's CPU build lacks of Ascend: kernels, narrow types, collectives, graphs split over ranks."""

from __future__ import annotations
