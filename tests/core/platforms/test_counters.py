"""Counter groups against the tables of cann_msprof.md 1.8 and 4.2 as the page has them; the rest by hand."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from drynpu.platforms import CounterGroup, Formula, MetricColumn, find_platform

PAGE = (Path(__file__).parents[3] / "docs" / "formats" / "cann_msprof.md").read_text(encoding="utf-8")
EVERY = ("0", "1", "2", "3", "4", "5", "7", "8", "11", "15", "16")
COLUMNS_OF_1_8 = {"1": "910 (v2)", "4": "310P (v3.3)", "5": "A2/A3 (v4, 910B/910_93)", "7": "310B"}
OTHERS_LIKE = {"0": "1", "2": "4", "3": "4", "8": "7", "11": "7"}

# No page lists what 1.8 calls "chip specific", nor UB of the 310B: these repeat counters.yaml, which names the source.
EVENTS_310B = {
    "MemoryUB": (0x37, 0x38, 0x1A5, 0x1A6, 0x17F, 0x180, 0x191),
    "PipelineExecuteUtilization": (0x12C, 0x49, 0x4A, 0x9, 0x302, 0xC, 0xD, 0x303),
}


def rows(first: str) -> list[dict[str, str]]:
    """The table of the page whose first title is *first*, by title."""
    lines = PAGE[PAGE.index(f"\n| {first} |") + 1 :].split("\n\n")[0].splitlines()
    titles, _, *cells = ([cell.strip() for cell in line.strip("|").split("|")] for line in lines)
    return [dict(zip(titles, each, strict=True)) for each in cells]


def codes(text: str) -> tuple[int, ...]:
    return tuple(int(code, 16) for code in text.strip("`").split(","))


@pytest.mark.parametrize("version", EVERY[:9])
def test_events_before_the_950_are_those_of_the_page(version: str) -> None:
    like = OTHERS_LIKE.get(version, version)
    title = COLUMNS_OF_1_8[like]
    expected = {
        row["metric"]: codes(row["PMU events (non-v6)"])
        for row in rows("metric")
        if row[title] == "y" and row["PMU events (non-v6)"].startswith("0x")
    }
    expected |= EVENTS_310B if like == "7" else {}
    groups = find_platform(version).counter_groups
    assert len(expected) == len(groups) >= 6
    cube = dict(expected)
    if like == "5":
        found = re.search(r"becomes `PipeUtilizationExct` with\s+events `([0-9a-fx,]+)`", PAGE)
        assert found is not None
        cube["PipeUtilization"] = codes(found[1])
    assert {name: group.cube_events for name, group in groups.items()} == cube
    vector = expected if like == "5" else dict.fromkeys(expected, ())
    assert {name: group.vector_events for name, group in groups.items()} == vector


def newer(meaning: str) -> tuple[int, ...]:
    """Events of the 950 by what they mean: 7.4, the table "Counter events of 15 and 16"."""
    cells = next(line for line in PAGE.splitlines() if f"| {meaning} |" in line).strip("|").split("|")
    text = cells[[cell.strip() for cell in cells].index(meaning) - 1]
    numbers = [int(code, 16) for code in re.findall(r"0x[0-9a-f]+", text)]
    return tuple(range(numbers[0], numbers[1] + 1)) if " to " in text else tuple(numbers)


def test_events_of_the_950_are_those_of_the_page_that_mean_what_the_columns_show() -> None:
    """The page has the meanings but no groups. It does not list 0x502, what the conflicts of 0x528 are a share of."""
    mte1, fixpipe = newer("mte1, fixpipe")
    read_scalar, write_scalar = newer("ub read, write scalar")
    read_mte, write_mte = newer("ub read, write mte")
    ub_read, ub_write, read_vector, write_vector = newer("ub read and write, vector read and write")
    (l0a_read, l0b_read), (l0a_write, l0b_write) = newer("l0a, l0b read"), newer("l0a, l0b write")
    write_cube, read_cube = newer("l0c write cube, read cube")
    conflicts, banks, bank_groups = newer("conflict ratios")
    pipes = (*newer("vec"), *newer("mac"), *newer("scalar"), mte1, *newer("mte2, mte3"), *newer("icache request, miss"))
    vectors = ub_read, read_vector, ub_write, write_vector
    expected = {
        "ArithmeticUtilization": newer("mac fp16, int8"),
        "PipeUtilization": (*pipes, fixpipe),
        "Memory": (*newer("main memory read, write"), *vectors, *newer("l1 read, write")),
        "MemoryL0": (l0a_read, l0a_write, l0b_read, l0b_write, *newer("l0c read"), read_cube, write_cube),
        "MemoryUB": (read_scalar, write_scalar, *newer("fixp2ub"), write_mte, read_mte, read_vector, write_vector),
        "ResourceConflictRatio": (banks, bank_groups, 0x502, conflicts),
        "L2Cache": (
            *newer("local L2 read hit, miss, victim"),
            *newer("local L2 write hit, miss, victim"),
        ),
    }
    for version in ("15", "16"):
        groups = find_platform(version).counter_groups
        assert {name: group.cube_events for name, group in groups.items()} == expected
        assert {name: group.vector_events for name, group in groups.items()} == expected


# Widths and scales of 4.2, "bandwidth": the page has them by the name of the column.
MEMORY = "ub_read ub_write l1_read l1_write main_mem_read main_mem_write l2_read l2_write"
L0 = "l0a_read l0a_write l0b_read l0b_write l0c_read l0c_write l0c_read_cube l0c_write_cube"
UB = "ub_read_vector ub_write_vector ub_read_scalar ub_write_scalar"
EVENT = {
    "ub_read": 0x15,
    "ub_write": 0x16,
    "l1_read": 0x31,
    "l1_write": 0x32,
    "l2_read": 0x0F,
    "l2_write": 0x10,
    "main_mem_read": 0x12,
    "main_mem_write": 0x13,
    "l0a_read": 0x1B,
    "l0a_write": 0x1C,
    "l0b_read": 0x21,
    "l0b_write": 0x22,
    "l0c_read": 0x27,
    "l0c_read_cube": 0x28,
    "l0c_write": 0x29,
    "l0c_write_cube": 0x2A,
    "ub_read_scalar": 0x37,
    "ub_write_scalar": 0x38,
    "ub_read_mte": 0x3D,
    "ub_write_mte": 0x3E,
    "ub_read_vector": 0x43,
    "ub_write_vector": 0x44,
}
"""Register by what it counts (Ascend/msprof metric_calculator_group)."""


BITS_310 = {
    **dict.fromkeys((0x12, 0x13, 0x44), 2048),
    **dict.fromkeys((0x21, 0x43), 4096),
    **dict.fromkeys((0x28, 0x2A, 0x37, 0x38), 8192),
    **dict.fromkeys((0x32, 0x3D, 0x3E), 1024),
}
"""Where tasks of the 310 count otherwise (Ascend/msprof msconfig/ai_core_config.py, ``metrics``)."""


def test_bits_of_a_count_before_the_950() -> None:
    expected = {0x3D: 128, 0x3E: 128, 0x17F: 256, 0x180: 256, 0x191: 256}
    for group, text in (("Memory", MEMORY), ("MemoryL0", L0), ("MemoryUB", UB)):
        names = text.split()
        row = next(row["formula"] for row in rows("value") if row["value"].split()[:2] == ["...", group])
        pipes, scales = ([int(part) for part in re.findall(r"\d+", half)] for half in row.split(";"))
        assert len(scales) == len(names)
        pipes = pipes if len(pipes) > 1 else pipes * len(names)
        expected |= {EVENT[name]: pipe * scale for name, pipe, scale in zip(names, pipes, scales, strict=True)}
    assert find_platform("5").counter_set.bits_per_count == expected
    sentence = re.search(r"has pipe (\d+) and scale (\d+) for (.*?) \[", PAGE.replace("\n", " "))
    assert sentence is not None
    python = {int(code, 16): int(sentence[1]) * int(sentence[2]) for code in re.findall(r"0x[0-9a-f]+", sentence[3])}
    assert python == dict.fromkeys((0x21, 0x28, 0x2A, 0x32), 2048)
    for version in set(EVERY[:9]) - {"5"}:
        other = BITS_310 if version == "0" else {}
        assert find_platform(version).counter_set.bits_per_count == expected | python | other, version


def test_bits_of_a_count_of_the_950() -> None:
    """Ascend/msprof metric_calculator_group, *_CONFIG_V6."""
    expected = {
        128: (0x3, 0x5, 0x204, 0x206),
        64: (0x400, 0x401),
        1024: (0x422, 0x423, 0x56F, 0x570),
        256: (0x571, 0x572),
        4096: (0x304, 0x703, 0x707),
        2048: (0x306, 0x308, 0x30A, 0x705, 0x709, 0x70C, 0x712),
    }
    for version in ("15", "16"):
        bits = find_platform(version).counter_set.bits_per_count
        assert bits == {code: size for size, events in expected.items() for code in events}


def _column(name: str, formula: Formula, *terms: int | tuple[int, float]) -> MetricColumn:
    """A column whose terms weigh 1 where only the event stands."""
    pairs = tuple((term, 1.0) if isinstance(term, int) else (term[0], float(term[1])) for term in terms)
    return MetricColumn(name, formula, pairs)


def _pipe(name: str, *events: int) -> list[MetricColumn]:
    return [_column(f"{name}_time(us)", Formula.TIME, *events), _column(f"{name}_ratio", Formula.RATIO, *events)]


def _rate(name: str, *terms: tuple[int, float]) -> MetricColumn:
    return _column(f"{name}(GB/s)", Formula.BANDWIDTH, *terms)


def _by_name(*columns: MetricColumn) -> dict[str, MetricColumn]:
    return {column.name: column for column in columns}


_FOPS = (0x4C, 128), (0x4D, 64)
COMMON = _by_name(
    *_pipe("vec", 0x8),
    *_pipe("mac", 0x416, 0x417, 0xA),  # the cube core of A2 and A3; 0xa elsewhere
    *_pipe("scalar", 0x9),
    *_pipe("mte1", 0x302, 0xB),
    *_pipe("mte2", 0xC),
    *_pipe("mte3", 0xD),
    *_pipe("fixpipe", 0x303),
    *_pipe("vec_exe", 0x12C),
    *_pipe("mac_exe", 0x49, 0x4A),
    *_pipe("scalar_exe", 0x9),
    *_pipe("mte1_exe", 0x302),
    *_pipe("mte2_exe", 0xC),
    *_pipe("mte3_exe", 0xD),
    *_pipe("fixpipe_exe", 0x303),
    _column("icache_miss_rate", Formula.QUOTIENT, 0x55, 0x54),
    _column("mac_fp16_ratio", Formula.RATIO, 0x49),
    _column("mac_int8_ratio", Formula.RATIO, 0x4A),
    _column("vec_fp32_ratio", Formula.RATIO, 0x4B),
    _column("vec_fp16_ratio", Formula.RATIO, 0x4C, 0x4D),
    _column("vec_int32_ratio", Formula.RATIO, 0x4E),
    _column("vec_misc_ratio", Formula.RATIO, 0x4F),
    _column("cube_fops", Formula.TOTAL, (0x49, 8192), (0x4A, 16384)),
    _column("vector_fops", Formula.TOTAL, *_FOPS, (0x4B, 64), (0x4E, 64), (0x4F, 32)),
    _rate("ub_read_bw", (0x15, 1024)),
    _rate("ub_write_bw", (0x16, 1024)),
    _rate("l1_read_bw", (0x31, 4096)),
    _rate("l1_write_bw", (0x32, 2048)),
    _rate("l2_read_bw", (0x0F, 2048)),
    _rate("l2_write_bw", (0x10, 2048)),
    _rate("main_mem_read_bw", (0x12, 64)),
    _rate("main_mem_write_bw", (0x13, 64)),
    _rate("l0a_read_bw", (0x1B, 4096)),
    _rate("l0a_write_bw", (0x1C, 4096)),
    _rate("l0b_read_bw", (0x21, 2048)),
    _rate("l0b_write_bw", (0x22, 2048)),
    _rate("l0c_read_bw", (0x27, 2048)),
    _rate("l0c_write_bw", (0x29, 2048)),
    _rate("l0c_read_bw_cube", (0x28, 2048)),
    _rate("l0c_write_bw_cube", (0x2A, 2048)),
    _rate("ub_read_bw_vector", (0x43, 256)),
    _rate("ub_write_bw_vector", (0x44, 256)),
    _rate("ub_read_bw_scalar", (0x37, 128)),
    _rate("ub_write_bw_scalar", (0x38, 128)),
    _rate("ub_read_bw_mte", (0x3D, 128)),
    _rate("ub_write_bw_mte", (0x3E, 128)),
    _column("vec_bankgroup_cflt_ratio", Formula.RATIO, 0x64),
    _column("vec_bank_cflt_ratio", Formula.RATIO, 0x65),
    _column("vec_resc_cflt_ratio", Formula.RATIO, 0x66),
    _column("write_cache_hit", Formula.TOTAL, 0x500),
    _column("write_cache_miss_allocate", Formula.TOTAL, 0x502),
    _column("r0_read_cache_hit", Formula.TOTAL, 0x504),
    _column("r0_read_cache_miss_allocate", Formula.TOTAL, 0x506),
    _column("r1_read_cache_hit", Formula.TOTAL, 0x508),
    _column("r1_read_cache_miss_allocate", Formula.TOTAL, 0x50A),
    # 4.2: "factor 0.125 each; GM_to_L1 0.25 x (0x32 - 0x206); L0C_to_GM 0x20c - 0x206"
    _column("read_main_memory_datas(KB)", Formula.TOTAL, (0x50D, 0.125), (0x50E, 0.125)),
    _column("write_main_memory_datas(KB)", Formula.TOTAL, (0x50C, 0.125)),
    _column("GM_to_L1_datas(KB)", Formula.TOTAL, (0x32, 0.25), (0x206, -0.25)),
    _column("L0C_to_L1_datas(KB)", Formula.TOTAL, (0x206, 0.125)),
    _column("L0C_to_GM_datas(KB)", Formula.TOTAL, (0x20C, 0.125), (0x206, -0.125)),
    _column("GM_to_UB_datas(KB)", Formula.TOTAL, (0x3E, 0.125)),
    _column("UB_to_GM_datas(KB)", Formula.TOTAL, (0x3D, 0.125)),
)
"""What each column before the 950 follows from: cann_msprof.md 4.2 and the parser's tables."""

