"""
The facade of ``mstx``: the vendor's names, answered by drynpu.

A genuine mstx anywhere on the path takes this package's place before anything else runs.
"""

from __future__ import annotations

from drynpu import hand_over

if not hand_over(__name__, __file__):
    from mstx._facade import *
