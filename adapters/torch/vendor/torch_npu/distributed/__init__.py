"""The facade of ``torch_npu.distributed``; groups and collectives are PyTorch's, with the backend ``hccl``."""

from __future__ import annotations

from typing import NoReturn

from torch.distributed import is_available

from drynpu_torch.distributed import all_gather_into_tensor_uneven, reduce_scatter_tensor_uneven


def is_hccl_available() -> bool:
    return is_available()


def reinit_process_group(group: object = None, rebuild_link: bool = True) -> NoReturn:
    raise NotImplementedError(
        "torch_npu.distributed.reinit_process_group exists in torch_npu, but drynpu does not provide it: links of the "
        "simulated devices do not fail; destroy the group and make a new one"
    )


__all__ = ["all_gather_into_tensor_uneven", "is_hccl_available", "reduce_scatter_tensor_uneven", "reinit_process_group"]
