from __future__ import annotations

import pytest
from attrs import evolve

from drynpu._errors import OptionError
from drynpu.kernels import (
    event_codes,
    metric_column_names,
)
from drynpu.options import MetricGroup as Group
from drynpu.options.profiling_options import METRIC_NAMES, metric_groups
from drynpu.platforms import Platform, find_platform, known_chips, known_platforms, load_chip
from drynpu.tables._schemas import PMU_COLUMNS_SPLIT

A2, A5 = find_platform("5"), find_platform("15")

# cann_msprof.md 1.8
EVENTS = {
    "ArithmeticUtilization": "49,4a,4b,4c,4d,4e,4f",
    "PipeUtilization": "8,a,9,b,c,d,54,55",
    "Memory": "15,16,31,32,f,10,12,13",
    "MemoryL0": "1b,1c,21,22,27,28,29,2a",
    "MemoryUB": "10,13,37,38,3d,3e,43,44",
    "ResourceConflictRatio": "64,65,66",
    "L2Cache": "500,502,504,506,508,50a",
    "MemoryAccess": "32,3d,3e,206,20c,50c,50d,50e",
}
# hicann/runtime david_v121_platform.cpp
EVENTS_950 = {
    "ArithmeticUtilization": "323,324",
    "PipeUtilization": "501,301,1,701,202,203,34,35,714",
    "Memory": "400,401,56f,571,570,572,707,709",
    "MemoryL0": "304,703,306,705,712,30a,308",
    "MemoryUB": "3,5,70c,206,204,571,572",
    "ResourceConflictRatio": "540,556,502,528",
    "L2Cache": "424,425,426,42a,42b,42c",
}
# cann_msprof.md 4.2, without the lead-ins
COLUMNS_A2 = {
    "ArithmeticUtilization": (
        "mac_fp16_ratio mac_int8_ratio cube_fops",
        "vec_fp32_ratio vec_fp16_ratio vec_int32_ratio vec_misc_ratio vector_fops",
    ),
    "Memory": (
        "l1_read_bw l1_write_bw main_mem_read_bw main_mem_write_bw l2_read_bw l2_write_bw",
        "ub_read_bw ub_write_bw main_mem_read_bw main_mem_write_bw l2_read_bw l2_write_bw",
    ),
    "MemoryL0": (
        "l0a_read_bw l0a_write_bw l0b_read_bw l0b_write_bw l0c_read_bw_cube l0c_write_bw_cube",
        "l0c_read_bw l0c_write_bw",
    ),
    "MemoryUB": (
        "ub_read_bw_scalar ub_write_bw_scalar",
        "ub_read_bw_vector ub_write_bw_vector ub_read_bw_scalar ub_write_bw_scalar",
    ),
    "ResourceConflictRatio": ("", "vec_bankgroup_cflt_ratio vec_bank_cflt_ratio vec_resc_cflt_ratio"),
}
CACHE = (
    "{0}_write_cache_hit {0}_write_cache_miss_allocate {0}_r0_read_cache_hit {0}_r0_read_cache_miss_allocate "
    "{0}_r1_read_cache_hit {0}_r1_read_cache_miss_allocate"
)
ACCESS = (
    "{0}_read_main_memory_datas(KB) {0}_write_main_memory_datas(KB) {0}_GM_to_L1_datas(KB) {0}_L0C_to_L1_datas(KB) "
    "{0}_L0C_to_GM_datas(KB) {0}_GM_to_UB_datas(KB) {0}_UB_to_GM_datas(KB)"
)
COLUMNS_UNIFIED = {
    "PipeUtilization": (
        "vec_time(us) vec_ratio mac_time(us) mac_ratio scalar_time(us) scalar_ratio mte1_time(us) mte1_ratio "
        "mte2_time(us) mte2_ratio mte3_time(us) mte3_ratio icache_miss_rate memory_bound cube_utilization(%)"
    ),
    "ArithmeticUtilization": (
        "mac_fp16_ratio mac_int8_ratio vec_fp32_ratio vec_fp16_ratio vec_int32_ratio vec_misc_ratio "
        "cube_fops vector_fops"
    ),
    "Memory": (
        "ub_read_bw(GB/s) ub_write_bw(GB/s) l1_read_bw(GB/s) l1_write_bw(GB/s) "
        "main_mem_read_bw(GB/s) main_mem_write_bw(GB/s)"
    ),
}


