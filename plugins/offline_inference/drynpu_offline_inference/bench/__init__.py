"""
The benchmark of offline models: what the package ``ais_bench`` stands on.

It runs on whatever module ``aclruntime`` there is, drynpu's or a genuine one. Its classes are the base of those that
the package has; options, lines and files equal the vendor's tool.
"""

from __future__ import annotations

from drynpu_offline_inference.bench._command import main
from drynpu_offline_inference.bench._copy_times import CopyTimesBase
from drynpu_offline_inference.bench._devices import MultiDeviceBase
from drynpu_offline_inference.bench._files import (
    PADDING,
    PURE,
    create_infileslist_from_inputs_list,
    create_pipeline_fileslist_from_inputs_list,
    get_file_content,
    get_file_datasize,
    get_fileslist_from_dir,
    get_narray_from_files_list,
    get_pure_infer_data,
    list_split,
    natural_sort,
)
from drynpu_offline_inference.bench._infer_session import InferSessionBase
from drynpu_offline_inference.bench._log import LOGGER
from drynpu_offline_inference.bench._results import save_data_to_files
from drynpu_offline_inference.bench._summary import Summary

__all__ = [
    "LOGGER",
    "PADDING",
    "PURE",
    "CopyTimesBase",
    "InferSessionBase",
    "MultiDeviceBase",
    "Summary",
    "create_infileslist_from_inputs_list",
    "create_pipeline_fileslist_from_inputs_list",
    "get_file_content",
    "get_file_datasize",
    "get_fileslist_from_dir",
    "get_narray_from_files_list",
    "get_pure_infer_data",
    "list_split",
    "main",
    "natural_sort",
    "save_data_to_files",
]
