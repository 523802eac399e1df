"""Memory of the toolkit's own operators: which release belongs to which allocation."""

from __future__ import annotations

from drynpu.analysis import toolkit_memory

from .conftest import make_profile


def event(time: int, size: int, address: int = 7, name: str = "MatMul", total: int = 0) -> dict[str, object]:
    totals = {"total_allocated_bytes": total, "total_reserved_bytes": 2 * total}
    return {"time_ns": time, "address": address, "name": name, "size_bytes": size, **totals}


def test_an_allocation_belongs_to_the_next_event_at_its_address() -> None:
    profile = make_profile(
        cann_allocations=[
            event(5, -8, total=90),
            event(10, 32, total=100),
            event(20, 16, address=9, total=116),
            event(30, 64, total=180),
            event(40, -64, total=116),
            event(50, -64, total=52),
            event(60, -16, address=9, name="Add", total=36),
        ]
    )
    columns = ("name", "size_bytes", "allocation_ns", "release_ns", "release_allocated_bytes")
    assert toolkit_memory(profile).select(columns).rows() == [
        ("", -8, None, 5, 90),
        ("MatMul", 64, 30, 40, 116),
        ("", -64, None, 50, 52),
        ("", -16, None, 60, 36),
        ("MatMul", 32, 10, None, None),
        ("MatMul", 16, 20, None, None),
    ]


def test_an_event_of_no_bytes_takes_no_memory() -> None:
    """It ends what was taken before, as a release does, and nothing is taken by it."""
    profile = make_profile(cann_allocations=[event(10, 32), event(20, 0), event(30, 0, address=8)])
    found = toolkit_memory(profile).select("name", "size_bytes", "allocation_ns", "release_ns")
    assert found.rows() == [("MatMul", 32, 10, 20), ("", 0, None, 30)]
