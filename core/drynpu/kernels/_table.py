"""Costs of many kernels as columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from attrs import evolve, field, fields, frozen

from drynpu.arrays import F64, I64, Array, Bools, Integers
from drynpu.kernels._cost import cost
from drynpu.kernels._pipes import cube_dtype
from drynpu.kernels._tuning import Tuning
from drynpu.kernels._types import KernelCost, KernelSpec, TaskType
from drynpu.platforms import Chip


@frozen(eq=False, kw_only=True)
class CostTable:
    """
    The fields of :class:`KernelCost` as columns of shape ``[n]``, times in ns.

    ``build`` makes one row per kernel, ``take`` one row per launch. Work and bytes are gathered when they are asked
    for, under the same names.
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
    aiv_blocks: I64
    """Vector blocks: ``mix_block_num`` for MIX_AIC, else ``block_num``."""
    mac_int8: Bools
    """Whether the cube multiplies 8-bit integers, which a counter of its own counts."""
    kernel: I64
    """Row of ``work``."""
    work: Mapping[str, Array] = field(repr=False)
    """The remaining fields of :class:`KernelCost`, one row per kernel: noise changes none of them."""

    def __getattr__(self, name: str) -> Array:
        """Gather a column of ``work``: there are many, and hardly anybody wants all of a million launches."""
        if name in _WORK:
            return self.work[name][self.kernel]
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def __len__(self) -> int:
        return len(self.duration_ns)

    @classmethod
    def build(cls, specs: Sequence[KernelSpec], chip: Chip, tuning: Tuning | None = None) -> CostTable:
        """Cost every distinct kernel of *specs* once; row *i* is ``specs[i]``."""
        tuning = tuning or Tuning()
        # Calls that differ in a number, as an optimizer's do from step to step, launch the same kernels.
        by_spec = {spec: cost(spec, chip, tuning) for spec in dict.fromkeys(specs)}
        costs = [by_spec[spec] for spec in specs]
        columns: dict[str, Array] = {
            field.name: np.array([getattr(c, field.name) for c in costs], _DTYPE[str(field.type)])
            for field in fields(KernelCost)
        }
        mixed = np.array([spec.task_type is TaskType.MIX_AIC for spec in specs], bool)
        return cls(
            chip=chip,
            aiv_blocks=np.where(mixed & chip.split, columns["mix_block_num"], columns["block_num"]),
            mac_int8=np.array([cube_dtype(spec) in {"INT8", "UINT8"} for spec in specs], bool),
            kernel=np.arange(len(specs), dtype=np.int64),
            work={name: column for name, column in columns.items() if name in _WORK},
            **{name: column for name, column in columns.items() if name not in _WORK},
        )

    def take(self, index: Integers, factor: F64 | None = None) -> CostTable:
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
        columns = {f.name: getattr(self, f.name)[index] for f in fields(type(self)) if f.name not in ("chip", "work")}
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
_WORK = frozenset(f.name for f in fields(KernelCost)) - frozenset(f.name for f in fields(CostTable))


def _cycles(time_ns: F64, mhz: int, blocks: I64) -> I64:
    """Return ``round(time * clock * blocks)`` (device_and_cost_model.md 3.1, item 2)."""
    cycles: I64 = np.rint(time_ns * mhz / 1000 * blocks).astype(np.int64)
    return cycles
