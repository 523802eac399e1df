"""The kinds of record, layers, database tables and lines of README.txt of sampled device memory."""

from __future__ import annotations

from drynpu.layouts import npu_memory
from drynpu.layouts.result_files import NPU_MODULE_MEM_FILE
from drynpu.writers.db import db_table
from drynpu.writers.layers import Layer

KINDS = npu_memory.KINDS

NPU_MEM_LAYER = Layer("NPU MEM", 17, "NPU")

DB_TABLES = (
    db_table("NPU_MEM", "type ddr:N hbm:N timestampNs deviceId"),
    db_table("NPU_MODULE_MEM", "moduleId timestampNs totalReserved:N deviceId"),
)

README = {
    "npu_mem.csv": "Memory of the process and of the device, sampled.",
    NPU_MODULE_MEM_FILE: "Memory reserved by each component of the device software, sampled.",
}
