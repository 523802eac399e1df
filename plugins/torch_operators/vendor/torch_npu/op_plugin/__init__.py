"""The facade of ``torch_npu.op_plugin``, in which the vendor keeps its operators."""
