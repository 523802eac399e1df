"""What scripts fill in before they make or use sessions; names of the fields are the vendor's."""

from __future__ import annotations

from attrs import define, field

from drynpu_offline_inference.inference._console import INFO


@define
class SessionOptions:
    """How a session runs: turns of each run, the lowest level that is printed (1 debug to 4 errors), ``acl.json``."""

    loop: int = 1
    log_level: int = INFO
    acl_json_path: str = ""


@define
class PipelineOptions:
    """
    How files are run in a pipeline.

    ``output_dir`` is empty where results are not kept, ``out_format`` NPY, TXT, or anything else for raw bytes. The
    shapes of the files are chosen for each run with ``auto_dym_shape`` or ``auto_dym_dims``. With ``pure_infer_mode``
    the names of files are ``pure_infer_data_zero`` or ``pure_infer_data_random``, and nothing is read.
    """

    output_dir: str = ""
    auto_dym_shape: bool = False
    auto_dym_dims: bool = False
    out_format: str = ""
    pure_infer_mode: bool = False
    output_names: list[str] = field(factory=list)
    shapes_list: list[list[list[int]]] = field(factory=list)


@define
class HostMemory:
    """*size* bytes of the program's memory at the address *buf*; both are read when a session runs."""

    buf: int
    size: int


@define
class RunSummary:
    """Runs of a session: when each began and ended, ms since the session was made."""

    exec_time_list: list[tuple[float, float]] = field(factory=list)
