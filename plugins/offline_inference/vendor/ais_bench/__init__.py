"""
The facade of ``ais_bench``, the vendor's benchmark of offline models: the vendor's names, answered by drynpu.

A genuine ais_bench anywhere on the path takes this package's place before anything else runs.
"""

from __future__ import annotations

from drynpu import hand_over

if not hand_over(__name__, __file__):
    from ais_bench._facade import *
