"""The files of a profile in the folder in which MindInsight looks for them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from drynpu.tables import Profile
from drynpu.writers.files import make_directory, new_file
from drynpu_mindinsight._communication import communication_files
from drynpu_mindinsight._data import data_files
from drynpu_mindinsight._device import Device, devices_of, json_bytes
from drynpu_mindinsight._operators import operator_files
from drynpu_mindinsight._steps import step_files
from drynpu_mindinsight._timeline import timeline_files

_FOLDER = "profiler"
_PARTS = (step_files, operator_files, data_files, timeline_files, communication_files)


def export_mindinsight(profile: Profile, folder: Path) -> Sequence[Path]:
    """
    Write ``<folder>/profiler`` with the files of every device of a profile; ranks of a run share one folder.

    ``mindinsight start --summary-base-dir <parent of folder>`` lists it. A file is written only where its data was
    recorded. Raises `OutputError`.
    """
    place = make_directory(folder / _FOLDER)
    written = []
    for device in devices_of(profile):
        files: dict[str, bytes] = {f"profiler_info_{device.rank}.json": json_bytes(_info(device))}
        for part in _PARTS:
            files |= part(device)
        for name, content in files.items():
            with new_file(place / name) as stream:
                stream.write(content)
            written.append(place / name)
    return written


def _info(device: Device) -> Mapping[str, object]:
    """Return profiler_info; the mode is the one whose pages show kernels by type, whatever launched them."""
    sizes = device.profile.communication_ops["rank_size"].drop_nulls()
    size = max((int(each) for each in sizes), default=1)
    return {
        "context_mode": "graph",
        "rank_id": device.rank,
        "device_id": device.device_id,
        "rank_size": size,
        "parallel_mode": "data_parallel" if size > 1 else "stand_alone",
        "stage_num": 1,
    }
