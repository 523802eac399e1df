"""
Graphs of the npu: operators that are captured once and replayed as one launch (``torch.npu.NPUGraph``).

Importing this package imports nothing: hooks are read where nobody uses PyTorch.
"""
