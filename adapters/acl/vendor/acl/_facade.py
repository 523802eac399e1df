"""What importing ``acl`` gives."""

from __future__ import annotations

from typing import NoReturn as _NoReturn

from acl import blas, fv, himpi, mdl, op, prof, rt, util

from drynpu.plugins import join_parts as _join_parts
from drynpu.plugins import missing_part as _missing_part
from drynpu_acl.binding import Binder as _Binder
from drynpu_acl.runtime import PROCESS as _process

__all__ = [
    "app_log",
    "blas",
    "create_data_buffer",
    "create_tensor_desc",
    "data_type_size",
    "destroy_data_buffer",
    "destroy_tensor_desc",
    "finalize",
    "finalize_reference",
    "fv",
    "get_data_buffer_addr",
    "get_data_buffer_size",
    "get_data_buffer_size_v2",
    "get_recent_err_msg",
    "get_soc_name",
    "get_tensor_desc_dim_v2",
    "get_tensor_desc_element_count",
    "get_tensor_desc_format",
    "get_tensor_desc_name",
    "get_tensor_desc_num_dims",
    "get_tensor_desc_size",
    "get_tensor_desc_type",
    "get_version",
    "himpi",
    "init",
    "mdl",
    "op",
    "prof",
    "rt",
    "set_tensor_desc_name",
    "update_data_buffer",
    "util",
]

parts = _join_parts("acl")
_bind = _Binder("acl", "acl", lambda: _process.listener, _process.ready)

init = _bind("init", "|s", _process.init, api="")
finalize = _bind("finalize", "", _process.finalize, api="")
finalize_reference = _bind("finalize_reference", "", _process.finalize_reference, api="")
get_version = _bind("get_version", "", _process.get_version, api="")
get_soc_name = _bind("get_soc_name", "", _process.get_soc_name, api="")
get_recent_err_msg = _bind("get_recent_err_msg", "", _process.get_recent_err_msg, api="")
data_type_size = _bind("data_type_size", "i", _process.data_type_size, api="aclDataTypeSize")

create_data_buffer = _bind("create_data_buffer", "kk", _process.data.create_data_buffer)
destroy_data_buffer = _bind("destroy_data_buffer", "k", _process.data.destroy_data_buffer)
get_data_buffer_addr = _bind("get_data_buffer_addr", "k", _process.data.get_data_buffer_addr)
get_data_buffer_size = _bind("get_data_buffer_size", "k", _process.data.get_data_buffer_size)
get_data_buffer_size_v2 = _bind("get_data_buffer_size_v2", "k", _process.data.get_data_buffer_size)
update_data_buffer = _bind("update_data_buffer", "kkk", _process.data.update_data_buffer)

_tensors = _process.tensors
create_tensor_desc = _bind("create_tensor_desc", "iOi", _tensors.create_tensor_desc)
destroy_tensor_desc = _bind("destroy_tensor_desc", "k", _tensors.destroy_tensor_desc)
get_tensor_desc_type = _bind("get_tensor_desc_type", "k", _tensors.get_tensor_desc_type)
get_tensor_desc_format = _bind("get_tensor_desc_format", "k", _tensors.get_tensor_desc_format)
get_tensor_desc_size = _bind("get_tensor_desc_size", "k", _tensors.get_tensor_desc_size)
get_tensor_desc_element_count = _bind("get_tensor_desc_element_count", "k", _tensors.get_tensor_desc_element_count)
get_tensor_desc_num_dims = _bind("get_tensor_desc_num_dims", "k", _tensors.get_tensor_desc_num_dims)
get_tensor_desc_dim_v2 = _bind("get_tensor_desc_dim_v2", "kk", _tensors.get_tensor_desc_dim_v2)
get_tensor_desc_name = _bind("get_tensor_desc_name", "k", _tensors.get_tensor_desc_name)
set_tensor_desc_name = _bind("set_tensor_desc_name", "ks", _tensors.set_tensor_desc_name)
app_log = _bind("app_log", "is", _tensors.app_log, api="")


def __getattr__(name: str) -> _NoReturn:
    if name == "media" and name not in parts:
        raise _missing_part(f"acl.{name}", "offline_inference")
    raise AttributeError(f"module 'acl' has no attribute {name!r}")
