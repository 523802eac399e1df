"""
What vLLM-Ascend launches besides the operators of torch_npu: its compiled operators and its Triton kernels.

Importing this package imports nothing: hooks are read where nobody uses PyTorch.
"""
