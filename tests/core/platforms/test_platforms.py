"""Properties of platforms against the tables of cann_msprof.md, written down here once more and by hand."""

from __future__ import annotations

from operator import attrgetter

import pytest

from drynpu._errors import OptionError
from drynpu.options.profiling_options import METRIC_NAMES
from drynpu.platforms import (
    Platform,
    find_platform,
    known_platforms,
    known_series,
    named_platforms,
    resolve_platform,
    resolve_series,
)

EVERY = ("0", "1", "2", "3", "4", "5", "7", "8", "11", "15", "16")


def numbers(holds: object, name: str) -> set[str]:
    """The platforms whose property *name* is that."""
    return {platform.version for platform in known_platforms() if attrgetter(name)(platform) == holds}


def test_platforms_are_those_of_section_1_9_that_have_records_we_know() -> None:
    assert {platform.version for platform in known_platforms()} == set(EVERY)
    assert len(known_platforms()) == len(EVERY)


@pytest.mark.parametrize(
    ("version", "name"),
    # cann_msprof.md 1.9, "NPU_INFO.name in the db"
    [
        ("0", "Ascend310"),
        ("1", "Ascend910A"),
        ("4", "Ascend310P"),
        ("5", "Ascend910B"),
        ("7", "Ascend310B"),
        ("15", "Ascend950"),
        *((version, "UNKNOWN") for version in ("2", "3", "8", "9", "11", "16", "")),
    ],
)
def test_name_in_the_database(version: str, name: str) -> None:
    assert find_platform(version).npu_info_name == name


def test_task_ids_repeat_on_0_2_and_11() -> None:
    """cann_msprof.md 1.9, "a chip other than 0, 2, 11"."""
    assert numbers(False, "tasks.unique_ids") == {"0", "2", "11"}


def test_the_native_writer_serves_5_15_and_16() -> None:
    """cann_msprof.md 4, first paragraph."""
    assert numbers(True, "files.native_writer") == {"5", "15", "16"}


def test_the_stars_scheduler_is_on_5_7_8_11_15_and_16() -> None:
    """cann_msprof.md 7.5.1, device files."""
    assert numbers(True, "tasks.stars") == {"5", "7", "8", "11", "15", "16"}
    assert numbers(False, "tasks.stars") == {"0", "1", "2", "3", "4"}


def test_kernels_with_constants_compiled_in_are_those_of_the_first_generation() -> None:
    """device_and_cost_model.md 4.3; genuine kernels of the A2 (4.1) have no D."""
    assert numbers(True, "compiles_constants") == {"0", "1", "2", "3", "4"}


def test_cores_are_split_on_5_15_and_16() -> None:
    """cann_msprof.md 7.5.1, "cube 8 + vector 8" and "10 + 10"; unprefixed elsewhere."""
    assert numbers(True, "split") == {"5", "15", "16"}


