"""
The PyTorch adapter: the ``npu`` device, the capture of operators, their kernels, and the profiler.

Importing this package imports neither PyTorch nor any of its rooms.
"""
