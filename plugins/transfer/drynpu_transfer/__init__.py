"""Let a CUDA script run as an NPU script: ``torch_npu.contrib.transfer_to_npu`` (torch_npu_profiler.md 1.11)."""
