"""What is seen in a window is what is there: no time is lost, nothing is counted twice, nothing overlaps."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from drynpu_pages.tracks import Boxes, TimelineIndex, Track, TrackKind, TrackNames, visible
from drynpu_pages.tracks._lanes import nest

NAMES = ("mul", "add", "sub")


def track(start: list[int], end: list[int], code: list[int], names: tuple[str, ...] = NAMES) -> Track:
    rows = np.arange(len(start), dtype=np.int32)
    lanes = nest(np.array(start, np.int64), np.array(end, np.int64), np.array(code, np.int32), rows)
    return Track(TrackKind.STREAMS, "stream", "tasks", TrackNames(names, ["AI_CORE"] * len(names)), lanes)


def index(*tracks: Track) -> TimelineIndex:
    lanes = [lane for each in tracks for lane in each.lanes]
    return TimelineIndex(
        tracks, min(int(lane.start_ns[0]) for lane in lanes), max(int(lane.end_ns[-1]) for lane in lanes)
    )


def random_index(seed: int, count: int = 4000) -> TimelineIndex:
    """Two streams of kernels from nanoseconds to milliseconds, with gaps, and a thread with nested calls."""
    random = np.random.default_rng(seed)
    tracks = []
    for _ in range(2):
        length = (10 ** random.uniform(0, 6, count)).astype(np.int64)
        gaps = random.choice([0, 0, 3, 500, 40_000], count)
        start = np.cumsum(gaps + length) - length
        tracks.append(track(start.tolist(), (start + length).tolist(), random.integers(0, 3, count).tolist()))
    start = random.integers(0, 10**8, count)
    end = start + (10 ** random.uniform(0, 5, count)).astype(np.int64)
    return index(*tracks, track(start.tolist(), end.tolist(), random.integers(0, 3, count).tolist()))


def windows(found: TimelineIndex, seed: int) -> list[tuple[int, int]]:
    random = np.random.default_rng(seed)
    ends = np.sort(random.integers(found.start_ns, found.end_ns, (20, 2)), axis=1)
    close = [(start, start + width) for start, width in zip(ends[:, 0], (50, 3_000, 70_000) * 6, strict=False)]
    return [(found.start_ns, found.end_ns + 1), *((int(a), int(b)) for a, b in (*ends, *close) if b > a)]


def in_window(found: TimelineIndex, start: int, end: int) -> tuple[int, int]:
    """Events in a window and the time that they take there, added up one by one."""
    count = busy = 0
    for lane in (lane for each in found.tracks for lane in each.lanes):
        for begin, last in zip(lane.start_ns.tolist(), lane.end_ns.tolist(), strict=True):
            inside = begin < end and (last > start or begin >= start)
            count += inside
            busy += max(0, min(last, end) - max(begin, start)) if inside else 0
    return count, busy


def see(found: TimelineIndex, window: tuple[int, int], pixels: int = 800, most_boxes: int = 10**9) -> Boxes:
    everything = range(len(found.tracks))
    return visible(found, everything, *window, pixels=pixels, most_lanes=1000, most_boxes=most_boxes)


@pytest.mark.parametrize("seed", range(3))
def test_no_time_and_no_event_is_lost_or_counted_twice(seed: int) -> None:
    found = random_index(seed)
    for window in windows(found, seed):
        for most_boxes in (10**9, 500):
            boxes = see(found, window, most_boxes=most_boxes)
            assert (int(boxes.count.sum()), int(boxes.busy_ns.sum())) == in_window(found, *window)


@pytest.mark.parametrize("seed", range(3))
def test_boxes_of_a_lane_do_not_overlap(seed: int) -> None:
    found = random_index(seed)
    for window in windows(found, seed):
        boxes = see(found, window, most_boxes=700)
        keys = zip(boxes.track.tolist(), boxes.lane.tolist(), boxes.start_ns.tolist(), boxes.end_ns, strict=True)
        for (*lane, _, end), (*other, start, _) in itertools.pairwise(keys):
            assert lane != other or start >= end
            assert lane <= other


def test_an_event_of_a_pixel_is_a_box_of_its_own() -> None:
    found = random_index(5)
    for window in windows(found, 5):
        boxes = see(found, window)
        assert boxes.pixel_ns == max(1, (window[1] - window[0]) / 800)
        length = boxes.end_ns - boxes.start_ns
        runs = boxes.count > 1
        # Two pixels, and an event that begins in the second and is shorter than a pixel.
        assert (length[runs] <= 3 * boxes.pixel_ns + 1).all()
        single = (boxes.count == 1) & (length >= boxes.pixel_ns)
        large = sum(
            int(
                (
                    (lane.end_ns - lane.start_ns >= boxes.pixel_ns)
                    & (lane.end_ns > window[0])
                    & (lane.start_ns < window[1])
                ).sum()
            )
            for each in found.tracks
            for lane in each.lanes
        )
        assert single.sum() == large


def test_zooming_into_one_kernel_shows_exactly_it() -> None:
    found = random_index(1)
    lane = found.tracks[0].lanes[0]
    for place in (0, 17, 2044, len(lane) - 1):
        window = int(lane.start_ns[place]), int(lane.end_ns[place])
        boxes = visible(found, [0], *window, pixels=800)
        assert (boxes.place.tolist(), boxes.count.tolist()) == ([place], [1])
        assert (int(boxes.start_ns[0]), int(boxes.end_ns[0])) == window
        assert boxes.busy_ns.tolist() == [window[1] - window[0]]
        assert boxes.code.tolist() == [lane.code[place]]


def test_a_run_has_the_name_of_most_of_its_events_and_says_how_busy_it_is() -> None:
    found = index(track([0, 2, 5, 8, 4000], [1, 4, 6, 9, 9000], [1, 2, 2, 0, 1]))
    boxes = see(found, (0, 10_000), pixels=100)
    assert boxes.count.tolist() == [4, 1]
    assert [NAMES[code] for code in boxes.code] == ["sub", "add"]
    assert boxes.busy_ns.tolist() == [5, 5000]
    assert boxes.busy_share.tolist() == pytest.approx([5 / 9, 1])


def test_names_beyond_counting_are_sorted_with_the_same_result(monkeypatch: pytest.MonkeyPatch) -> None:
    found = random_index(2)
    window = (found.start_ns, found.end_ns)
    expected = see(found, window, pixels=50).code
    monkeypatch.setattr("drynpu_pages.tracks._visible._MOST_CELLS", 0)
    assert (see(found, window, pixels=50).code == expected).all()


def test_there_are_no_more_boxes_than_asked_for() -> None:
    found = random_index(3)
    boxes = see(found, (found.start_ns, found.end_ns), pixels=2000, most_boxes=100)
    assert len(boxes) <= max(100, sum(len(each.lanes) for each in found.tracks))
    assert boxes.pixel_ns > (found.end_ns - found.start_ns) / 2000


def test_runs_stay_the_same_while_the_window_moves() -> None:
    found = random_index(4)
    one, other = (see(found, (start, start + 8_000_000), pixels=100) for start in (10_000_000, 10_200_000))
    inner = {(t, p, c) for t, p, c in zip(one.track.tolist(), one.place.tolist(), one.count.tolist(), strict=True)}
    moved = {
        (t, p, c) for t, p, c in zip(other.track.tolist(), other.place.tolist(), other.count.tolist(), strict=True)
    }
    assert len(inner & moved) > 0.9 * len(inner)
