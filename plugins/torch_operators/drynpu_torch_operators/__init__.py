"""
The operators of torch_npu, and what stands on them: ``torch_npu.contrib``, extensions, the graph backend, test helpers.

Importing this package imports none of its rooms.
"""
