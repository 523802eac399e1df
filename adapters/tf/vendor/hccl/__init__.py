"""
The facade of ``hccl``, CANN's package of ranks and groups that ported TensorFlow scripts import beside npu_bridge.

A genuine hccl anywhere on the path takes this package's place before anything else runs.
"""

from __future__ import annotations

from drynpu import hand_over

if not hand_over(__name__, __file__):
    pass
