"""Files and lists."""

from __future__ import annotations

from drynpu_offline_inference.bench import LOGGER as logger
from drynpu_offline_inference.bench import (
    get_file_content,
    get_file_datasize,
    get_fileslist_from_dir,
    list_split,
    natural_sort,
    save_data_to_files,
)

__all__ = [
    "get_file_content",
    "get_file_datasize",
    "get_fileslist_from_dir",
    "list_split",
    "logger",
    "natural_sort",
    "save_data_to_files",
]
