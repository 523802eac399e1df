"""
Tensors and events of the npu that processes share.

Importing this package imports nothing: hooks are read where nobody uses PyTorch.
"""