NEWER = _by_name(
    *_pipe("vec", 0x501),
    *_pipe("mac", 0x301),
    *_pipe("scalar", 0x1),
    *_pipe("mte1", 0x701),
    *_pipe("mte2", 0x202),
    *_pipe("mte3", 0x203),
    *_pipe("fixpipe", 0x714),
    _column("icache_miss_rate", Formula.QUOTIENT, 0x35, 0x34),
    _column("mac_fp16_ratio", Formula.RATIO, 0x323),
    _column("mac_int8_ratio", Formula.RATIO, 0x324),
    _column("cube_fops", Formula.TOTAL, (0x323, 8192), (0x324, 16384)),
    _rate("ub_read_bw", (0x56F, 1024), (0x571, 256)),
    _rate("ub_write_bw", (0x570, 1024)),
    _rate("l1_read_bw", (0x707, 4096)),
    _rate("l1_write_bw", (0x709, 2048)),
    _rate("main_mem_read_bw", (0x400, 64), (0x422, 1024)),
    _rate("main_mem_write_bw", (0x401, 64), (0x423, 1024)),
    _rate("l0a_read_bw", (0x304, 4096)),
    _rate("l0a_write_bw", (0x703, 4096)),
    _rate("l0b_read_bw", (0x306, 2048)),
    _rate("l0b_write_bw", (0x705, 2048)),
    _rate("l0c_read_bw", (0x712, 2048)),
    _rate("l0c_read_bw_cube", (0x30A, 2048)),
    _rate("l0c_write_bw_cube", (0x308, 2048)),
    _rate("ub_read_bw_vector", (0x571, 256)),
    _rate("ub_write_bw_vector", (0x572, 256)),
    _rate("ub_read_bw_scalar", (0x3, 128)),
    _rate("ub_write_bw_scalar", (0x5, 128)),
    _rate("fixp2ub_write_bw", (0x70C, 2048)),
    _column("vec_bank_cflt_ratio", Formula.RATIO, 0x540, 0x556),
    _column("vec_resc_cflt_ratio", Formula.QUOTIENT, 0x528, 0x502),
    _column("read_local_l2_hit", Formula.TOTAL, 0x424),
    _column("read_local_l2_miss", Formula.TOTAL, 0x425),
    _column("read_local_l2_victim", Formula.TOTAL, 0x426),
    _column("write_local_l2_hit", Formula.TOTAL, 0x42A),
    _column("write_local_l2_miss", Formula.TOTAL, 0x42B),
    _column("write_local_l2_victim", Formula.TOTAL, 0x42C),
)
"""The same of the 950: events of cann_msprof.md 7.4, "Counter events of 15 and 16", and the parser's tables."""

