"""
What MindSpore's own analysis makes of run directories: ``vendor_analysis.py TARGET DIRECTORY...``.

The toolkit's part is read from mindstudio_profiler_output as it is there. It goes to ``TARGET/<directory name>``.
"""

from __future__ import annotations

import configparser
import json
import sys
from pathlib import Path
from typing import Any

from mindspore.profiler.analysis.parser.ascend_cann_parser import AscendMsprofParser
from mindspore.profiler.analysis.parser.framework_cann_relation_parser import FrameworkCannRelationParser
from mindspore.profiler.analysis.parser.ms_framework_parser import FrameworkParser
from mindspore.profiler.analysis.parser.ms_minddata_parser import MindDataParser
from mindspore.profiler.analysis.time_converter import TimeConverter
from mindspore.profiler.analysis.viewer.ascend_communication_viewer import AscendCommunicationViewer
from mindspore.profiler.analysis.viewer.ascend_integrate_viewer import AscendIntegrateViewer
from mindspore.profiler.analysis.viewer.ascend_kernel_details_viewer import AscendKernelDetailsViewer
from mindspore.profiler.analysis.viewer.ascend_memory_viewer import AscendMemoryViewer
from mindspore.profiler.analysis.viewer.ascend_op_memory_viewer import AscendOpMemoryViewer
from mindspore.profiler.analysis.viewer.ascend_step_trace_time_viewer import AscendStepTraceTimeViewer
from mindspore.profiler.analysis.viewer.ascend_timeline_viewer import AscendTimelineViewer
from mindspore.profiler.analysis.viewer.ms_dataset_viewer import MsDatasetViewer
from mindspore.profiler.analysis.viewer.ms_minddata_viewer import (
    MindDataPipelineRawViewer,
    MindDataPiplineSummaryViewer,
)
from mindspore.profiler.analysis.viewer.ms_operator_details_viewer import MsOperatorDetailsViewer
from mindspore.profiler.common.log import ProfilerLogger


def set_clock(prof: Path) -> None:
    clocks = configparser.ConfigParser()
    clocks.read(prof / "host" / "host_start.log")
    start = json.loads((prof / "host" / "start_info").read_text())
    info = json.loads((prof / "host" / "info.json").read_text())
    offset = int(start["collectionTimeBegin"]) * 1000 - int(start["clockMonotonicRaw"])
    TimeConverter.init_parameters(
        freq=float(info["CPU"][0]["Frequency"]),
        cntvct=int(clocks["Host"]["cntvct"]),
        localtime_diff=int(clocks["Host"]["clock_monotonic_raw"]) + offset,
    )


def settings(directory: Path, prof: Path, target: Path) -> dict[str, Any]:
    (path,) = directory.glob("profiler_info_*.json")
    info = json.loads(path.read_text())
    (device,) = prof.glob("device_*")
    return {
        **info["profiler_parameters"],
        **info["ms_profiler_info"],
        "ascend_ms_dir": str(directory),
        "framework_path": str(directory / "FRAMEWORK"),
        "ascend_profiler_output_path": str(target),
        "msprof_profile_path": str(prof),
        "msprof_profile_host_path": str(prof / "host"),
        "msprof_profile_device_path": str(device),
        "msprof_profile_output_path": str(prof / "mindstudio_profiler_output"),
        "msprof_analyze_output_path": str(prof / "analyze"),
        "jit_level": info["jit_level"],
        "device_target": "Ascend",
        "step_list": None,
    }


def analyse(directory: Path, target: Path) -> None:
    """Do what the vendor's task list does, without the call of msprof and without its processes."""
    target.mkdir(parents=True)
    (prof,) = directory.glob("PROF_*")
    set_clock(prof)
    options = settings(directory, prof, target)
    ProfilerLogger.init(str(directory))
    toolkit = AscendMsprofParser(**options)
    toolkit._parse_op_summary()
    toolkit._parse_msprof_timeline()
    data = {
        "op_summary": toolkit.op_summary,
        "op_summary_headers": toolkit.op_summary_headers,
        "msprof_timeline": toolkit.msprof_timeline,
    }
    AscendMemoryViewer(**options).save(data)
    AscendOpMemoryViewer(**options).save(data)
    data = FrameworkParser(**options)._parse(data)
    MsDatasetViewer(**options).save(data)
    if options["record_shapes"]:
        MsOperatorDetailsViewer(**options).save(data)
    data = FrameworkCannRelationParser(**options)._parse(data)
    for viewer in (
        AscendTimelineViewer,
        AscendKernelDetailsViewer,
        AscendStepTraceTimeViewer,
        AscendIntegrateViewer,
        AscendCommunicationViewer,
    ):
        viewer(**options).save(data)
    if options["data_process"]:
        pipeline = MindDataParser(**options)._parse({})
        MindDataPipelineRawViewer(**options).save(pipeline)
        MindDataPiplineSummaryViewer(**options).save(pipeline)


if __name__ == "__main__":
    for name in sys.argv[2:]:
        analyse(Path(name), Path(sys.argv[1]) / Path(name).name)
