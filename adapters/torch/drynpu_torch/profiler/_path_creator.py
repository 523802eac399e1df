"""``torch_npu.profiler._profiler_path_creator.ProfPathCreator``, which the vendor's FAQ has users import."""

from __future__ import annotations

import shutil
from typing import Any

from drynpu import OutputError
from drynpu.options.experimental_config import normalise_handler
from drynpu_torch.profiler._messages import print_warning, show
from drynpu_torch.profiler._process import PROCESS


class ProfPathCreator:
    """
    Where results of this process go (torch_npu_profiler.md 3.1).

    Every object shows the same state, which ``tensorboard_trace_handler`` sets too: a handler of the user's own calls
    ``ProfPathCreator().init(worker_name=..., dir_name=...)`` instead.
    """

    @property
    def is_prof_inited(self) -> bool:
        """Whether a result directory has been made."""
        return PROCESS.current is not None

    def init(self, worker_name: Any = None, dir_name: Any = None, export_only_mode: bool = False) -> None:
        """
        Set worker and directory of later recordings; bad values are reported and replaced.

        ``export_only_mode`` without a directory puts results where those without a handler go.

        Raises
        ------
        OutputError
            *dir_name* is a file.
        """
        values, notices = normalise_handler(dir_name, worker_name, True, False)
        show(notices)
        PROCESS.configure(values.dir_name, values.worker_name)
        PROCESS.export_only = bool(export_only_mode) and values.dir_name is None

    def create_prof_dir(self) -> None:
        """
        Make a new result directory.

        Raises
        ------
        OutputError
            It cannot be created.
        """
        path = PROCESS.result_directory(raw_only=False)
        try:
            path.mkdir(mode=0o750, parents=True)
        except OSError as error:
            raise OutputError(f"cannot create the result directory {path}: {error.strerror}") from error

    def get_prof_dir(self) -> str | None:
        """Return the path of the last result directory, ``None`` before the first."""
        return None if PROCESS.current is None else str(PROCESS.current)

    def delete_prof_dir(self) -> None:
        """Remove the last result directory."""
        try:
            shutil.rmtree(str(PROCESS.current))
        except OSError:
            print_warning("Remove temporary profiling data saving path failed.")

    def delete_export_only_prof(self) -> None:
        """Remove the last result directory if it is one of ``export_only_mode``."""
        if PROCESS.export_only:
            self.delete_prof_dir()
