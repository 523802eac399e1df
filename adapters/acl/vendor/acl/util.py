"""Pointers to Python objects, threads."""

from __future__ import annotations

from drynpu_acl.binding import Binder as _Binder
from drynpu_acl.runtime import PROCESS as _process

_bind = _Binder("acl.util", "", lambda: None)
_utilities, _threads = _process.utilities, _process.threads

bytes_to_ptr = _bind("bytes_to_ptr", "O", _utilities.bytes_to_ptr, api="")
ptr_to_bytes = _bind("ptr_to_bytes", "kk", _utilities.ptr_to_bytes, api="")
numpy_to_ptr = _bind("numpy_to_ptr", "O", _utilities.numpy_to_ptr, api="")
numpy_contiguous_to_ptr = _bind("numpy_contiguous_to_ptr", "O", _utilities.numpy_contiguous_to_ptr, api="")
ptr_to_numpy = _bind("ptr_to_numpy", "kOi", _utilities.ptr_to_numpy, api="")
start_thread = _bind("start_thread", "OO", _threads.start, api="")
stop_thread = _bind("stop_thread", "k", _threads.stop, api="")
