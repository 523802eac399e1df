"""Models, their descriptions, data sets."""

from __future__ import annotations

from functools import partial as _with

from drynpu_acl.binding import Binder as _Binder
from drynpu_acl.runtime import PROCESS as _process

_bind = _Binder("acl.mdl", "aclmdl", lambda: _process.listener, _process.ready, refused="{} args parse failed!")
_models, _data, _shapes, _aipp = _process.models, _process.data, _process.shapes, _process.aipp

load_from_file = _bind("load_from_file", "s", _models.load_from_file, zeros=1)
load_from_mem = _bind("load_from_mem", "kk", _models.load_from_mem, zeros=1)
load_from_file_with_mem = _bind("load_from_file_with_mem", "skkkk", _models.load_from_file_with_mem, zeros=1)
load_from_mem_with_mem = _bind("load_from_mem_with_mem", "kkkkkk", _models.load_from_mem_with_mem, zeros=1)
unload = _bind("unload", "I", _models.unload, zeros=0)
query_size = _bind("query_size", "s", _models.query_size, zeros=2)
query_size_from_mem = _bind("query_size_from_mem", "kk", _models.query_size_from_mem, zeros=2)
execute = _bind("execute", "Ikk", _models.execute, zeros=0)
execute_async = _bind("execute_async", "Ikkk", _models.execute_async, zeros=0)

set_dynamic_batch_size = _bind("set_dynamic_batch_size", "IkkK", _shapes.set_dynamic_batch_size, zeros=0)
set_dynamic_hw_size = _bind(
    "set_dynamic_hw_size", "IkkKK", _shapes.set_dynamic_hw_size, zeros=0, api="aclmdlSetDynamicHWSize"
)
set_input_dynamic_dims = _bind("set_input_dynamic_dims", "IkkO", _shapes.set_input_dynamic_dims, zeros=0)
get_dynamic_batch = _bind("get_dynamic_batch", "k", _shapes.get_dynamic_batch)
get_dynamic_hw = _bind("get_dynamic_hw", "kk", _shapes.get_dynamic_hw, api="aclmdlGetDynamicHW")
get_input_dynamic_gear_count = _bind("get_input_dynamic_gear_count", "kk", _shapes.get_input_dynamic_gear_count)
get_input_dynamic_dims = _bind("get_input_dynamic_dims", "kkk", _shapes.get_input_dynamic_dims)
get_cur_output_dims = _bind("get_cur_output_dims", "kk", _shapes.get_cur_output_dims)

create_aipp = _bind("create_aipp", "K", _aipp.create_aipp, api="aclmdlCreateAIPP")
destroy_aipp = _bind("destroy_aipp", "k", _aipp.destroy_aipp, api="aclmdlDestroyAIPP")
get_aipp_data_size = _bind("get_aipp_data_size", "K", _aipp.get_aipp_data_size)
get_aipp_type = _bind("get_aipp_type", "Ik", _aipp.get_aipp_type)
set_input_aipp = _bind("set_input_aipp", "Ikkk", _aipp.set_input_aipp, api="aclmdlSetInputAIPP", zeros=0)
set_aipp_by_input_index = _bind(
    "set_aipp_by_input_index", "Ikkk", _aipp.set_aipp_by_input_index, api="aclmdlSetAIPPByInputIndex", zeros=0
)
set_aipp_input_format = _bind(
    "set_aipp_input_format", "kI", _aipp.set_aipp_input_format, api="aclmdlSetAIPPInputFormat"
)
set_aipp_src_image_size = _bind(
    "set_aipp_src_image_size", "kii", _aipp.set_aipp_src_image_size, api="aclmdlSetAIPPSrcImageSize"
)
set_aipp_csc_params = _bind(
    "set_aipp_csc_params", "kbhhhhhhhhhBBBBBB", _aipp.set_aipp_csc_params, api="aclmdlSetAIPPCscParams"
)
set_aipp_rbuv_swap_switch = _bind(
    "set_aipp_rbuv_swap_switch", "kb", _aipp.set_aipp_rbuv_swap_switch, api="aclmdlSetAIPPRbuvSwapSwitch"
)
set_aipp_ax_swap_switch = _bind(
    "set_aipp_ax_swap_switch", "kb", _aipp.set_aipp_ax_swap_switch, api="aclmdlSetAIPPAxSwapSwitch"
)
set_aipp_crop_params = _bind(
    "set_aipp_crop_params", "kbiiiiK", _aipp.set_aipp_crop_params, api="aclmdlSetAIPPCropParams"
)
set_aipp_padding_params = _bind(
    "set_aipp_padding_params", "kbiiiiK", _aipp.set_aipp_padding_params, api="aclmdlSetAIPPPaddingParams"
)
set_aipp_dtc_pixel_mean = _bind(
    "set_aipp_dtc_pixel_mean", "khhhhK", _aipp.set_aipp_dtc_pixel_mean, api="aclmdlSetAIPPDtcPixelMean"
)
set_aipp_dtc_pixel_min = _bind(
    "set_aipp_dtc_pixel_min", "kffffK", _aipp.set_aipp_dtc_pixel_min, api="aclmdlSetAIPPDtcPixelMin"
)
set_aipp_pixel_var_reci = _bind(
    "set_aipp_pixel_var_reci", "kffffK", _aipp.set_aipp_pixel_var_reci, api="aclmdlSetAIPPPixelVarReci"
)