def test_a_ddr_count_is_32_bytes_on_1_to_4_and_16_elsewhere() -> None:
    """cann_msprof.md 7.4 "ddr.data"; Ascend/msprof ConfigMgr.get_ddr_bit_width: 256 and 128 bits."""
    wide = {version: find_platform(version).memory.ddr_bytes for version in (*EVERY, "9", "")}
    assert {version for version, size in wide.items() if size == 256 // 8} == {"1", "2", "3", "4"}
    assert {version for version, size in wide.items() if size == 128 // 8} == {
        "0",
        "5",
        "7",
        "8",
        "9",
        "11",
        "15",
        "16",
        "",
    }


def test_last_level_caches() -> None:
    """cann_msprof.md 4.4 "llc_read_write": 5: 0, 1; 7, 8, 11: 0; others 0..3."""
    for version in EVERY:
        expected = {"5": 2, "7": 1, "8": 1, "11": 1}.get(version, 4)
        assert find_platform(version).memory.last_level_caches == expected, version


def test_the_hit_rate_of_l2_is_shown_on_1_to_4() -> None:
    """cann_msprof.md 4.4 "l2_cache": N/A on every STARS chip (5, 7, 8, 11, 15, 16)."""
    assert numbers(False, "files.l2_hit_rate") == {"5", "7", "8", "11", "15", "16"}


@pytest.mark.parametrize(
    ("versions", "requests", "hits", "misses", "victims"),
    # cann_msprof.md 7.4 "l2_cache.data", request, hit, victim; the 950's hits are requests less misses and victims
    [
        (("1",), {0x59}, {0x5B}, set(), {0x5C}),
        (("2", "3", "4"), {0x78, 0x79}, {0x6A}, set(), {0x71}),
        (("5", "7", "8", "11"), {0xFB, 0xFC}, {0x90, 0x91}, set(), {0x9C}),
        (("15", "16"), {0x00}, set(), {0x81, 0x82, 0x83}, {0x74, 0x75}),
    ],
)
def test_events_of_the_l2_cache(
    versions: tuple[str, ...], requests: set[int], hits: set[int], misses: set[int], victims: set[int]
) -> None:
    for version in versions:
        events = find_platform(version).memory.l2_events
        assert events is not None
        assert [set(codes) for codes in (events.requests, events.hits, events.misses, events.victims)] == [
            requests,
            hits,
            misses,
            victims,
        ]
        assert requests | hits | misses | victims <= set(events.events)
        assert len(events.events) <= 8


@pytest.mark.parametrize(
    ("versions", "events"),
    # The collector's lists, in the order of a record (hicann/runtime)
    [
        (("1",), (0x5B, 0x59, 0x5C, 0x7D, 0x7E, 0x71, 0x79, 0x7C)),
        (("2", "3", "4"), (0x78, 0x79, 0x77, 0x71, 0x6A, 0x6C, 0x74, 0x62)),
        (("5", "7", "8", "11"), (0xF6, 0xFB, 0xFC, 0xBF, 0x90, 0x91, 0x9C, 0x9D)),
        (("15", "16"), (0x00, 0x81, 0x82, 0x83, 0x74, 0x75)),
    ],
)
def test_order_of_the_events_of_the_l2_cache(versions: tuple[str, ...], events: tuple[int, ...]) -> None:
    for version in versions:
        found = find_platform(version).memory.l2_events
        assert found is not None
        assert found.events == events, version


def test_the_310_counts_nothing_per_task_in_l2() -> None:
    """cann_msprof.md 7.4 "l2_cache.data (not 0, 9)"."""
    assert [version for version in (*EVERY, "9") if find_platform(version).memory.l2_events is None] == ["0", "9"]


def test_records_of_tasks_are_those_of_the_scheduler() -> None:
    """cann_msprof.md 7.5.1: ts_track on 0, hwts and aicore up to 4, then STARS's, which the 950 widens."""
    for version in EVERY:
        number = int(version)
        expected = (
            ("ts_track_state", "aicore_ts")
            if number == 0
            else ("hwts", "aicore")
            if number <= 4
            else ("stars_soc", "ffts_profile")
            if number <= 11
            else ("stars_soc_v6", "ffts_profile_v6")
        )
        platform = find_platform(version)
        assert (platform.tasks.record, platform.counters.record) == expected, version


def test_records_of_the_950_have_forms_of_their_own() -> None:
    """cann_msprof.md 7.4: ten counters, function 0x2a, u32 task ids, dies."""
    for version in EVERY:
        platform, newer = find_platform(version), version in {"15", "16"}
        assert platform.counters.slots == (10 if newer else 8)
        assert platform.memory.soc_pmu_record == ("soc_pmu_v6" if newer else "soc_pmu")
        assert platform.links.chip_trans_record == ("chip_trans_v6" if newer else "chip_trans")
        assert platform.memory.qos_record == ("stars_qos" if newer else "qos")
        assert platform.links.dies is newer
        dies = {0: "D-DIE0", 2: "U-DIE0", 3: "U-DIE1"} if newer else {0: "die 0", 1: "die 1"}
        assert platform.links.sio_dies == dies


def test_schedulers_differ_in_what_they_report() -> None:
    """cann_msprof.md 7.4 and 7.5.2: AI CPU of the 910 in ts_track, u32 task ids of the 950, sub-tasks of MIX on 5."""
    # device_task_collector.py opens the records of the AI CPU of the task scheduler for CHIP_V2_1_0 alone.
    assert numbers(True, "tasks.ai_cpu_in_ts_track") == {"1"}
    # stars_common.py joins task ids where is_chip_v6() holds: CHIP_V6_1_0 and CHIP_V6_2_0.
    assert numbers(True, "tasks.wide_ids") == {"15", "16"}
    assert numbers(True, "tasks.mixed_sub_tasks") == {"5"}


def test_address_translation_is_counted_on_5_15_and_16() -> None:
    """cann_msprof.md 7.4 "socpmu.data (5, 15, 16)"."""
    assert numbers(True, "memory.translation_counters") == {"5", "15", "16"}


@pytest.mark.parametrize(
    ("version", "first", "records"),
    # Ascend/msprof ChipMaxCoreId, and the files of cann_msprof.md 7.5.1
    [
        ("5", 25, ("ffts_core_sample",)),
        *((version, 1, ("ffts_core_sample",)) for version in ("7", "8", "11")),
        ("15", 36, ("ffts_core_sample_v6",)),
        ("16", 70, ("ffts_core_sample_v6",)),
        *(
            (version, None, ("ai_core_sample", "ai_vector_core_sample"))
            for version in ("0", "1", "2", "3", "4", "9", "")
        ),
    ],
)
def test_samples_of_cores(version: str, first: int | None, records: tuple[str, ...]) -> None:
    platform = find_platform(version)
    assert (platform.counters.first_vector_core, platform.counters.sample_records) == (first, records)


def test_changes_of_the_clock_are_shown_where_they_are_read() -> None:
    """cann_msprof.md 7.4 "lpmFreqConv.data" less the 950, whose series belong to dies."""
    assert numbers(True, "files.frequency_layer") == {"5", "7", "8", "11"}


def test_the_memory_of_modules_is_not_read_on_0() -> None:
    assert numbers(False, "files.module_memory") == {"0"}


def test_pcie_of_5_is_its_last_sample() -> None:
    assert numbers(True, "files.last_pcie_sample") == {"5"}


def test_a_platform_that_nobody_describes_counts_as_its_cores_suggest() -> None:
    for version in ("", "6", "9", "17"):
        unified, split = find_platform(version), find_platform(version, split=True)
        assert (unified.version, unified.split, unified.label) == (version, False, "Ascend910")
        assert (split.version, split.split, split.label) == (version, True, "Ascend910B/A3")
        assert unified.counter_groups is find_platform("1").counter_groups
        assert split.counter_groups is find_platform("5").counter_groups
        assert unified.counters.slots == split.counters.slots == 8


@pytest.mark.parametrize(
    ("chip", "version", "series"),
    [
        ("5", "5", "A2"),
        ("A2", "5", "A2"),
        ("a3", "5", "A3"),
        ("Ascend910B4-1", "5", "A2"),
        ("Ascend910_9391", "5", "A3"),
        ("910_93", "5", "A3"),
        ("Ascend910", "1", "910"),
        ("910A", "1", "910"),
        ("310", "0", "310"),
        ("Ascend310P3", "4", "310P"),
        ("310B1", "7", "310B"),
        ("Ascend950PR", "15", "950"),
        ("16", "16", "950"),
    ],
)
def test_platform_and_series_of_a_name(chip: str, version: str, series: str) -> None:
    assert resolve_platform(chip).version == version
    assert resolve_series(chip) == series


@pytest.mark.parametrize("chip", ["2", "3", "8", "9", "11", "", "Ascend", "920"])
def test_what_has_no_known_options_is_refused(chip: str) -> None:
    with pytest.raises(OptionError, match="Ascend310P, Ascend910B/A3, Ascend310B, Ascend950, 0, 1, 4, 5, 7, 15"):
        resolve_platform(chip)


# cann_msprof.md 1.8: y in the columns 910, 310P, A2/A3, 950 and 310B; the 310 has none, and the collector lists the
# common ones. The 310B takes PipelineExecuteUtilization where nothing is named (1.6).
COMMON = ["ArithmeticUtilization", "PipeUtilization", "Memory", "MemoryL0", "MemoryUB", "ResourceConflictRatio"]
MORE = {"5": ["L2Cache", "MemoryAccess"], "15": ["L2Cache"], "7": ["L2Cache", "PipelineExecuteUtilization"]}
RELATED = {"2": "4", "3": "4", "8": "7", "11": "7", "16": "15"}


@pytest.mark.parametrize("version", EVERY)
def test_metric_groups(version: str) -> None:
    platform = find_platform(version)
    assert list(platform.counter_groups) == COMMON + MORE.get(RELATED.get(version, version), [])
    execute = version in {"7", "8", "11"}
    assert platform.options.default_metric_group == ("PipelineExecuteUtilization" if execute else "PipeUtilization")
    assert platform.counters.modelled is not execute


def test_words_of_options() -> None:
    """cann_msprof.md 1.3: task_time, llc_profiling, instr_profiling_freq, optype and sys_io_sampling_freq."""
    assert numbers(True, "options.level_l3") == {"5", "15", "16"}
    assert find_platform("0").options.llc_modes == ("capacity", "bandwidth")
    assert {find_platform(version).options.llc_modes for version in EVERY[1:]} == {("read", "write")}
    assert numbers(True, "options.instruction_interval") == {"5"}
    assert numbers(True, "options.filters_op_types") == {"15", "16"}
    assert numbers(True, "options.samples_nic_alone") == {"7", "8", "11"}


def test_columns_that_the_310b_does_not_count() -> None:
    """Ascend/msprof chip_model_decorators."""
    assert numbers(frozenset(), "files.blank_columns") == {"0", "1", "2", "3", "4", "5", "15", "16"}
    blank = find_platform("7").files.blank_columns
    assert len(blank) == 13
    assert {"vec_time(us)", "vec_ratio", "l2_write_bw(GB/s)", "vec_resc_cflt_ratio"} < blank
    assert "l2_read_bw(GB/s)" not in blank


def test_series() -> None:
    assert known_series() == ("310", "910", "310P", "A2", "A3", "310B", "950")
    assert [platform.label for platform in named_platforms()] == [
        "Ascend310",
        "Ascend910",
        "Ascend310P",
        "Ascend910B/A3",
        "Ascend310B",
        "Ascend950",
    ]


def test_a_platform_is_a_value() -> None:
    assert hash(find_platform("5")) == hash(find_platform("5"))
    assert isinstance(find_platform("5"), Platform)
    assert find_platform("15") != find_platform("16")


def test_options_spell_the_groups_of_all_platforms() -> None:
    """cann_msprof.md 1.8, "Names"."""
    names = "PipeUtilization, ArithmeticUtilization, Memory, MemoryL0, MemoryUB, ResourceConflictRatio, L2Cache"
    names += ", MemoryAccess, PipelineExecuteUtilization"
    assert list(METRIC_NAMES.values()) == names.split(", ")
    assert {name for platform in known_platforms() for name in platform.counter_groups} == set(names.split(", "))


def test_pauses_after_kernels_that_read_counters_of_l2() -> None:
    """Eleven quantiles of 264 genuine pauses, us: the shortest, the median of 92.3 in the middle, the longest."""
    pauses = find_platform("5").memory.l2_read_us
    assert pauses == (87.5, 88.2, 88.5, 89.2, 90.2, 92.3, 94.6, 95.4, 97.1, 105.1, 113.2)
    assert find_platform("7").memory.l2_read_us == ()