V3_FOPS = _column("vector_fops", Formula.TOTAL, *_FOPS, (0x4B, 64), (0x4E, 16), (0x4F, 16))
"""4.2: "v3: the last two x 16"."""
UB_310B = _by_name(
    _rate("ub_read_bw_vector", (0x17F, 256), (0x180, 256)),
    _rate("ub_write_bw_vector", (0x191, 256)),
)
CHANGED = {
    **{version: {"vector_fops": V3_FOPS} for version in ("2", "3", "4")},
    **dict.fromkeys(("7", "8", "11"), UB_310B),
}
NATIVE = _by_name(
    _rate("l1_write_bw", (0x32, 1024)),
    _rate("l0b_read_bw", (0x21, 4096)),
    _rate("l0c_read_bw_cube", (0x28, 8192)),
    _rate("l0c_write_bw_cube", (0x2A, 8192)),
)
"""The native path and samples; 4.2: "pipe 256, 256, 256, 128" and "scale 16, 16, 16, 8, 8, 8, 32, 32"."""
SAMPLED = {"0": {"vector_fops": _column("vector_fops", Formula.TOTAL, *_FOPS, (0x4B, 32), (0x4E, 64), (0x4F, 32))}}


def test_weights_of_operations_are_those_of_the_page() -> None:
    formulas = {row["value"]: row["formula"] for row in rows("value")}
    for name in ("cube_fops", "vector_fops"):
        terms = re.findall(r"(0x[0-9a-f]+) \N{MULTIPLICATION SIGN} (\d+)", formulas[name])
        assert COMMON[name].terms == tuple((int(code, 16), float(weight)) for code, weight in terms)


