"""
What ``PYTORCH_NPU_ALLOC_CONF`` changes of blocks and segments, and its errors.

Sizes follow from the rules that the vendor's page of that variable states: requests grow by 32 bytes and are rounded up
to 512, or to a part of the power of two below them; large segments hold 20 MiB, or whole 2 MiB from 10 MiB on.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

SCRIPT = Path(__file__).with_name("allocator.py")
MB = 1 << 20
TAG = r"\n\[ERROR\] \d{4}-\d\d-\d\d-\d\d:\d\d:\d\d \(PID:\d+, Device:0, RankID:-1\) "


def allocator(run: Any, case: str, settings: str = "", *arguments: str) -> Any:
    return run(SCRIPT, case, *arguments, **({"PYTORCH_NPU_ALLOC_CONF": settings} if settings else {}))


def test_all_blocks_are_split_by_default(run: Any) -> None:
    first, second, third = 30 * MB + 512, 5 * MB + 512, 25 * MB + 512
    assert allocator(run, "sizes") == [
        [first, 32 * MB, first, 1, 32 * MB - first, 0, 0, -1],
        [first + second, 52 * MB, first + second, 2, 52 * MB - first - second, 0, 0, -1],
        [second + third, 52 * MB, second + third, 2, 52 * MB - second - third, 0, 0, -1],
        [0, 0, 0, 0, 0, 0, 0, -1],
    ]


def test_blocks_above_max_split_size_stay_whole(run: Any) -> None:
    second = 5 * MB + 512
    whole = [32 * MB + second, 52 * MB, 32 * MB + second, 2, 20 * MB - second, 1, 1, 22 * MB]
    assert allocator(run, "sizes", "max_split_size_mb:22") == [
        [32 * MB, 32 * MB, 32 * MB, 1, 0, 1, 1, 22 * MB],
        whole,
        whole,
        [0, 0, 0, 0, 0, 0, 0, 22 * MB],
    ]


@pytest.mark.slow
def test_sizes_are_rounded_up_to_parts_of_powers_of_two(run: Any) -> None:
    assert allocator(run, "blocks") == [
        [1000, 1536],
        [3 * MB, 3 * MB + 512],
        [3 * MB + 1, 3 * MB + 512],
        [70 * MB, 70 * MB + 512],
    ]
    assert allocator(run, "blocks", "roundup_power2_divisions:4") == [
        [1000, 1536],
        [3 * MB, 3 * MB + MB // 2],
        [3 * MB + 1, 3 * MB + MB // 2],
        [70 * MB, 80 * MB],
    ]


class Segment:
    """A segment of the reference: its pool, and size and use of each block."""

    def __init__(self, size: int, *, small: bool) -> None:
        self.small, self.blocks = small, [[size, False]]


class Reference:
    """The rules of the vendor's allocator, by searching through all blocks."""

    def __init__(self) -> None:
        self.segments: list[Segment] = []
        self.kept: list[list[int]] = []

    def allocate(self, requested: int) -> None:
        size = -(-(requested + 32) // 512) * 512
        small = size <= MB
        free = [
            (block[0], segment, place)
            for segment, each in enumerate(self.segments)
            for place, block in enumerate(each.blocks)
            if each.small == small and not block[1] and block[0] >= size
        ]
        if free:
            _, segment, place = min(free)
        else:
            whole = 2 * MB if small else 20 * MB if size < 10 * MB else -(-size // (2 * MB)) * 2 * MB
            self.segments.append(Segment(whole, small=small))
            segment, place = len(self.segments) - 1, 0
        blocks = self.segments[segment].blocks
        block = blocks[place]
        rest = block[0] - size
        if rest >= 512 if small else rest > MB:
            block[0] = size
            blocks.insert(place + 1, [rest, False])
        block[1] = True
        self.kept.append(block)

    def release(self, number: int) -> None:
        block = self.kept.pop(number)
        blocks = next(each.blocks for each in self.segments if any(block is other for other in each.blocks))
        place = next(i for i, other in enumerate(blocks) if other is block)
        block[1] = False
        for behind in (place + 1, place):
            if 0 < behind < len(blocks) and not blocks[behind - 1][1] and not blocks[behind][1]:
                blocks[behind - 1][0] += blocks[behind][0]
                del blocks[behind]


def test_blocks_are_those_of_a_plain_search(run: Any) -> None:
    reference = Reference()
    for (requested, number), layout in allocator(run, "mixed"):
        reference.allocate(requested) if requested else reference.release(number)
        assert layout == [each.blocks for each in reference.segments]
    assert len(reference.segments) > 5


@pytest.mark.slow
def test_segments_hold_what_the_setting_says(run: Any) -> None:
    sizes = allocator(run, "sizes", "large_segment_size_mb:64")
    assert [row[1] // MB for row in sizes] == [32, 32 + 64, 32 + 64, 0]
    sizes = allocator(run, "sizes", "page_size:1g")
    assert [row[1] // MB for row in sizes] == [1024, 1024, 1024, 0], "all fit in the first"


@pytest.mark.slow
def test_one_segment_grows(run: Any) -> None:
    # 8 blocks of 3 MiB and 16 KiB of space before most of them; two are freed behind the first 20 MiB.
    assert allocator(run, "grown", "expandable_segments:True") == [40, 1, [True, 40], [0], 20, 80, 0, 0]
    assert allocator(run, "grown", "expandable_segments:True,large_segment_size_mb:64")[:3] == [64, 1, [True, 64]]


@pytest.mark.slow
def test_unused_segments_are_collected_above_the_threshold(run: Any) -> None:
    kept, collected = allocator(run, "collected"), allocator(run, "collected", "garbage_collection_threshold:0.6")
    assert max(kept) <= 50
    assert max(collected) <= 50
    # From 60 % of the half that may be used, the oldest go; without the setting all go when nothing more fits.
    assert kept[:3] == collected[:3] == [10, 22, 36]
    assert kept[3] == 16, "all that was reserved before went"
    assert 16 < collected[3] < 36 + 16


def test_a_block_that_another_stream_used_waits_for_the_next_allocation(run: Any) -> None:
    block, segment = 4 * MB + 512, 20 * MB
    assert allocator(run, "streams") == [
        [block, segment, block],
        [0, segment, block],
        ["active_pending_free", "inactive"],
        True,
        0,
        True,
    ]


@pytest.mark.slow
@pytest.mark.parametrize("both", [False, True])
def test_settings_that_cannot_be_used_are_told_by_the_first_allocation(run: Any, both: bool) -> None:
    aligned = "RuntimeError: CachingAllocator option base_addr_aligned_kb error, must be [0~16], dtype is int"
    cases = {
        "sizes:1": ("ValueError: Unrecognized key 'sizes' in NPU allocator config, ", "ERR01003 OPS invalid value"),
        "base_addr_aligned_kb:17": (aligned, "ERR01003 OPS invalid value"),
        "base_addr_aligned_kb:04": (aligned, "ERR01003 OPS invalid value"),
        "base_addr_aligned_kb:x": ("RuntimeError: CachingAllocator option base_addr_aligned_kb is invalid.", ""),
        "page_size:2g": ("RuntimeError: Unsupported page_size value: 2g", "ERR01003 OPS invalid value"),
        "segment_size_mb:19": (
            "RuntimeError: CachingAllocator option segment_size_mb error, must be [20, 512], dtype is int",
            "ERR01003 OPS invalid value",
        ),
        "pinned_mem_register:1": (
            "RuntimeError: Expected a single True/False argument for pinned_mem_register",
            "ERR01001 OPS invalid parameter",
        ),
        "throw_on_npumalloc_oom:no": (
            "RuntimeError: Expected a single True/False argument for throw_on_npumalloc_oom",
            "ERR00001 PTA invalid parameter",
        ),
        "per_process_memory_fraction:1.5": (
            "RuntimeError: per_process_memory_fraction is invalid, set it in [0.0, 1.0]",
            "ERR00003 PTA invalid value",
        ),
        "garbage_collection_threshold:2": (
            "ValueError: garbage_collect_threshold is invalid, set it in (0.0, 1.0)",
            "",
        ),
        "max_split_size_mb:1": ("ValueError: CachingAllocator option max_split_size_mb too small, must be >= 20", ""),
        "max_non_split_rounding_mb:x": (
            "ValueError: Expected a whole number for max_non_split_rounding_mb in NPU allocator config, but got 'x'",
            "",
        ),
        "large_segment_size_mb:10": ("ValueError: CachingAllocator option large_segment_size_mb must be > 10 MB", ""),
        "expandable_segments:yes": (
            "ValueError: Expected 'True' or 'False' at index 2 in ConfigTokenizer but got 'yes'",
            "",
        ),
        "roundup_power2_divisions:3": ("ValueError: For roundups, the divisions has to be power of 2 ", ""),
        "roundup_power2_divisions:[4:3]": (
            "ValueError: For roundups, the divisions has to be power of 2 or 0 to disable roundup ",
            "",
        ),
        "roundup_power2_divisions:[3:4]": ("ValueError: For roundups, the intervals have to be power of 2 ", ""),
        "roundup_power2_divisions:[4:4": (
            "ValueError: Expected ']' at index 5 of the NPU allocator config, but got '4'",
            "",
        ),
        "max_split_size_mb": ("ValueError: Expected ':' at index 1 of the NPU allocator config, but got ''", ""),
    }
    names = "PYTORCH_NPU_ALLOC_CONF and PYTORCH_ALLOC_CONF"
    twice = f"RuntimeError: Both {names} have been set, please set only one of them."
    environ = {"PYTORCH_ALLOC_CONF": "max_split_size_mb:64"} if both else {}
    found = run(SCRIPT, "failing", *cases, **environ)
    assert len(found) == len(cases)
    for (text, tag), message in zip(cases.values(), found, strict=True):
        text, tag = (twice, "ERR01003 OPS invalid value") if both else (text, tag)
        assert re.fullmatch(re.escape(text) + (TAG + tag if tag else ""), message), message


def test_settings_that_exclude_each_other_are_refused(run: Any) -> None:
    (message,) = run(SCRIPT, "failing", "expandable_segments:True,max_split_size_mb:30")
    assert message.startswith("RuntimeError: `max_split_size_mb` or `garbage_collection_threshold`, cannot be enabled")
    assert "please set `expandable_segments` to `False`." in message
    assert message.endswith("ERR01001 OPS invalid parameter")


def test_a_script_sets_what_the_variable_says(run: Any) -> None:
    assert run(SCRIPT, "set_later") == [True]
