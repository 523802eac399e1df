"""The columns of a table of costs under one name each, in the order in which they are approved."""

from __future__ import annotations

from operator import attrgetter

import numpy as np

from drynpu.kernels import CostTable

_TIMES = {
    "duration_ns": "duration_ns",
    "block_num": "block_num",
    "mix_block_num": "mix_block_num",
    "aic_time_ns": "cube.time_ns",
    "mac_ns": "cube.mac_ns",
    "aic_scalar_ns": "cube.scalar_ns",
    "mte1_ns": "cube.mte1_ns",
    "aic_mte2_ns": "cube.mte2_ns",
    "fixpipe_ns": "cube.fixpipe_ns",
    "aic_icache_miss_rate": "cube.icache_miss_rate",
    "aiv_time_ns": "vector.time_ns",
    "vec_ns": "vector.vec_ns",
    "aiv_scalar_ns": "vector.scalar_ns",
    "aiv_mte2_ns": "vector.mte2_ns",
    "mte3_ns": "vector.mte3_ns",
    "aiv_icache_miss_rate": "vector.icache_miss_rate",
}
_WORK = {
    "bankgroup_conflict_share": "conflicts.bankgroup",
    "bank_conflict_share": "conflicts.bank",
    "resource_conflict_share": "conflicts.resource",
    "cube_float_ops": "products.float_ops",
    "cube_int8_ops": "products.int8_ops",
    "l0_read_bytes": "products.l0_read_bytes",
    "l0c_cube_bytes": "products.l0c_bytes",
    "gm_to_l1_bytes": "cube.gm_to_l1_bytes",
    "l1_to_l0a_bytes": "cube.l1_to_l0a_bytes",
    "l1_to_l0b_bytes": "cube.l1_to_l0b_bytes",
    "l0c_to_gm_bytes": "cube.l0c_to_gm_bytes",
    "l0c_to_ub_bytes": "cube.l0c_to_ub_bytes",
    "aic_main_read_bytes": "cube.main_read_bytes",
    "aic_main_write_bytes": "cube.main_write_bytes",
    "vec_fp32_cycles": "cycles.fp32",
    "vec_fp16_cycles": "cycles.fp16",
    "vec_int32_cycles": "cycles.int32",
    "vec_misc_cycles": "cycles.misc",
    "gm_to_ub_bytes": "vector.gm_to_ub_bytes",
    "ub_to_gm_bytes": "vector.ub_to_gm_bytes",
    "ub_vector_read_bytes": "vector.vector_read_bytes",
    "ub_vector_write_bytes": "vector.vector_write_bytes",
    "ub_scalar_read_bytes": "vector.scalar_read_bytes",
    "ub_scalar_write_bytes": "vector.scalar_write_bytes",
    "aiv_main_read_bytes": "vector.main_read_bytes",
    "aiv_main_write_bytes": "vector.main_write_bytes",
    "l2_victim_share": "l2_victim_share",
}


def cost_columns(table: CostTable) -> dict[str, np.ndarray]:
    return time_columns(table) | work_columns(table)


def time_columns(table: CostTable) -> dict[str, np.ndarray]:
    return {name: attrgetter(path)(table) for name, path in _TIMES.items()}


def work_columns(table: CostTable) -> dict[str, np.ndarray]:
    return {name: attrgetter(path)(table.work) for name, path in _WORK.items()}
