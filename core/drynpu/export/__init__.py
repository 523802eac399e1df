"""
The deliverables: tables and analyses written out as the files that the vendor's tools write.

``export_msprof`` writes what the toolkit leaves in a PROF directory, ``export_msprof_db`` the same as a database, and
``export_torch`` what torch_npu.profiler leaves in a profile directory, as text, as databases or both, and
``export_mindspore`` what MindSpore's does; ``export_result`` knows which. They work on a ``Profile`` and the
frames of the analysis room only, column by column.
"""

from __future__ import annotations

from drynpu.export._deliver import deliver
from drynpu.export._files import new_file
from drynpu.export._mindspore import export_mindspore
from drynpu.export._msprof import export_documents, export_msprof
from drynpu.export._process import deliver_in_process
from drynpu.export._reports import REPORT_KEYS, Reports, read_reports
from drynpu.export._results import export_result, result_forms
from drynpu.export._single import export_stacks, export_trace
from drynpu.export._torch import export_torch, requested_forms
from drynpu.export.db import export_communication_db, export_msprof_db

__all__ = [
    "REPORT_KEYS",
    "Reports",
    "deliver",
    "deliver_in_process",
    "export_communication_db",
    "export_documents",
    "export_mindspore",
    "export_msprof",
    "export_msprof_db",
    "export_result",
    "export_stacks",
    "export_torch",
    "export_trace",
    "new_file",
    "read_reports",
    "requested_forms",
    "result_forms",
]
