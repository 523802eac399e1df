"""
The facade of ``npu_bridge``: the vendor's names, answered by drynpu.

A genuine npu_bridge anywhere on the path takes this package's place before anything else runs.
"""

from __future__ import annotations

from drynpu import hand_over, without_collections

if not hand_over(__name__, __file__):
    with without_collections():
        from npu_bridge._facade import *
