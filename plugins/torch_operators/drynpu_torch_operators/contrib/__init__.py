"""Functions and modules of ``torch_npu.contrib``, by torch_npu's operators."""
