"""
The facade of ``torch_npu``: the vendor's names, answered by drynpu.

A genuine torch_npu anywhere on the path takes this package's place before anything else runs.
"""

from __future__ import annotations

from drynpu import hand_over, without_collections

if not hand_over(__name__, __file__):
    import typing as _typing

    with without_collections():
        from torch_npu._facade import *
        from torch_npu._facade import __getattr__, __version__  # noqa: F401
        from torch_npu._facade import parts as _parts

    globals().update(_parts)
    if _typing.TYPE_CHECKING:  # plugins add them when the facade is imported
        from torch_npu import HiFloat8Tensor as HiFloat8Tensor
        from torch_npu import atb as atb
        from torch_npu import dynamo as dynamo
        from torch_npu import multiprocessing as multiprocessing
        from torch_npu import optim as optim
        from torch_npu._operator_names import *