create_desc = _bind("create_desc", "", _data.create_desc)
get_desc = _bind("get_desc", "kI", _models.get_desc, zeros=0)
get_desc_from_file = _bind("get_desc_from_file", "ks", _models.get_desc_from_file, zeros=0)
get_desc_from_mem = _bind("get_desc_from_mem", "kkk", _models.get_desc_from_mem, zeros=0)
destroy_desc = _bind("destroy_desc", "k", _data.destroy_desc)
get_num_inputs = _bind("get_num_inputs", "k", _with(_data.count, "inputs"))
get_num_outputs = _bind("get_num_outputs", "k", _with(_data.count, "outputs"))
get_input_size_by_index = _bind("get_input_size_by_index", "kk", _with(_data.size, "inputs"))
get_output_size_by_index = _bind("get_output_size_by_index", "kk", _with(_data.size, "outputs"))
get_input_dims = _bind("get_input_dims", "kk", _with(_data.dims, "inputs"))
get_input_dims_v2 = _bind("get_input_dims_v2", "kk", _with(_data.stored_dims, "inputs"))
get_output_dims = _bind("get_output_dims", "kk", _with(_data.dims, "outputs"))
get_input_name_by_index = _bind("get_input_name_by_index", "kk", _with(_data.name, "inputs"))
get_output_name_by_index = _bind("get_output_name_by_index", "kk", _with(_data.name, "outputs"))
get_input_index_by_name = _bind("get_input_index_by_name", "ks", _shapes.get_input_index_by_name)
get_output_index_by_name = _bind("get_output_index_by_name", "ks", _with(_data.index, "outputs"))
get_input_format = _bind("get_input_format", "kk", _with(_data.format, "inputs"))
get_output_format = _bind("get_output_format", "kk", _with(_data.format, "outputs"))
get_input_data_type = _bind("get_input_data_type", "kk", _with(_data.dtype, "inputs"))
get_output_data_type = _bind("get_output_data_type", "kk", _with(_data.dtype, "outputs"))

create_dataset = _bind("create_dataset", "", _data.create_dataset)
destroy_dataset = _bind("destroy_dataset", "k", _data.destroy_dataset)
add_dataset_buffer = _bind("add_dataset_buffer", "kk", _data.add_dataset_buffer)
get_dataset_num_buffers = _bind("get_dataset_num_buffers", "k", _data.get_dataset_num_buffers)
get_dataset_buffer = _bind("get_dataset_buffer", "kk", _data.get_dataset_buffer)
set_dataset_tensor_desc = _bind("set_dataset_tensor_desc", "kkk", _process.tensors.set_dataset_tensor_desc)
get_dataset_tensor_desc = _bind("get_dataset_tensor_desc", "kk", _process.tensors.get_dataset_tensor_desc)
