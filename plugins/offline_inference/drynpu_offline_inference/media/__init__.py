"""
Images in memory: the units of the device that decode, cut, scale, convert and encode them, on the CPU.

Pillow decodes, encodes and scales; what is read and written follows the descriptions that a program makes (acl_dvpp.h).
Pillow computes the numbers, so they are not the bits of a device. Each call is done when it returns.
"""

from __future__ import annotations

from drynpu_offline_inference.media._coding import Coding
from drynpu_offline_inference.media._cutting import Cutting
from drynpu_offline_inference.media._files import JPEG, PNG
from drynpu_offline_inference.media._units import Units

__all__ = ["JPEG", "PNG", "Coding", "Cutting", "Units"]
