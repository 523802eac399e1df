"""Models, their descriptions, data sets."""

from __future__ import annotations

from functools import partial as _with

from drynpu_acl.binding import Binder as _Binder
from drynpu_acl.runtime import PROCESS as _process

_bind = _Binder("acl.mdl", "aclmdl", lambda: _process.listener, _process.ready, refused="{} args parse failed!")
_models, _data = _process.models, _process.data

load_from_file = _bind("load_from_file", "s", _models.load_from_file, zeros=1)
load_from_mem = _bind("load_from_mem", "kk", _models.load_from_mem, zeros=1)
load_from_file_with_mem = _bind("load_from_file_with_mem", "skkkk", _models.load_from_file_with_mem, zeros=1)
unload = _bind("unload", "I", _models.unload, zeros=0)
query_size = _bind("query_size", "s", _models.query_size, zeros=2)
execute = _bind("execute", "Ikk", _models.execute, zeros=0)
execute_async = _bind("execute_async", "Ikkk", _models.execute_async, zeros=0)
set_dynamic_batch_size = _bind("set_dynamic_batch_size", "IkkK", _models.set_dynamic_batch_size, zeros=0)

create_desc = _bind("create_desc", "", _data.create_desc)
get_desc = _bind("get_desc", "kI", _models.get_desc, zeros=0)
destroy_desc = _bind("destroy_desc", "k", _data.destroy_desc)
get_num_inputs = _bind("get_num_inputs", "k", _with(_data.count, "inputs"))
get_num_outputs = _bind("get_num_outputs", "k", _with(_data.count, "outputs"))
get_input_size_by_index = _bind("get_input_size_by_index", "kk", _with(_data.size, "inputs"))
get_output_size_by_index = _bind("get_output_size_by_index", "kk", _with(_data.size, "outputs"))
get_input_dims = _bind("get_input_dims", "kk", _with(_data.dims, "inputs"))
get_input_dims_v2 = _bind("get_input_dims_v2", "kk", _with(_data.dims, "inputs"))
get_output_dims = _bind("get_output_dims", "kk", _with(_data.dims, "outputs"))
get_input_name_by_index = _bind("get_input_name_by_index", "kk", _with(_data.name, "inputs"))
get_output_name_by_index = _bind("get_output_name_by_index", "kk", _with(_data.name, "outputs"))
get_input_index_by_name = _bind("get_input_index_by_name", "ks", _with(_data.index, "inputs"))
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
