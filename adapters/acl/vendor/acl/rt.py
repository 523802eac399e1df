"""Devices, contexts, streams, events, memory."""

from __future__ import annotations

from drynpu_acl.binding import Binder as _Binder
from drynpu_acl.binding import code_alone as _code
from drynpu_acl.binding import number_and_code as _pair
from drynpu_acl.binding import numbers_and_code as _triple
from drynpu_acl.runtime import PROCESS as _process

_bind = _Binder("acl.rt", "aclrt", lambda: _process.listener, _process.ready)
_devices, _waiting = _process.devices, _process.waiting

set_device = _bind("set_device", "i", _devices.set_device, failure=_code)
reset_device = _bind("reset_device", "i", _process.reset_device, failure=_code)
get_device = _bind("get_device", "", _devices.get_device, failure=_pair)
get_device_count = _bind("get_device_count", "", _process.get_device_count, failure=_pair)
get_run_mode = _bind("get_run_mode", "", _process.get_run_mode, failure=_pair)

create_context = _bind("create_context", "i", _devices.create_context, failure=_pair)
destroy_context = _bind("destroy_context", "k", _devices.destroy_context, failure=_code)
set_context = _bind("set_context", "k", _devices.set_context, failure=_code, api="aclrtSetCurrentContext")
get_context = _bind("get_context", "", _devices.get_context, failure=_pair, api="aclrtGetCurrentContext")

create_stream = _bind("create_stream", "", _devices.create_stream, failure=_pair)
destroy_stream = _bind("destroy_stream", "k", _devices.destroy_stream, failure=_code)
synchronize_stream = _bind("synchronize_stream", "k", _waiting.synchronize_stream, failure=_code)
synchronize_stream_with_timeout = _bind(
    "synchronize_stream_with_timeout", "ki", _waiting.synchronize_stream, failure=_code
)
synchronize_device = _bind("synchronize_device", "", _waiting.synchronize_device, failure=_code)
stream_wait_event = _bind("stream_wait_event", "kk", _devices.stream_wait_event, failure=_code)

create_event = _bind("create_event", "", _devices.create_event, failure=_pair)
destroy_event = _bind("destroy_event", "k", _devices.destroy_event, failure=_code)
record_event = _bind("record_event", "kk", _devices.record_event, failure=_code)
reset_event = _bind("reset_event", "kk", _devices.reset_event, failure=_code)
synchronize_event = _bind("synchronize_event", "k", _devices.synchronize_event, failure=_code)
event_elapsed_time = _bind("event_elapsed_time", "kk", _devices.event_elapsed_time, failure=_pair)

malloc = _bind("malloc", "ki", _process.malloc, failure=_pair)
malloc_host = _bind("malloc_host", "k", _process.malloc_host, failure=_pair)
free = _bind("free", "k", _process.free, failure=_code)
free_host = _bind("free_host", "k", _process.free_host, failure=_code)
memset = _bind("memset", "kkik", _process.memset, failure=_code)
memset_async = _bind("memset_async", "kkikk", _process.memset_async, failure=_code)
memcpy = _bind("memcpy", "kkkki", _process.memcpy, failure=_code)
memcpy_async = _bind("memcpy_async", "kkkkik", _process.memcpy_async, failure=_code)
get_mem_info = _bind("get_mem_info", "i", _process.get_mem_info, failure=_triple)

subscribe_report = _bind("subscribe_report", "kk", _waiting.subscribe, failure=_code)
unsubscribe_report = _bind(
    "unsubscribe_report", "kk", _waiting.unsubscribe, failure=_code, api="aclrtUnSubscribeReport"
)
process_report = _bind("process_report", "i", _waiting.process, failure=_code)
launch_callback = _bind("launch_callback", "OOik", _waiting.launch, failure=_code)
