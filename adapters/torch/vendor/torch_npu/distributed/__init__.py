"""The facade of ``torch_npu.distributed``; groups and collectives are PyTorch's, with the backend ``hccl``."""

from __future__ import annotations

from typing import NoReturn

from torch.distributed import is_available


def is_hccl_available() -> bool:
    return is_available()


def reinit_process_group(group: object = None, rebuild_link: bool = True) -> NoReturn:
    raise NotImplementedError(
        "torch_npu.distributed.reinit_process_group exists in torch_npu, but drynpu does not provide it: links of the "
        "simulated devices do not fail; destroy the group and make a new one"
    )


def reduce_scatter_tensor_uneven(*args: object, **kwargs: object) -> NoReturn:
    _refuse("reduce_scatter_tensor_uneven", "reduce_scatter_tensor")


def all_gather_into_tensor_uneven(*args: object, **kwargs: object) -> NoReturn:
    _refuse("all_gather_into_tensor_uneven", "all_gather_into_tensor")


def _refuse(name: str, substitute: str) -> NoReturn:
    raise NotImplementedError(
        f"torch_npu.distributed.{name} exists in torch_npu, but drynpu does not provide it; "
        f"pad the parts to the longest and take torch.distributed.{substitute}"
    )


__all__ = ["all_gather_into_tensor_uneven", "is_hccl_available", "reduce_scatter_tensor_uneven", "reinit_process_group"]
