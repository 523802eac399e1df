"""Batch norms that count batches in INT32, which an NPU adds faster than INT64."""

from __future__ import annotations

from typing import Any

from torch import nn


class NormBase(nn.modules.batchnorm._NormBase):
    """A norm that counts batches in INT32."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if self.num_batches_tracked is not None:
            self.num_batches_tracked = self.num_batches_tracked.int()


class BatchNorm(NormBase, nn.modules.batchnorm._BatchNorm):
    """A batch norm for tensors of any number of dimensions that its ``_check_input_dim`` takes."""


class FastBatchNorm1d(BatchNorm, nn.BatchNorm1d):
    """``torch.nn.BatchNorm1d`` with a counter in INT32."""


class FastBatchNorm2d(BatchNorm, nn.BatchNorm2d):
    """``torch.nn.BatchNorm2d`` with a counter in INT32."""


class FastBatchNorm3d(BatchNorm, nn.BatchNorm3d):
    """``torch.nn.BatchNorm3d`` with a counter in INT32."""


class FastSyncBatchNorm(BatchNorm, nn.SyncBatchNorm):
    """
    ``torch.nn.SyncBatchNorm`` with a counter in INT32.

    ``convert_sync_batchnorm`` makes plain ``torch.nn.SyncBatchNorm`` modules, as the vendor's does.
    """

    @classmethod
    def convert_sync_batchnorm(cls, module: nn.Module, process_group: Any = None) -> nn.Module:
        """Return *module* with ``torch.nn.SyncBatchNorm`` in place of its batch norms."""
        return nn.SyncBatchNorm.convert_sync_batchnorm(module, process_group)  # type: ignore[no-any-return, no-untyped-call]
