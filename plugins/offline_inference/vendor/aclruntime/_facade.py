"""What importing ``aclruntime`` gives."""

from __future__ import annotations

from aclruntime._session import InferenceSession

from drynpu_offline_inference.inference import DataType as dtype
from drynpu_offline_inference.inference import HostMemory as BaseTensor
from drynpu_offline_inference.inference import MemoryTimes as MemorySummary
from drynpu_offline_inference.inference import MemoryType as type
from drynpu_offline_inference.inference import PipelineOptions as infer_options
from drynpu_offline_inference.inference import RunSummary as sumary
from drynpu_offline_inference.inference import SessionOptions as session_options
from drynpu_offline_inference.inference import Tensor, batch, show_distribution
from drynpu_offline_inference.inference import TensorDescription as tensor_desc

int8 = dtype.int8
uint8 = dtype.uint8
int16 = dtype.int16
uint16 = dtype.uint16
int32 = dtype.int32
uint32 = dtype.uint32
int64 = dtype.int64
uint64 = dtype.uint64
float16 = dtype.float16
float32 = dtype.float32
double = dtype.double
bool = dtype.bool
memory_host = type.memory_host
memory_device = type.memory_device
memory_dvpp = type.memory_dvpp

__all__ = [
    "BaseTensor",
    "InferenceSession",
    "MemorySummary",
    "Tensor",
    "batch",
    "bool",
    "double",
    "dtype",
    "float16",
    "float32",
    "infer_options",
    "int8",
    "int16",
    "int32",
    "int64",
    "memory_device",
    "memory_dvpp",
    "memory_host",
    "model",
    "session_options",
    "sumary",
    "tensor_desc",
    "type",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
]


def model(modelPath: str, deviceId: int = 0, options: session_options | None = None) -> InferenceSession:
    return InferenceSession(modelPath, deviceId, options)


show_distribution()
