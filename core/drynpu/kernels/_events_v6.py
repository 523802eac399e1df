"""
What the events of the 950 count.

By assumption loads and stores (0x540, 0x556) share the conflicts that older chips tell as bank and bank group ones,
and a vector function (0x502) is busy as long as the vector pipe.
"""

from __future__ import annotations

from collections.abc import Mapping

from drynpu.kernels._counting import CUBE, VECTOR, Column, Core, Count, Counts, never, products, registers, vec_ns


def _common(core: Core, bits: Mapping[int, int]) -> dict[int, Count]:
    columns = {
        0x400: core.main_reads,
        0x401: core.main_writes,
        0x422: core.main_reads,
        0x423: core.main_writes,
    }
    return {
        0x1: core.scalar,
        0x202: core.mte2,
        0x34: core.icache_requests,
        0x35: core.icache_misses,
        0x424: core.hits("read"),
        0x425: core.misses("read"),
        0x426: core.victims("read"),
        0x42A: core.hits("write"),
        0x42B: core.misses("write"),
        0x42C: core.victims("write"),
    } | registers(bits, columns)


def cube_events_v6(bits: Mapping[int, int]) -> Counts:
    """Return what the cube core counts, by event."""
    columns: dict[int, Column] = {
        0x707: lambda w: w.cube.l1_to_l0a_bytes + w.cube.l1_to_l0b_bytes,
        0x709: lambda w: w.cube.gm_to_l1_bytes,
        0x304: lambda w: w.products.l0_read_bytes,
        0x703: lambda w: w.cube.l1_to_l0a_bytes,
        0x306: lambda w: w.products.l0_read_bytes,
        0x705: lambda w: w.cube.l1_to_l0b_bytes,
        0x712: lambda w: w.cube.l0c_to_gm_bytes,
        0x30A: lambda w: w.products.l0c_bytes,
        0x308: lambda w: w.products.l0c_bytes,
    }
    return (
        _common(CUBE, bits)
        | {
            0x301: CUBE.busy(lambda t: t.cube.mac_ns),
            0x701: CUBE.busy(lambda t: t.cube.mte1_ns),
            0x203: never,
            0x714: CUBE.busy(lambda t: t.cube.fixpipe_ns),
            0x323: products(CUBE, lambda p: p.float_ops),
            0x324: products(CUBE, lambda p: p.int8_ops),
            0x70C: never,  # results go to GM: no kernel of the model hands them to UB
        }
        | registers(bits, columns)
    )


def vector_events_v6(bits: Mapping[int, int]) -> Counts:
    """Return what the vector core counts, by event."""
    columns: dict[int, Column] = {
        0x3: lambda w: w.vector.scalar_read_bytes,
        0x5: lambda w: w.vector.scalar_write_bytes,
        0x204: lambda w: w.vector.ub_to_gm_bytes,
        0x206: lambda w: w.vector.gm_to_ub_bytes,
        0x56F: lambda w: w.vector.scalar_read_bytes + w.vector.ub_to_gm_bytes,
        0x570: lambda w: w.vector.scalar_write_bytes + w.vector.gm_to_ub_bytes,
        0x571: lambda w: w.vector.vector_read_bytes,
        0x572: lambda w: w.vector.vector_write_bytes,
    }
    return (
        _common(VECTOR, bits)
        | {
            0x501: VECTOR.busy(vec_ns),
            0x502: VECTOR.busy(vec_ns),
            0x203: VECTOR.busy(lambda t: t.vector.mte3_ns),
            0x528: VECTOR.conflicts(lambda c: c.resource),
            0x540: VECTOR.conflicts(lambda c: c.bank),
            0x556: VECTOR.conflicts(lambda c: c.bankgroup),
        }
        | registers(bits, columns)
    )
