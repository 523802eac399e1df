"""A small recording, laid down through the real raw writer."""

from __future__ import annotations

import json
from datetime import datetime
from pathlib import Path

import numpy as np
import pytest
from attrs import define, evolve, field
from tests.by_hand import ANCHORS

from drynpu.deliverables.registry import RECORD_KINDS
from drynpu.layouts import framework_torch as torch_facts
from drynpu.layouts import tasks as task_facts
from drynpu.layouts.framework_torch import FrameworkRecord, OpRangeField
from drynpu.raw import (
    EVENT_FLAG,
    ClockAnchors,
    DeviceInfo,
    HostInfo,
    HostLevel,
    ProfWriter,
    hash_text,
    pack_stars_header,
    write_flat,
    write_tlv,
)

PID, MAIN, LAUNCHER = 4242, 11, 12
BEGIN_US = 1_700_000_000_000_000
T0 = BEGIN_US * 1000
"""Unix ns that everything counts from; ticks are 20 ns."""

TYPES = {
    (HostLevel.ACL.value, 1): "aclnnAddmm",
    (HostLevel.MODEL.value, 9): "ModelExecute",
    (HostLevel.MODEL.value, 2): "ModelLoad",
    (HostLevel.NODE.value, 5): "launch",
    (HostLevel.COMMUNICATION.value, 3): "AllReduce",
    (HostLevel.RUNTIME.value, 1000): "KernelLaunchWithHandleV2",
    (HostLevel.RUNTIME.value, 1001): "MemcopyAsync",
    (HostLevel.RUNTIME.value, 1): "KERNEL_AICORE",
    (HostLevel.RUNTIME.value, 2): "MEMCPY_ASYNC",
    (HostLevel.RUNTIME.value, 3): "KERNEL_MIX_AIC",
    (HostLevel.RUNTIME.value, 4): "EVENT_RECORD",
}
_TYPE_IDS = {name: key for key, name in TYPES.items()}


def _ns(us: float) -> int:
    return T0 + round(us * 1000)


