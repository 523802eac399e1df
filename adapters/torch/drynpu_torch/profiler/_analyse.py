"""Raw data to deliverables: right after a recording, or offline on any directory."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Collection
from datetime import timedelta
from pathlib import Path

from drynpu import OutputError
from drynpu.options import ExportType
from drynpu.options.experimental_config import EXPORTS
from drynpu_torch.profiler import _summary
from drynpu_torch.profiler._messages import never_raises, print_info, print_warning

__all__ = ["analyse", "analyse_result"]

_SIMPLIFIED = ("mindstudio_profiler_output", "mindstudio_profiler_log", "analyze")


def analyse_result(
    path: Path, *, simplify: bool, announce: bool = True, forms: Collection[ExportType] | None = None
) -> None:
    """
    Write ``mindstudio_profiler_output`` and ``ASCEND_PROFILER_OUTPUT`` of one result directory.

    *forms* is text, databases or both; default what the recording was asked for. The toolkit's part is text alone:
    its database becomes that of ``ASCEND_PROFILER_OUTPUT``.

    Raises
    ------
    OutputError
        If the directory holds no profile or cannot be written.
    """
    # Here, not above: importing torch_npu must not wait for the table engine.
    from drynpu.export import export_msprof, export_torch, requested_forms
    from drynpu.tables import load_profile

    begun = time.monotonic()
    print_info(f"Start parsing profiling data in sync mode at: {path}")
    profile = load_profile(path)
    forms = requested_forms(profile) if forms is None else forms
    if profile.prof_path is not None:
        if ExportType.TEXT in forms:
            export_msprof(profile)
        print_info(f"CANN profiling data parsed in a total time of {timedelta(seconds=time.monotonic() - begun)}")
    export_torch(profile, forms)
    if simplify and profile.prof_path is not None:
        for name in _SIMPLIFIED:
            shutil.rmtree(profile.prof_path / name, ignore_errors=True)
    print_info(f"All profiling data parsed in a total time of {timedelta(seconds=time.monotonic() - begun)}")
    if announce:
        _summary.announce(path)


@never_raises
def analyse(profiler_path: str, max_process_number: int | None = None, export_type: object = None) -> None:
    """
    Parse one result directory, or every one directly below *profiler_path*.

    ``max_process_number`` is checked as the vendor does; directories are parsed one after another for now.
    """
    from drynpu.tables import find_profiles

    root = Path(os.path.realpath(Path(profiler_path).expanduser()))
    if not root.exists():
        raise OutputError(f"The path does not exist: {profiler_path}")
    limit = os.cpu_count() or 1
    if max_process_number is not None and not (isinstance(max_process_number, int) and max_process_number > 0):
        print_warning("Invalid max_process_number, reset it to default!")
    elif max_process_number is not None and max_process_number > limit:
        print_warning("max_process_number exceeds the number of cpu cores, reset it to the number of cpu cores!")
    forms = _forms(export_type)
    for path in find_profiles(root):
        analyse_result(path, simplify=False, announce=False, forms=forms)


def _forms(export_type: object) -> list[ExportType] | None:
    """Return what ``analyse`` is asked for; ``None``, which leaves it to the recording, for anything it is not."""
    kinds = [export_type] if isinstance(export_type, str) else export_type
    if kinds is None:
        return None
    if isinstance(kinds, list) and all(isinstance(kind, str) and kind in EXPORTS for kind in kinds):
        return [EXPORTS[kind] for kind in kinds] or None
    print_warning(f"Invalid parameter export_type: {export_type}, reset it to None.")
    return None
