"""What L2 still holds of the inputs of a kernel, by the memory that was touched since."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from drynpu.kernels import Accesses, Call, KernelPlan, KernelSpec, Operators, Signature, TaskType, TensorDesc
from drynpu.options import Clock
from drynpu.platforms import load_chip
from drynpu.simulate import Recording
from drynpu.simulate._reuse import Touches, bytes_between
from drynpu.simulate._simulate import simulate

CHIP = load_chip("910B2")
MB = 1 << 20
BEGIN_NS = 1_700_000_000_000_000_000


def spec(read: tuple[int, ...], written: int, op_type: str = "Add", cube_flops: int = 0) -> KernelSpec:
    """Return a kernel that reads and writes tensors of so many bytes."""
    tensors = tuple(TensorDesc((size // 2048, 512), "FLOAT") for size in (*read, written))
    return KernelSpec(
        name=op_type,
        op_type=op_type,
        task_type=TaskType.AI_CORE if cube_flops else TaskType.AI_VECTOR_CORE,
        inputs=tensors[:-1],
        outputs=tensors[-1:],
        cube_flops=cube_flops,
        vector_ops=tensors[-1].elements,
        bytes_read=sum(read),
        bytes_written=written,
    )


class Stream:
    """Operators one after the other, each of which is one kernel over blocks of memory."""

    def __init__(self) -> None:
        self.kernels: dict[Signature, KernelSpec] = {}
        self.calls: list[Call] = []
        self.rows: list[tuple[int, int, int, int, int, int, bool]] = []

    def run(self, kernel: KernelSpec, *blocks: int, offset: int = 0, block_bytes: int = 0) -> None:
        """Launch a kernel over blocks, of which the last is the result."""
        begin = BEGIN_NS + 100_000 * len(self.calls)
        signature = Signature(f"op{len(self.kernels)}", kernel.inputs)
        signature = next((known for known, each in self.kernels.items() if each == kernel), signature)
        self.kernels[signature] = kernel
        self.calls.append(Call(signature, begin, begin + 1000, 1))
        sizes = [tensor.size_bytes for tensor in (*kernel.inputs, *kernel.outputs)]
        for place, (block, size) in enumerate(zip(blocks, sizes, strict=True)):
            written = place == len(sizes) - 1
            self.rows.append((begin + 10 + place, 1, block << 32, offset, size, block_bytes or size, written))

    def simulate(self, *, known: bool = True) -> Any:
        columns = np.array([row[:6] for row in self.rows], np.int64).T
        names = ("time_ns", "thread", "block", "offset", "size_bytes", "block_bytes")
        accesses = Accesses(
            **dict(zip(names, columns, strict=True)), written=np.array([row[6] for row in self.rows], bool)
        )
        recording = Recording(
            operators=Operators.from_calls(self.calls),
            begin_ns=BEGIN_NS,
            end_ns=BEGIN_NS + 100_000 * len(self.calls),
            accesses=accesses if known else None,
        )
        return simulate(
            recording,
            plan=lambda signature: KernelPlan(kernels=(self.kernels[signature],)),
            chip=CHIP,
            clock=Clock.MODELLED,
            seed=0,
            base_ns=BEGIN_NS,
        )


def durations(simulation: Any) -> np.ndarray:
    """Return what each launch costs, without noise."""
    return simulation.costs.duration_ns[simulation.lowered.launch_kernel]


def reread(between: int, *, op_type: str = "Add", cube_flops: int = 0) -> Any:
    """Write 8 MB, touch so many others of 20 MB, and read the 8 MB."""
    stream = Stream()
    stream.run(spec((8 * MB,), 8 * MB), 1, 2)
    for number in range(between):
        stream.run(spec((20 * MB,), 2048), 100 + number, 3)
    inputs = (8 * MB, 8 * MB) if cube_flops else (8 * MB,)
    stream.run(spec(inputs, 8 * MB, op_type, cube_flops), *([4] * (len(inputs) - 1)), 2, 5)
    return stream.simulate()


def test_what_was_written_just_before_is_read_from_l2_and_after_a_long_absence_from_memory() -> None:
    soon, late = reread(0), reread(20)
    # 16 MB in all, of which 8 MB come from a memory of 1.6 TB/s.
    assert durations(late)[-1] > durations(soon)[-1] + 8 * MB / CHIP.memory_gbs * 0.4
    last = [each.costs.work.vector.main_read_bytes[each.lowered.launch_kernel[-1]] for each in (soon, late)]
    assert last == [0, 8 * MB]
    assert late.costs.work.vector.main_write_bytes[late.lowered.launch_kernel[-1]] == 0


@pytest.mark.parametrize("steps", [range(0, 20, 3)])
def test_more_in_between_is_never_faster(steps: range) -> None:
    times = [durations(reread(count))[-1] for count in steps]
    assert times == sorted(times)
    assert times[0] < times[-1]


def test_without_accesses_kernels_take_what_they_take_by_themselves() -> None:
    stream = Stream()
    for number in range(12):
        stream.run(spec((20 * MB,), 20 * MB), number, number + 1)
    stream.run(spec((20 * MB,), 20 * MB), 0, 20)
    usual, known = (durations(stream.simulate(known=each)) for each in (False, True))
    assert len(set(usual.tolist())) == 1
    assert known[1:-1].tolist() == usual[1:-1].tolist()
    assert known[-1] > usual[-1]


def test_where_nothing_is_known_to_be_read_kernels_take_what_they_take() -> None:
    """Two ranks of a trainer had such a recording."""
    stream = Stream()
    stream.run(spec((8 * MB,), 8 * MB), 1, 2)
    stream.run(spec((8 * MB,), 2 * MB), 2, 3)
    stream.rows = [row for row in stream.rows if row[-1]]
    usual, known = (durations(stream.simulate(known=each)) for each in (False, True))
    assert len(stream.rows) == len(usual) == 2
    assert known.tolist() == usual.tolist()


def test_a_weight_of_a_product_comes_from_memory_as_before() -> None:
    soon, late = (reread(count, op_type="MatMulV3", cube_flops=10**9) for count in (0, 20))
    assert durations(soon)[-1] == durations(late)[-1]
    assert soon.lowered.kernels[-1].read_miss is None


def test_flat_tensors_that_were_just_written_are_found() -> None:
    """By itself such a kernel is taken for one of an optimizer, whose tensors were used a step ago."""
    flat = TensorDesc((2 * MB,), "FLOAT")
    kernel = KernelSpec(
        name="Add",
        op_type="Add",
        task_type=TaskType.AI_VECTOR_CORE,
        inputs=(flat,),
        outputs=(flat,),
        vector_ops=flat.elements,
        bytes_read=flat.size_bytes,
        bytes_written=flat.size_bytes,
    )
    stream = Stream()
    stream.run(kernel, 1, 2)
    stream.run(kernel, 2, 3)
    first, second = durations(stream.simulate())
    assert second < first


def test_jitter_is_that_of_the_kernel_whatever_l2_holds() -> None:
    stream = Stream()
    for number in range(14):
        # Kernels of two types in turn: none finds its code in the instruction caches.
        stream.run(spec((20 * MB,), 20 * MB, op_type=("Add", "Mul")[number % 2]), number % 13, 30 + number)
    assert stream.simulate().factor.tolist() == stream.simulate(known=False).factor.tolist()


def test_parts_of_a_block_are_other_data_unless_all_of_it_was_touched() -> None:
    def share(first: tuple[int, int], second: tuple[int, int]) -> float:
        """Touch a part of a block of 64 MB (offset, size), 200 MB of others, then another part."""
        rows = [(0, first[0], first[1]), (0, second[0], second[1])]
        touches = Touches(
            dispatch=np.array([0, 1, 2]),
            block=np.array([0, 1 << 40, 0]),
            start=np.array([rows[0][1], 1 << 40, rows[1][1]]),
            size_bytes=np.array([rows[0][2], 200, rows[1][2]]),
            is_whole=np.array([rows[0][2] >= 32, True, rows[1][2] >= 32]),
            written=np.zeros(3, bool),
        )
        return float(bytes_between(touches)[-1])

    assert share((0, 8), (0, 8)) == 200  # the same part
    assert np.isnan(share((0, 8), (8, 8)))  # another one
    assert share((0, 64), (8, 8)) == 200  # of what was written as a whole
    assert share((8, 8), (0, 64)) == 200  # the whole, of which the last part was touched then


@given(st.lists(st.tuples(st.integers(0, 12), st.integers(1, 3)), min_size=2, max_size=80))
def test_bytes_between_are_about_those_of_distinct_data(rows: list[tuple[int, int]]) -> None:
    block = np.array([each for each, _ in rows])
    size = 1 + block % 5  # a block has one size
    dispatch = np.cumsum([step > 1 for _, step in rows])
    touches = Touches(
        dispatch=dispatch,
        block=block,
        start=block,
        size_bytes=size,
        is_whole=np.ones(len(rows), bool),
        written=np.zeros(len(rows), bool),
    )
    found = bytes_between(touches)
    for row in range(len(rows)):
        earlier = [other for other in range(row) if block[other] == block[row] and dispatch[other] < dispatch[row]]
        if not earlier:
            assert np.isnan(found[row])
            continue
        window = [other for other in range(earlier[-1] + 1, row) if dispatch[other] < dispatch[row]]
        distinct = sum({int(block[other]): int(size[other]) for other in window}.values())
        most = sum(int(size[other]) for other in window)
        assert distinct / 2 - 5 <= found[row] <= min(2 * distinct + 5, most)
