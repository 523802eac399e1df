"""
The facade of ``torch_npu``: the vendor's names, answered by drynpu.

A genuine torch_npu anywhere on the path takes this package's place before anything else runs.
"""

from __future__ import annotations

from drynpu import hand_over

if not hand_over(__name__, __file__):
    from torch_npu._facade import *
    from torch_npu._facade import __getattr__, __version__  # noqa: F401

    # The facade has them too; type checkers do not follow a list of names that is made at run time.
    from torch_npu._operator_names import *
