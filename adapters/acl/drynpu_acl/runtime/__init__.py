"""
The runtime: devices, contexts, streams, memory, models, data buffers and utilities of the vendor's library.

Functions return the vendor's codes and never trust a number that comes in: handles are looked up, pointers have to lie
in memory that the program has allocated or lent. Models are ONNX files that run on the CPU when they are called; a
listener takes over what ran.
"""

from __future__ import annotations

from drynpu_acl.runtime._aipp import AIPP_INPUT
from drynpu_acl.runtime._aipp import FORMATS as AIPP_FORMATS
from drynpu_acl.runtime._conversion import GEAR_INPUT
from drynpu_acl.runtime._evaluation import Evaluation, Evaluators
from drynpu_acl.runtime._memory import Memory
from drynpu_acl.runtime._onnx import parse_model
from drynpu_acl.runtime._process import PROCESS, Process

__all__ = [
    "AIPP_FORMATS",
    "AIPP_INPUT",
    "GEAR_INPUT",
    "PROCESS",
    "Evaluation",
    "Evaluators",
    "Memory",
    "Process",
    "parse_model",
]
