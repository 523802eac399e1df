"""
Races between streams: two streams use a tensor, and nothing orders them (``TORCH_NPU_SANITIZER``).

Importing this package imports nothing: hooks are read where nobody uses PyTorch.
"""
