"""Prints what the allocator does with the settings in the environment, as JSON; its argument names a case."""

from __future__ import annotations

import json
import os
import random
import sys

import torch
import torch_npu

MB = 1 << 20
SHOWN = (
    "allocated_bytes.all.current",
    "reserved_bytes.all.current",
    "active_bytes.all.current",
    "segment.all.current",
    "inactive_split_bytes.all.current",
    "oversize_allocations.current",
    "oversize_segments.current",
    "max_split_size",
)


def byte(count: int) -> torch.Tensor:
    return torch.empty(count, dtype=torch.uint8, device="npu")


def shown() -> list[int]:
    stats = torch.npu.memory_stats()
    return [stats[name] for name in SHOWN]


def sizes() -> list[list[int]]:
    """Allocates large and middling tensors, frees some, and shows the statistics after each step."""
    found = []
    first = byte(30 * MB)
    found.append(shown())
    second = byte(5 * MB)
    found.append(shown())
    del first
    third = byte(25 * MB)  # fits where the first was
    found.append(shown())
    del second, third
    torch.npu.empty_cache()
    found.append(shown())
    return found


def blocks() -> list[list[int]]:
    """Shows sizes of the blocks of odd requests."""
    kept = [byte(count) for count in (1000, 3 * MB, 3 * MB + 1, 70 * MB)]
    rows = [block for segment in torch.npu.memory_snapshot() for block in segment["blocks"]]
    addresses = [tensor.data_ptr() for tensor in kept]
    assert len(set(addresses)) == len(kept)
    return [[row["requested_size"], row["size"]] for row in rows if row["state"] == "active_allocated"]


def mixed() -> list[list[list[int]]]:
    """Allocates and frees in an order that chance has drawn; shows size and use of the blocks of each segment."""
    chance = random.Random(29)
    kept: list[torch.Tensor] = []
    steps: list[object] = []
    for _ in range(400):
        if kept and chance.random() < 0.45:
            at = chance.randrange(len(kept))
            del kept[at]
            step = [0, at]
        else:
            most = chance.choice([700, 40_000, MB, 3 * MB, 24 * MB])
            kept.append(byte(chance.randint(1, most)))
            step = [len(kept[-1]), 0]
        layout = [[[b["size"], b["state"] != "inactive"] for b in s["blocks"]] for s in torch.npu.memory_snapshot()]
        steps.append([step, layout])
    return steps


def grown() -> list[object]:
    """Shows segments that grow."""
    kept = [byte(3 * MB) for _ in range(8)]
    found: list[object] = [torch.npu.memory_reserved() // MB, len(torch.npu.memory_snapshot())]
    segment = torch.npu.memory_snapshot()[0]
    found.append([segment["is_expandable"], segment["total_size"] // MB])
    starts = [block["address"] % (16 << 10) for block in segment["blocks"] if block["state"] == "active_allocated"]
    found.append(sorted(set(starts)))
    del kept[6:]
    torch.npu.empty_cache()
    found.append(torch.npu.memory_reserved() // MB)
    kept.append(byte(60 * MB))
    found.append(torch.npu.memory_reserved() // MB)
    kept.clear()
    torch.npu.empty_cache()
    return [*found, torch.npu.memory_reserved(), len(torch.npu.memory_snapshot())]


def collected() -> list[int]:
    """Shows how much is reserved while tensors of ever new sizes come and go below a limit of the memory."""
    torch.npu.set_per_process_memory_fraction(0.5)
    total = torch.npu.get_device_properties().total_memory // MB
    found = []
    for tenth in range(10, 30, 2):
        byte(total * tenth // 100 * MB)
        found.append(torch.npu.memory_reserved() * 100 // (total * MB))
    return found


def streams() -> list[object]:
    """Shows a block that another stream used, from its release to the next allocation."""
    side = torch.npu.Stream()
    tensor = byte(4 * MB)
    tensor.record_stream(side)
    found: list[object] = [shown()[:3]]
    address = tensor.data_ptr()
    del tensor
    found.append(shown()[:3])
    (segment,) = torch.npu.memory_snapshot()
    found.append([block["state"] for block in segment["blocks"]])
    found.append(segment["allocated_size"] < segment["active_size"])
    byte(100)
    return [*found, shown()[2], address != 0]


def set_later() -> list[object]:
    """Sets what the variable would say by the name that verl calls."""
    torch.npu.memory._set_allocator_settings("expandable_segments:True")
    byte(1)
    (segment,) = torch.npu.memory_snapshot()
    return [segment["is_expandable"]]


def failing() -> list[str]:
    """Shows the errors of the first allocation with each of the further arguments as the setting."""
    found = []
    for text in sys.argv[2:]:
        os.environ["PYTORCH_NPU_ALLOC_CONF"] = text
        try:
            byte(1)
            found.append("none")
        except (RuntimeError, ValueError) as error:
            found.append(f"{type(error).__name__}: {error}")
    return found


print(json.dumps(globals()[sys.argv[1]]()))
assert torch_npu
