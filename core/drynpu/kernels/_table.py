"""Costs of many kernels as columns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from attrs import evolve, fields, frozen

from drynpu.chips import Chip
from drynpu.kernels._cost import cost
from drynpu.kernels._pipes import cube_dtype
from drynpu.kernels._tuning import Tuning
from drynpu.kernels._types import KernelCost, KernelSpec, TaskType

__all__ = ["CostTable"]

F64 = npt.NDArray[np.float64]
I64 = npt.NDArray[np.int64]


@frozen(eq=False, kw_only=True)
class CostTable:
    """
    The fields of :class:`KernelCost` as columns of shape ``[n]``, times in ns.

    ``build`` makes one row per kernel, ``take`` one row per launch.
    """

    chip: Chip
    duration_ns: F64
    block_num: I64
    mix_block_num: I64
    aic_time_ns: F64
    mac_ns: F64
    aic_scalar_ns: F64
    mte1_ns: F64
    aic_mte2_ns: F64
    fixpipe_ns: F64
    aic_icache_miss_rate: F64
    aiv_time_ns: F64
    vec_ns: F64
    aiv_scalar_ns: F64
    aiv_mte2_ns: F64
    mte3_ns: F64
    aiv_icache_miss_rate: F64
    vec_bankgroup_ns: F64
    vec_bank_ns: F64
    vec_resource_ns: F64
    cube_float_ops: I64
    cube_int8_ops: I64
    l0_read_bytes: I64
    l0c_cube_bytes: I64
    gm_to_l1_bytes: I64
    l1_to_l0a_bytes: I64
    l1_to_l0b_bytes: I64
    l0c_to_gm_bytes: I64
    l0c_to_ub_bytes: I64
    aic_main_read_bytes: I64
    aic_main_write_bytes: I64
    vec_fp32_cycles: I64
    vec_fp16_cycles: I64
    vec_int32_cycles: I64
    vec_misc_cycles: I64
    gm_to_ub_bytes: I64
    ub_to_gm_bytes: I64
    ub_vector_read_bytes: I64
    ub_vector_write_bytes: I64
    ub_scalar_read_bytes: I64
    ub_scalar_write_bytes: I64
    aiv_main_read_bytes: I64
    aiv_main_write_bytes: I64
    l2_victim_share: F64
    aiv_blocks: I64
    """Vector blocks: ``mix_block_num`` for MIX_AIC, else ``block_num``."""
    mac_int8: npt.NDArray[np.bool_]
    """Whether the cube multiplies 8-bit integers, which a counter of its own counts."""

    def __len__(self) -> int:
        return len(self.duration_ns)

    @classmethod
    def build(cls, specs: Sequence[KernelSpec], chip: Chip, tuning: Tuning | None = None) -> CostTable:
        """Cost every kernel of *specs* once; row *i* is ``specs[i]``."""
        tuning = tuning or Tuning()
        costs = [cost(spec, chip, tuning) for spec in specs]
        columns: dict[str, npt.NDArray[Any]] = {
            field.name: np.array([getattr(c, field.name) for c in costs], _DTYPE[str(field.type)])
            for field in fields(KernelCost)
        }
        mixed = np.array([spec.task_type is TaskType.MIX_AIC for spec in specs], bool)
        return cls(
            chip=chip,
            aiv_blocks=np.where(mixed & chip.split, columns["mix_block_num"], columns["block_num"]),
            mac_int8=np.array([cube_dtype(spec) in {"INT8", "UINT8"} for spec in specs], bool),
            **columns,
        )

    def take(self, index: npt.NDArray[np.integer[Any]], factor: F64 | None = None) -> CostTable:
        """
        Gather rows.

        Parameters
        ----------
        index:
            Rows to gather, shape ``[m]``.
        factor:
            Jitter per gathered row, shape ``[m]``: scales the duration, engine and pipe times together, so that
            every ratio of the row stays what it is.
        """
        columns = {f.name: getattr(self, f.name)[index] for f in fields(type(self)) if f.name != "chip"}
        if factor is not None:
            columns = {name: col * factor if name.endswith("_ns") else col for name, col in columns.items()}
        return evolve(self, **columns)

    @property
    def aic_cycles(self) -> I64:
        """Cycles summed over the cube blocks (unified chips: over the cores)."""
        return _cycles(self.aic_time_ns, self.chip.aic_mhz, self.block_num)

    @property
    def aiv_cycles(self) -> I64:
        """Cycles summed over the vector blocks; 0 on unified chips, whose one engine is in ``aic_cycles``."""
        if not self.chip.split:
            return np.zeros(len(self), np.int64)
        return _cycles(self.aiv_time_ns, self.chip.aiv_mhz, self.aiv_blocks)


_DTYPE = {"float": np.float64, "int": np.int64}


def _cycles(time_ns: F64, mhz: int, blocks: I64) -> I64:
    """Return ``round(time * clock * blocks)`` (device_and_cost_model.md 3.1, item 2)."""
    cycles: I64 = np.rint(time_ns * mhz / 1000 * blocks).astype(np.int64)
    return cycles
