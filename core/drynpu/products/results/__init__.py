"""
Result directories without raw data, as the vendor's tools and others leave them, read into the tables of a profile.

One reader for each kind of file; ``spellings.yaml`` has the names that CANN 7 to 9 give to what they hold.
"""

from __future__ import annotations

from drynpu.products.results._files import ResultFiles, find_results, has_output, only_toolkit_results, result_name
from drynpu.products.results._load import load_results

__all__ = ["ResultFiles", "find_results", "has_output", "load_results", "only_toolkit_results", "result_name"]
