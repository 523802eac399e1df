"""
Result directories: what the toolkit and the profilers of PyTorch and MindSpore leave, read and written.

``load_profile`` reads any of them; ``export_result`` writes the deliverables that belong to one. Both work column by
column.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from drynpu._lazy import lazy_room

if TYPE_CHECKING:
    from drynpu.products._deliver import deliver, deliver_toolkit, export_result, result_forms
    from drynpu.products._find import find_profiles
    from drynpu.products._framework_data import write_framework_data
    from drynpu.products._load import load_profile
    from drynpu.products._process import deliver_beside, deliver_in_process, deliver_many, is_forked
    from drynpu.products._product import FRAMEWORK_FOLDER, FrameworkTables, Product, ToUnix, no_framework
    from drynpu.products._single import export_stacks, export_trace
    from drynpu.products.mindspore import export_mindspore
    from drynpu.products.results import only_toolkit_results, result_name
    from drynpu.products.toolkit._db import export_msprof_db
    from drynpu.products.toolkit._msprof import export_documents, export_msprof
    from drynpu.products.toolkit._prof import write_prof
    from drynpu.products.toolkit._reports import REPORT_KEYS, Reports
    from drynpu.products.torch import export_torch, requested_forms
else:
    __getattr__ = lazy_room(__name__)

__all__ = [
    "FRAMEWORK_FOLDER",
    "REPORT_KEYS",
    "FrameworkTables",
    "Product",
    "Reports",
    "ToUnix",
    "deliver",
    "deliver_beside",
    "deliver_in_process",
    "deliver_many",
    "deliver_toolkit",
    "export_documents",
    "export_mindspore",
    "export_msprof",
    "export_msprof_db",
    "export_result",
    "export_stacks",
    "export_torch",
    "export_trace",
    "find_profiles",
    "is_forked",
    "load_profile",
    "no_framework",
    "only_toolkit_results",
    "requested_forms",
    "result_forms",
    "result_name",
    "write_framework_data",
    "write_prof",
]
