"""The functions that scripts import from ``torch_npu.npu.npu_config``."""

from __future__ import annotations

from drynpu_torch.device.npu._control import get_device_limit as get_device_limit
from drynpu_torch.device.npu._control import get_stream_limit as get_stream_limit
from drynpu_torch.device.npu._control import reset_stream_limit as reset_stream_limit
from drynpu_torch.device.npu._control import set_device_limit as set_device_limit
from drynpu_torch.device.npu._control import set_stream_limit as set_stream_limit
from drynpu_torch.device.npu._settings import get_mm_bmm_format_nd as get_mm_bmm_format_nd
from drynpu_torch.device.npu._settings import is_jit_compile_false as is_jit_compile_false
from drynpu_torch.device.npu._settings import set_compile_mode as set_compile_mode
from drynpu_torch.device.npu._settings import set_mm_bmm_format_nd as set_mm_bmm_format_nd
from drynpu_torch.device.npu._settings import set_option as set_option
