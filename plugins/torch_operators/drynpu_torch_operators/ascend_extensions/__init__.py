"""
Extensions that packages compile against the headers of CANN, the boost library or torch_npu when they are first needed.

None of these headers is here. So ``torch.utils.cpp_extension.load`` gives a module whose functions are computed by
drynpu's operators; sources that need no such header are compiled as they are.
"""

from __future__ import annotations

from drynpu_torch_operators.ascend_extensions._finder import watch_loads

__all__ = ["watch_loads"]
