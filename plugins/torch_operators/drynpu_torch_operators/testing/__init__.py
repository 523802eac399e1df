"""What ``torch_npu.testing`` has for tests: a test case with tolerances, tensors on both devices, and decorators."""