def _of_all_cores(column: MetricColumn) -> MetricColumn:
    """Return a rate as the 310 has it: its own bits, in the time of the core."""
    if column.formula is not Formula.BANDWIDTH:
        return column
    terms = tuple((code, float(BITS_310.get(code, bits))) for code, bits in column.terms)
    return MetricColumn(column.name, Formula.SHARED_BANDWIDTH, terms)


@pytest.mark.parametrize("version", EVERY)
def test_columns_follow_from_their_events(version: str) -> None:
    newer = version in {"15", "16"}
    expected = {**(NEWER if newer else COMMON), **CHANGED.get(version, {}), **(NATIVE if version == "5" else {})}
    samples = {**expected, **({} if newer else NATIVE), **SAMPLED.get(version, {})}
    sampled = {name.lower(): column for name, column in samples.items()}
    if version == "0":
        expected = {name: _of_all_cores(column) for name, column in expected.items()}
    for name, group in find_platform(version).counter_groups.items():
        for column in (*group.cube, *group.vector):
            assert column == expected[column.name], name
        for column in group.sampled:
            other = sampled[column.name.lower()]
            assert (column.formula, column.terms) == (other.formula, other.terms), (name, column.name)


@pytest.mark.parametrize("group", ["PipeUtilization", "ArithmeticUtilization", "Memory", "ResourceConflictRatio"])
def test_columns_of_a2_are_those_of_the_page(group: str) -> None:
    """cann_msprof.md 4.2, the table of PMU columns, for the groups that it spells out."""
    row = next(row["columns"] for row in rows("group") if row["group"] == group)
    found = find_platform("5").counter_groups[group]
    for prefix, columns in (("aic", found.cube), ("aiv", found.vector)):
        assert [column.name for column in columns] == re.findall(rf"\b{prefix}_([^\s,`;]+)", row)


