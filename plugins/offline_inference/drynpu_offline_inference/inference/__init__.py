"""
Sessions that run a model from tensors to tensors: what the module ``aclruntime`` stands on.

A session holds a model in a context of a device, copies inputs there and results back. It calls the same library as
programs of ``acl`` do, so a recording shows both alike. Times of runs and copies are modelled.
"""

from __future__ import annotations

from drynpu_offline_inference.inference._distribution import show_distribution
from drynpu_offline_inference.inference._files import RANDOM, ZERO, join_files
from drynpu_offline_inference.inference._model import TensorDescription
from drynpu_offline_inference.inference._module import MemoryTimes, finalize, run_pipeline
from drynpu_offline_inference.inference._options import HostMemory, PipelineOptions, RunSummary, SessionOptions
from drynpu_offline_inference.inference._session import Session
from drynpu_offline_inference.inference._tensors import DataType, MemoryType, Tensor, batch

__all__ = [
    "RANDOM",
    "ZERO",
    "DataType",
    "HostMemory",
    "MemoryTimes",
    "MemoryType",
    "PipelineOptions",
    "RunSummary",
    "Session",
    "SessionOptions",
    "Tensor",
    "TensorDescription",
    "batch",
    "finalize",
    "join_files",
    "run_pipeline",
    "show_distribution",
]