def codes(text: str) -> tuple[int, ...]:
    return tuple(int(part, 16) for part in text.split(","))


def halves(cube: str, vector: str) -> tuple[str, ...]:
    return "aicore_time(us)", "aic_total_cycles", *cube.split(), "aiv_time(us)", "aiv_total_cycles", *vector.split()


@pytest.mark.parametrize("metrics", EVENTS)
def test_both_cores_of_a2_record_the_vendors_events(metrics: str) -> None:
    cube, vector = event_codes(metrics, load_chip("910B2"))
    pipes = codes("416,417,9,302,c,303,54,55")
    assert cube == (pipes if metrics == "PipeUtilization" else codes(EVENTS[metrics]))
    assert vector == codes(EVENTS[metrics])


@pytest.mark.parametrize("chip", ["310", "310P3", "910", "910A"])
def test_unified_chips_record_the_common_groups(chip: str) -> None:
    for metrics in list(EVENTS)[:6]:
        assert event_codes(metrics, load_chip(chip)) == (codes(EVENTS[metrics]), ())


@pytest.mark.parametrize("metrics", EVENTS_950)
def test_the_950_has_events_of_its_own(metrics: str) -> None:
    assert event_codes(metrics, load_chip("950PR")) == (codes(EVENTS_950[metrics]),) * 2


def test_the_310b_has_two_groups_of_its_own() -> None:
    """The collector's tables: hicann/runtime mini_v3_platform.cpp, platform_interface.h."""
    groups = find_platform("7").counter_groups
    executed = {"MemoryUB": "37,38,1a5,1a6,17f,180,191", "PipelineExecuteUtilization": "12c,49,4a,9,302,c,d,303"}
    for metrics, events in (dict(list(EVENTS.items())[:7]) | executed).items():
        assert (groups[metrics].cube_events, groups[metrics].vector_events) == (codes(events), ())


def test_columns_of_a2() -> None:
    def own(prefix: str, names: str) -> str:
        return " ".join(f"{prefix}_{name}(GB/s)" if "_bw" in name else f"{prefix}_{name}" for name in names.split())

    for metrics, (cube, vector) in COLUMNS_A2.items():
        assert metric_column_names(metrics, A2) == halves(own("aic", cube), own("aiv", vector))
    assert metric_column_names("L2Cache", A2) == halves(CACHE.format("aic"), CACHE.format("aiv"))
    assert metric_column_names("MemoryAccess", A2) == halves(ACCESS.format("aic"), ACCESS.format("aiv"))
    assert metric_column_names("PipeUtilization", A2) == PMU_COLUMNS_SPLIT["PipeUtilization"]


COLUMNS_310 = {
    "Memory": " ".join(
        f"{unit}_{way}_bw(GB/s)" for unit in ("ub", "l1", "l2", "main_mem") for way in ("read", "write")
    ),
    "MemoryUB": " ".join(
        f"ub_{way}_bw_{unit}(GB/s)" for unit in ("mte", "vector", "scalar") for way in ("read", "write")
    ),
}
"""Ascend/msprof viewer/ai_core_report.py: only ``is_chip_v1`` keeps L2 and the transfer engines."""


@pytest.mark.parametrize("platform", [find_platform("0"), find_platform("1"), find_platform("4")])
def test_columns_of_unified_chips_have_no_prefix(platform: Platform) -> None:
    wider = COLUMNS_310 if platform == find_platform("0") else {}
    for metrics, columns in {**COLUMNS_UNIFIED, **wider}.items():
        assert metric_column_names(metrics, platform) == ("aicore_time(us)", "total_cycles", *columns.split())
    assert not [
        name for metrics in platform.counter_groups for name in metric_column_names(metrics, platform) if "aiv" in name
    ]


def test_columns_of_the_310b() -> None:
    units = ("vec", "mac", "scalar", "mte1", "mte2", "mte3", "fixpipe")
    pipes = [f"{unit}_exe_{what}" for unit in units for what in ("time(us)", "ratio")]
    found = metric_column_names("PipelineExecuteUtilization", find_platform("7"))
    # cube_utilization needs mac_ratio (Ascend/msprof analysis/common_func/data_manager.py).
    assert found == ("aicore_time(us)", "total_cycles", *pipes, "memory_bound")


