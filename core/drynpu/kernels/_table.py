"""Costs of many kernels as columns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar

import numpy as np
from attrs import evolve, field, fields, frozen, has

from drynpu.arrays import F64, I64, Array, Bools, Integers
from drynpu.kernels._account import CubeTimes, EngineTimes, VectorTimes, Work
from drynpu.kernels._cost import cost
from drynpu.kernels._pipes import cube_dtype
from drynpu.kernels._tuning import Tuning
from drynpu.kernels._types import KernelSpec, TaskType
from drynpu.platforms import Chip


@frozen(eq=False, kw_only=True)
class L2Bytes:
    """Bytes that the cores of each kernel read and write through L2, and the part that L2 misses."""

    reads: Array
    writes: Array
    read_misses: Array
    write_misses: Array


@frozen(eq=False, kw_only=True)
class CostTable:
    """
    The fields of :class:`KernelCost` as columns of shape ``[n]``, times in ns.

    ``build`` makes one row per kernel, ``take`` one row per launch. Even then the work counts per kernel: there are
    many columns, and hardly anybody wants all of a million launches. ``gather`` has one of them by row.
    """

    chip: Chip
    duration_ns: F64
    block_num: I64
    mix_block_num: I64
    cube: CubeTimes[F64]
    vector: VectorTimes[F64]
    aiv_blocks: I64
    """Vector blocks: ``mix_block_num`` for MIX_AIC, else ``block_num``."""
    mac_int8: Bools
    """Whether the cube multiplies 8-bit integers, which a counter of its own counts."""
    kernel: I64
    """Row of ``work``."""
    work: Work[Array] = field(repr=False)
    """One row per kernel: noise changes none of it."""

    def __len__(self) -> int:
        return len(self.duration_ns)

    @classmethod
    def build(cls, specs: Sequence[KernelSpec], chip: Chip, tuning: Tuning | None = None) -> CostTable:
        """Cost every distinct kernel of *specs* once; row *i* is ``specs[i]``."""
        tuning = tuning or Tuning()
        # Calls that differ in a number, as an optimizer's do from step to step, launch the same kernels.
        by_spec = {spec: cost(spec, chip, tuning) for spec in dict.fromkeys(specs)}
        costs = [by_spec[spec] for spec in specs]
        blocks, mix_blocks = (
            np.array([getattr(c, name) for c in costs], np.int64) for name in ("block_num", "mix_block_num")
        )
        mixed = np.array([spec.task_type is TaskType.MIX_AIC for spec in specs], bool)
        return cls(
            chip=chip,
            duration_ns=np.array([c.duration_ns for c in costs], np.float64),
            block_num=blocks,
            mix_block_num=mix_blocks,
            cube=_columns(CubeTimes(), [c.cube for c in costs]),
            vector=_columns(VectorTimes(), [c.vector for c in costs]),
            aiv_blocks=np.where(mixed & chip.split, mix_blocks, blocks),
            mac_int8=np.array([cube_dtype(spec) in {"INT8", "UINT8"} for spec in specs], bool),
            kernel=np.arange(len(specs), dtype=np.int64),
            work=_columns(Work(), [c.work for c in costs]),
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
        scale = 1.0 if factor is None else factor
        return evolve(
            self,
            duration_ns=self.duration_ns[index] * scale,
            block_num=self.block_num[index],
            mix_block_num=self.mix_block_num[index],
            cube=_selected(self.cube, index, scale),
            vector=_selected(self.vector, index, scale),
            aiv_blocks=self.aiv_blocks[index],
            mac_int8=self.mac_int8[index],
            kernel=self.kernel[index],
        )

    def gather(self, column: Array) -> Array:
        """Return a column of ``work`` by row."""
        gathered: Array = column[self.kernel]
        return gathered

    @property
    def l2(self) -> L2Bytes:
        """What the cores ask of L2, by row of ``work``."""
        cube, vector = self.work.cube, self.work.vector
        return L2Bytes(
            reads=cube.gm_to_l1_bytes + vector.gm_to_ub_bytes,
            writes=cube.l0c_to_gm_bytes + vector.ub_to_gm_bytes,
            read_misses=cube.main_read_bytes + vector.main_read_bytes,
            write_misses=cube.main_write_bytes + vector.main_write_bytes,
        )

    @property
    def aic_cycles(self) -> I64:
        """Cycles summed over the cube blocks (unified chips: over the cores)."""
        return _cycles(self.cube.time_ns, self.chip.aic_mhz, self.block_num)

    @property
    def aiv_cycles(self) -> I64:
        """Cycles summed over the vector blocks; 0 on unified chips, whose one engine is in ``aic_cycles``."""
        if not self.chip.split:
            return np.zeros(len(self), np.int64)
        return _cycles(self.vector.time_ns, self.chip.aiv_mhz, self.aiv_blocks)


def _columns(nothing: Any, parts: Sequence[Any]) -> Any:
    """Return the fields of *parts* as columns, whose types are the types of *nothing*."""
    columns = {}
    for each in fields(type(nothing)):
        default, values = getattr(nothing, each.name), [getattr(part, each.name) for part in parts]
        columns[each.name] = _columns(default, values) if has(type(default)) else np.array(values, type(default))
    return type(nothing)(**columns)


Times = TypeVar("Times", bound=EngineTimes[F64])


def _selected(times: Times, index: Integers, scale: float | F64) -> Times:
    columns = {each.name: getattr(times, each.name)[index] for each in fields(type(times))}
    scaled = {name: column * scale for name, column in columns.items() if name.endswith("_ns")}
    return evolve(times, **columns | scaled)


def _cycles(time_ns: F64, mhz: int, blocks: I64) -> I64:
    """Return ``round(time * clock * blocks)`` (device_and_cost_model.md 3.1, item 2)."""
    cycles: I64 = np.rint(time_ns * mhz / 1000 * blocks).astype(np.int64)
    return cycles