@define
class Recording:
    """Collects records in microseconds after the begin of the recording, then writes a profile directory."""

    clock: ClockAnchors = field(default=evolve(ANCHORS, collection_begin_us=BEGIN_US, device_cntvct=777))
    rows: dict[str, list[dict[str, object]]] = field(factory=dict)
    hashes: dict[int, str] = field(factory=dict)
    ops: list[tuple[str, float, float, int, str]] = field(factory=list)
    marks: list[tuple[int, int, float, int, str]] = field(factory=list)
    allocations: list[tuple[int, float, int, int, int]] = field(factory=list)

    def _add(self, name: str, **values: object) -> None:
        self.rows.setdefault(name, []).append(values)

    def text(self, words: str) -> int:
        number = hash_text(words)
        self.hashes[number] = words
        return number

    def raw(self, us: float) -> int:
        return int(self.clock.unix_to_host(_ns(us)))

    def tick(self, us: float) -> int:
        return int(self.clock.unix_to_tick(_ns(us)))

    def call(self, name: str, start: float, end: float, *, tid: int = LAUNCHER, item: str | int = "") -> None:
        level, number = _TYPE_IDS[name]
        item_id = item if isinstance(item, int) else self.text(item) if item else 0
        times = {"begin": self.raw(start), "end": self.raw(end)}
        self._add("api_event", level=level, type=number, thread_id=tid, item_id=item_id, **times)

    def event_pair(self, name: str, start: float, end: float, *, item: int) -> None:
        level, number = _TYPE_IDS[name]
        for us in (start, end):
            self._add(
                "api_event", level=level, type=number, thread_id=LAUNCHER, item_id=item,
                begin=self.raw(us), end=EVENT_FLAG, request_id=7,
            )  # fmt: skip

    def track(self, us: float, kind: str, stream: int, task: int, *, kernel: str = "", tid: int = LAUNCHER) -> None:
        self._add(
            "task_track", thread_id=tid, timestamp=self.raw(us), device_id=0, stream_id=stream, task_id=task & 0xFFFF,
            batch_id=task >> 16, task_type=_TYPE_IDS[kind][1], kernel_name=self.text(kernel) if kernel else 0,
            num_blocks=24,
        )  # fmt: skip

    def basic(
        self, us: float, op: str, op_type: str, ge_type: int, blocks: int, mix: int = 0, *, hf32: int = 0
    ) -> None:
        self._add(
            "node_basic_info", thread_id=LAUNCHER, timestamp=self.raw(us), op_name=self.text(op), task_type=ge_type,
            op_type=self.text(op_type), block_dim=blocks | (mix // max(blocks, 1)) << 16, op_flag=hf32,
        )  # fmt: skip

    def tensors(self, us: float, op: str, rows: list[tuple[int, tuple[int, ...], int, int]]) -> None:
        """Rows are (0 input / 1 output, shape, GE data type, GE format)."""
        tensors = np.zeros(task_facts.TENSORS_PER_RECORD, task_facts.TENSOR)
        for tensor, (direction, shape, dtype, layout) in zip(tensors, rows, strict=False):
            tensor["direction"], tensor["data_type"], tensor["format"] = direction, dtype, layout
            tensor["shape"][: len(shape)] = shape
        self._add(
            "tensor_info", thread_id=LAUNCHER, timestamp=self.raw(us), op_name=self.text(op), tensor_num=len(rows),
            tensors=tensors,
        )  # fmt: skip

    def copy(self, us: float, size: int, kind: int, stream: int, *, tid: int = LAUNCHER) -> None:
        self._add("memcpy_info", thread_id=tid, timestamp=self.raw(us), size_bytes=size, copy_kind=kind)

    def ran(self, stream: int, task: int, start: float, end: float | None, sqe: int = 0) -> None:
        bounds = [(0, start)] if end is None else [(0, start), (1, end)]
        for function, us in bounds:
            self._add(
                "stars_soc", header=int(pack_stars_header(function, 0, sqe)), stream_id=stream, task_id=task & 0xFFFF,
                tick=self.tick(us),
            )  # fmt: skip

    def counted(
        self, stream: int, task: int, bounds: tuple[float, float], cycles: int, pmu: list[int], *,
        ffts: int = 0, sub: int = 0, block: int | None = None,
    ) -> None:  # fmt: skip
        self._add(
            "ffts_profile", header=0x28 if block is None else 0x29, stream_id=stream, task_id=task & 0xFFFF,
            sub_task=sub, ffts=ffts << 13 if block is None else block, total_cycles=cycles, pmu=pmu,
            start_tick=self.tick(bounds[0]), end_tick=self.tick(bounds[1]),
        )  # fmt: skip

    def op(self, name: str, start: float, end: float, tid: int = MAIN, shapes: str = "") -> None:
        self.ops.append((name, start, end, tid, shapes))

    def queued(self, correlation: int, enqueue: tuple[float, float], dequeue: tuple[float, float], name: str) -> None:
        for category, us, tid in (
            (0, enqueue[0], MAIN), (1, enqueue[1], MAIN), (2, dequeue[0], LAUNCHER), (3, dequeue[1], LAUNCHER),
        ):  # fmt: skip
            self.marks.append((category, correlation, us, tid, name))

    def allocated(self, pointer: int, us: float, size: int, action: int, *, tid: int = MAIN) -> None:
        self.allocations.append((pointer, us, size, action, tid))

    def records(self, name: str) -> np.ndarray:
        rows = self.rows.get(name, [])
        table = RECORD_KINDS.record(name).new(len(rows))
        for record, values in zip(table, rows, strict=True):
            for key, value in values.items():
                record[key] = value
        return table

    def write_prof(
        self,
        parent: Path,
        *,
        ended: bool = True,
        level: str = "level1",
        skip: tuple[str, ...] = (),
        aging: tuple[str, ...] = (),
    ) -> Path:
        writer = ProfWriter.create(parent, RECORD_KINDS, index=0, pid=PID, now=datetime(2024, 1, 2, 3, 4, 5))
        for name in self.rows:
            entry = RECORD_KINDS.record(name)
            if name not in skip:
                device = None if entry.side == "host" else 0
                writer.write(name, self.records(name), device, aging=name in aging)
        writer.write_dictionaries(self.hashes, TYPES)
        device = DeviceInfo(
            id=0, hwts_frequency="50.000000", aic_frequency="1800", aiv_frequency="1800", ai_core_num=24, aiv_num=48
        )
        sample = {"prof_level": level, "ai_core_metrics": "PipeUtilizationExct", "aiv_metrics": "PipeUtilization"}
        host = HostInfo(platform_version="5", pid=PID, pid_name="python", hostname="box")
        writer.write_controls(host, [device], sample, self.clock, _ns(900) if ended else None)
        return writer.path

    def write_framework(self, parent: Path) -> Path:
        folder = parent / "FRAMEWORK"
        folder.mkdir(parents=True)
        fixed = np.zeros(len(self.ops), torch_facts.OP_RANGE)
        texts: list[dict[int, str]] = []
        for row, (name, start, end, tid, shapes) in zip(fixed, self.ops, strict=True):
            row["start"], row["end"], row["start_tid"], row["pid"] = self.raw(start), self.raw(end), tid, PID
            row["sequence"] = -1
            texts.append({OpRangeField.NAME: name} | ({OpRangeField.INPUT_SHAPES: shapes} if shapes else {}))
        write_tlv(folder / "torch.op_range", FrameworkRecord.OP_RANGE, fixed, np.arange(len(fixed)), texts)
        marks = np.zeros(len(self.marks), torch_facts.OP_MARK)
        for row, (category, correlation, us, tid, _) in zip(marks, self.marks, strict=True):
            row["time"], row["category"], row["correlation_id"] = self.raw(us), category, correlation
            row["tid"], row["pid"] = tid, PID
        names = [{1: mark[4]} for mark in self.marks]
        write_tlv(folder / "torch.op_mark", FrameworkRecord.OP_MARK, marks, np.arange(len(marks)), names)
        usage = np.zeros(len(self.allocations), torch_facts.MEMORY_USAGE)
        total = 0
        for row, (pointer, us, size, action, tid) in zip(usage, self.allocations, strict=True):
            total += size if action < 2 else 0
            row["pointer"], row["time"], row["size_bytes"], row["action"] = pointer, self.raw(us), size, action
            row["tid"], row["pid"], row["device_type"], row["total_allocated_bytes"] = tid, PID, 20, total
        write_tlv(folder / "torch.memory_usage", FrameworkRecord.MEMORY_USAGE, usage)
        gc = np.zeros(1, torch_facts.GC_RECORD)
        gc["pid"], gc["start"], gc["end"] = PID, self.raw(1), self.raw(2)
        write_flat(folder / "torch.gc_record", gc)
        return folder

    def write(self, parent: Path) -> Path:
        folder = parent / "box_4242_20240102030405000_ascend_pt"
        folder.mkdir()
        self.write_prof(folder)
        self.write_framework(folder)
        (folder / "profiler_info_3.json").write_text(json.dumps({"rank_id": 3, "config": {}}))
        (folder / "profiler_metadata.json").write_text(json.dumps({"trace_id": "X"}))
        return folder


@pytest.fixture
def recording() -> Recording:
    """Two kernels (one cube, one mixed with seven tensors), a copy and an event, through a task queue."""
    scene = Recording()
    scene.op("ProfilerStep#4", 0, 400)
    scene.op("aten::linear", 10, 60, shapes="4,8;8,8")
    scene.op("aten::addmm", 12, 55, shapes="8;4,8;8,8")
    scene.op("aten::attention", 100, 150)
    scene.queued(1, (20, 22), (30, 80), "aclnnAddmm")
    scene.queued(2, (110, 112), (120, 180), "aclnnAttention")
    scene.call("aclnnAddmm", 32, 78)
    scene.call("launch", 40, 60, item="aclnnAddmm_MatMul")
    scene.call("KernelLaunchWithHandleV2", 50, 58)
    scene.track(55, "KERNEL_AICORE", 2, 10, kernel="MatMulV2_kernel")
    scene.basic(45, "aclnnAddmm_MatMul", "MatMulV2", 0, 20, hf32=1)
    scene.tensors(46, "aclnnAddmm_MatMul", [(0, (4, 8), 0, 2), (0, (), 27, 2), (1, (4, 16), 1, 29 | 16 << 8)])
    scene.call("launch", 130, 160, item="aclnnAttention_Flash")
    scene.call("KernelLaunchWithHandleV2", 140, 150)
    scene.track(145, "KERNEL_MIX_AIC", 2, 11)
    scene.basic(135, "aclnnAttention_Flash", "FlashAttentionScore", 4, 24, 48)
    scene.tensors(136, "aclnnAttention_Flash", [(0, (i + 1,), 1, 2) for i in range(5)])
    scene.tensors(137, "aclnnAttention_Flash", [(0, (6,), 1, 2), (1, (7,), 1, 2)])
    scene.call("MemcopyAsync", 165, 175)
    scene.track(170, "MEMCPY_ASYNC", 2, 12)
    scene.copy(168, 4096, 2, 2)
    scene.track(172, "EVENT_RECORD", 2, 13)
    scene.ran(2, 10, 70, 130)
    scene.ran(2, 11, 160, 260)
    scene.ran(2, 12, 270, 280, sqe=11)
    scene.ran(2, 13, 285, 285, sqe=4)
    scene.counted(2, 10, (70, 130), 100_000, [50_000, 0, 10_000, 20_000, 80_000, 30_000, 1000, 5], ffts=0)
    scene.counted(2, 11, (160, 260), 240_000, [60_000, 0, 0, 0, 0, 0, 100, 10], ffts=4, sub=6)
    scene.counted(2, 11, (160, 260), 480_000, [120_000, 0, 0, 0, 0, 96_000, 200, 100], ffts=0, sub=6, block=1)
    scene.allocated(1, 14, 512, 0)
    scene.allocated(2, 35, 256, 0, tid=LAUNCHER)
    scene.allocated(1, 90, -512, 2)
    scene.allocated(1, 91, -512, 1)
    return scene