def test_columns_of_the_950_differ_where_its_units_do() -> None:
    def own(metrics: str) -> set[str]:
        return set(metric_column_names(metrics, A5))

    assert "aic_fixpipe_ratio" in own("PipeUtilization")
    assert "aiv_fixpipe_ratio" not in own("PipeUtilization")
    assert not [name for name in own("Memory") if "l2_" in name]
    assert {"aic_fixp2ub_write_bw(GB/s)", "aiv_fixp2ub_write_bw(GB/s)"} <= own("MemoryUB")
    assert metric_column_names("ArithmeticUtilization", A5) == halves(
        "aic_mac_fp16_ratio aic_mac_int8_ratio aic_cube_fops", ""
    )
    cache = " ".join(f"{{0}}_{way}_local_l2_{what}" for way in ("read", "write") for what in ("hit", "miss", "victim"))
    assert metric_column_names("L2Cache", A5) == halves(cache.format("aic"), cache.format("aiv"))
    assert metric_column_names("PipeUtilization", A5)[-1] == "cube_utilization(%)"
    assert not [name for name in own("ResourceConflictRatio") if "bankgroup" in name]


@pytest.mark.parametrize("platform", known_platforms(), ids=lambda p: p.version)
def test_every_column_has_an_event_that_its_core_records(platform: Platform) -> None:
    for metrics, group in platform.counter_groups.items():
        sides = ((group.cube, group.cube_events), (group.vector, group.vector_events))
        for columns, events in sides:
            assert len(events) <= platform.counters.slots
            assert len(set(events)) == len(events)
            for column in columns:
                assert {code for code, _ in column.terms} & set(events), (metrics, column.name)


def test_custom_events_are_columns_of_their_own() -> None:
    names = metric_column_names("Custom:0x49,74", A2)
    assert names == halves("aic_r49 aic_r4a", "aiv_r49 aiv_r4a")
    assert metric_column_names("custom:0x8", find_platform("1")) == ("aicore_time(us)", "total_cycles", "r8")
    assert event_codes("Custom:0x49,0x11", load_chip("910B2")) == ((0x49, 0x11), (0x49, 0x11))
    assert event_codes("Custom:0x49", load_chip("910A")) == ((0x49,), ())


@pytest.mark.parametrize("chip", ["910B2", "910A", "950PR"])
def test_custom_events_without_an_account_are_refused(chip: str) -> None:
    with pytest.raises(OptionError, match=r"event\(s\) 0x5f, 0x7fff .*not modelled on Ascend.*available: 0x"):
        event_codes("Custom:0x5f,0x9,0x7fff" if chip != "950PR" else "Custom:0x5f,0x1,0x7fff", load_chip(chip))


def test_malformed_custom_events_say_what_is_wrong() -> None:
    with pytest.raises(OptionError, match="'0xzz' in .* is not a number"):
        event_codes("Custom:0xzz", load_chip("910B2"))
    with pytest.raises(OptionError, match="allowed are 1 to 8"):
        event_codes("Custom:" + ",".join(map(str, range(1, 10))), load_chip("910B2"))


@pytest.mark.parametrize(
    ("chip", "metrics"), [("910A", "L2Cache"), ("310P3", "MemoryAccess"), ("950PR", "MemoryAccess")]
)
def test_a_group_that_the_chip_lacks_is_refused_with_those_it_has(chip: str, metrics: str) -> None:
    label = load_chip(chip).platform.label
    with pytest.raises(OptionError, match=f"{label} has no counters for '{metrics}'; available: Arith"):
        event_codes(metrics, load_chip(chip))


def test_nothing_is_modelled_of_the_310b() -> None:
    chip = evolve(load_chip("310"), platform_version="7")
    for group in metric_groups(find_platform("7")):
        with pytest.raises(OptionError, match="Ascend310B can be read, but are not modelled"):
            event_codes(METRIC_NAMES[group], chip)
    assert Group.PIPELINE_EXECUTE_UTILIZATION in metric_groups(find_platform("7"))


def test_platforms_have_the_counters_of_their_family() -> None:
    expected = {"0": "310", "1": "910", "2": "310P", "3": "310P", "4": "310P", "5": "910B/A3", "7": "310B"}
    expected |= {"8": "310B", "11": "310B", "15": "950", "16": "950"}
    for version, label in expected.items():
        assert find_platform(version).label == f"Ascend{label}"
    assert find_platform("9", split=True).counter_groups is A2.counter_groups
    assert find_platform("").counter_groups is find_platform("1").counter_groups
    for chip in known_chips():
        assert chip.platform.split == chip.split
