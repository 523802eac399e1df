"""The facade of ``torch_npu.op_plugin.atb``, in which the vendor keeps the transformer boost library."""
