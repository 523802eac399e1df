"""What importing ``acl`` gives."""

from __future__ import annotations

from acl import blas, fv, himpi, mdl, media, op, prof, rt, util

from drynpu_acl.binding import Binder as _Binder
from drynpu_acl.runtime import PROCESS as _process

__all__ = [
    "blas",
    "create_data_buffer",
    "data_type_size",
    "destroy_data_buffer",
    "finalize",
    "finalize_reference",
    "fv",
    "get_data_buffer_addr",
    "get_data_buffer_size",
    "get_data_buffer_size_v2",
    "get_recent_err_msg",
    "get_soc_name",
    "get_version",
    "himpi",
    "init",
    "mdl",
    "media",
    "op",
    "prof",
    "rt",
    "update_data_buffer",
    "util",
]

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
