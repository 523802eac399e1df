"""Names of files in result directories: who writes and who reads them takes them from here."""

from __future__ import annotations

import re

METADATA_FILE = "profiler_metadata.json"
"""What the script added, and what drynpu says of itself (torch_npu_profiler.md 3.4)."""
TRACE_VIEW_FILE = "trace_view.json"
COMMUNICATION_FILE = "communication.json"
COMMUNICATION_MATRIX_FILE = "communication_matrix.json"
API_STATISTIC_FILE = "api_statistic.csv"
DATA_PREPROCESS_FILE = "data_preprocess.csv"
HCCS_FILE = "hccs.csv"
KERNEL_DETAILS_FILE = "kernel_details.csv"
L2_CACHE_FILE = "l2_cache.csv"
MEMORY_RECORD_FILE = "memory_record.csv"
NIC_FILE = "nic.csv"
NPU_MODULE_MEM_FILE = "npu_module_mem.csv"
OPERATOR_DETAILS_FILE = "operator_details.csv"
OPERATOR_MEMORY_FILE = "operator_memory.csv"
OP_STATISTIC_FILE = "op_statistic.csv"
ROCE_FILE = "roce.csv"
SOC_PMU_FILE = "soc_pmu.csv"
STEP_TRACE_TIME_FILE = "step_trace_time.csv"
TASK_TIME_FILE = "task_time.csv"
ANALYSIS_DATABASE = "analysis.db"
"""Steps and communication of PyTorch's results."""
COMMUNICATION_DATABASE = "communication_analyzer.db"
"""Communication of MindSpore's and of the toolkit's results."""
ANALYSE_DONE_FILE = "analyse.done"
"""Appears when all other files of a folder of results are there."""

PROFILER_INFO_PATTERN = "profiler_info*.json"
"""Matches what the profiler says of a recording, with and without a rank."""
RANKED_INFO_PATTERN = "profiler_info_*.json"
RANKED_INFO = re.compile(r"^profiler_info_(\d+)\.json$")
RANKED_DATABASE = re.compile(r"^ascend_pytorch_profiler(?:_(\d+))?\.db$")


def profiler_info_file(rank: int | str | None) -> str:
    """Return the name of what the profiler says of a recording; without a rank where none is known."""
    return f"profiler_info{'' if rank is None else f'_{rank}'}.json"


def torch_database_file(rank: int | None) -> str:
    """Return the name of the database of PyTorch's results."""
    return f"ascend_pytorch_profiler{'' if rank is None else f'_{rank}'}.db"
