"""The facade of ``torch_npu.distributed.tensor``; distributed tensors are PyTorch's."""