def _sampled_names(group: CounterGroup) -> list[str]:
    return [column.name for column in group.sampled]


def test_tasks_have_traffic_of_l2_on_the_310_and_the_a2_alone() -> None:
    """4.2: "which the Python path drops"; the native path keeps it, and the Python path for the 310."""
    for version in EVERY:
        memory = find_platform(version).counter_groups["Memory"]
        shown = {column.name for column in (*memory.cube, *memory.vector)} & {"l2_read_bw(GB/s)", "l2_write_bw(GB/s)"}
        assert len(shown) == (2 if version in {"0", "5"} else 0), version


def test_samples_of_cores_have_traffic_of_l2_on_the_310_and_the_a2_alone() -> None:
    """Ascend/msprof ai_core_report; 310: MemoryUB shows what the transfer engines move, too."""
    for version in EVERY:
        groups = find_platform(version).counter_groups
        l2 = {"l2_read_bw(GB/s)", "l2_write_bw(GB/s)"} & set(_sampled_names(groups["Memory"]))
        assert len(l2) == (2 if version in {"0", "5"} else 0), version
        engines = {"ub_read_bw_mte(GB/s)", "ub_write_bw_mte(GB/s)"} & set(_sampled_names(groups["MemoryUB"]))
        assert len(engines) == (2 if version == "0" else 0), version
        assert all(column.formula is not Formula.TIME for group in groups.values() for column in group.sampled)
