"""
What the events of the 950 count.

By assumption loads and stores (0x540, 0x556) share the conflicts that older chips tell as bank and bank group ones,
and a vector function (0x502) is busy as long as the vector pipe.
"""

from __future__ import annotations

from collections.abc import Mapping

from drynpu.kernels._counting import CUBE, VECTOR, Core, Count, Counts, never, products, registers


def _common(core: Core, bits: Mapping[int, int]) -> dict[int, Count]:
    main = {way: f"{core.side}_main_{way}_bytes" for way in ("read", "write")}
    columns = {
        0x400: (main["read"],),
        0x401: (main["write"],),
        0x422: (main["read"],),
        0x423: (main["write"],),
    }
    return {
        0x1: core.busy(f"{core.side}_scalar_ns"),
        0x202: core.busy(f"{core.side}_mte2_ns"),
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
    columns = {
        0x707: ("l1_to_l0a_bytes", "l1_to_l0b_bytes"),
        0x709: ("gm_to_l1_bytes",),
        0x304: ("l0_read_bytes",),
        0x703: ("l1_to_l0a_bytes",),
        0x306: ("l0_read_bytes",),
        0x705: ("l1_to_l0b_bytes",),
        0x712: ("l0c_to_gm_bytes",),
        0x30A: ("l0c_cube_bytes",),
        0x308: ("l0c_cube_bytes",),
    }
    return (
        _common(CUBE, bits)
        | {
            0x301: CUBE.busy("mac_ns"),
            0x701: CUBE.busy("mte1_ns"),
            0x203: never,
            0x714: CUBE.busy("fixpipe_ns"),
            0x323: products(CUBE, "cube_float_ops"),
            0x324: products(CUBE, "cube_int8_ops"),
            0x70C: never,  # results go to GM: no kernel of the model hands them to UB
        }
        | registers(bits, columns)
    )


def vector_events_v6(bits: Mapping[int, int]) -> Counts:
    """Return what the vector core counts, by event."""
    columns = {
        0x3: ("ub_scalar_read_bytes",),
        0x5: ("ub_scalar_write_bytes",),
        0x204: ("ub_to_gm_bytes",),
        0x206: ("gm_to_ub_bytes",),
        0x56F: ("ub_scalar_read_bytes", "ub_to_gm_bytes"),
        0x570: ("ub_scalar_write_bytes", "gm_to_ub_bytes"),
        0x571: ("ub_vector_read_bytes",),
        0x572: ("ub_vector_write_bytes",),
    }
    return (
        _common(VECTOR, bits)
        | {
            0x501: VECTOR.busy("vec_ns"),
            0x502: VECTOR.busy("vec_ns"),
            0x203: VECTOR.busy("mte3_ns"),
            0x528: VECTOR.conflicts("resource"),
            0x540: VECTOR.conflicts("bank"),
            0x556: VECTOR.conflicts("bankgroup"),
        }
        | registers(bits, columns)
    )
