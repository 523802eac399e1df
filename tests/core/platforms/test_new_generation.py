"""A generation and a metric group are data: this adds both to the documents of a fresh process, and nothing else."""

from __future__ import annotations

import subprocess
import sys

SCRIPT = """
import copy

from drynpu.platforms import _converter

read = _converter.packaged_document
platforms, counters = (copy.deepcopy(read(name)) for name in ("platforms.yaml", "counters.yaml"))
# As a file would have them: a platform like the 950 with other caches, and a group of two events of its own numbering.
platforms["platforms"]["21"] = platforms["platforms"]["15"] | {
    "label": "Ascend960",
    "series": {"960": ["960"]},
    "npu_info_name": "Ascend960",
    "counters": platforms["platforms"]["15"]["counters"] | {"name": "960"},
    "memory": platforms["platforms"]["15"]["memory"] | {"last_level_caches": 6},
}
counters["sets"]["960"] = copy.deepcopy(counters["sets"]["950"])
counters["numbering"]["v6"]["columns"]["dma"] = "pipe 0x801"
counters["sets"]["960"]["groups"]["Memory"] = {"events": [0x801, 0x1], "cube": "dma scalar", "vector": "scalar"}
documents = {"platforms.yaml": platforms, "counters.yaml": counters}

from drynpu.platforms import _counters, _platforms

for module in (_counters, _platforms):
    module.packaged_document = documents.__getitem__

from drynpu.kernels import metric_column_names
from drynpu.options import MetricGroup
from drynpu.options.profiling_options import parse, sample_parameters
from drynpu.platforms import find_platform, resolve_platform, resolve_series
from drynpu.writers.number_text import Writer, toolkit_writer

platform = resolve_platform("Ascend960PR")
assert platform is find_platform("21") is resolve_platform("960")
assert (resolve_series("960PR"), platform.npu_info_name, platform.memory.last_level_caches) == ("960", "Ascend960", 6)
assert toolkit_writer(platform) is Writer.NATIVE
request = parse({"output": "/o", "task_time": "l3", "aic_metrics": "Memory"}, chip="Ascend960PR").request
assert request.aic_metrics is MetricGroup.MEMORY
sample = sample_parameters(request, platform)
assert sample["ai_core_profiling_events"] == sample["aiv_profiling_events"] == "0x801,0x1"
cube = "aicore_time(us) aic_total_cycles aic_dma_time(us) aic_dma_ratio aic_scalar_time(us) aic_scalar_ratio"
vector = "aiv_time(us) aiv_total_cycles aiv_scalar_time(us) aiv_scalar_ratio"
assert metric_column_names("Memory", platform) == (*cube.split(), *vector.split())
"""


def test_a_generation_is_yaml_alone() -> None:
    run = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
