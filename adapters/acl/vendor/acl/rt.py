"""Devices, contexts, streams, events, memory."""

from __future__ import annotations

from drynpu_acl.binding import Binder as _Binder
from drynpu_acl.runtime import PROCESS as _process

_bind = _Binder("acl.rt", "aclrt", lambda: _process.listener, _process.ready)
_devices, _waiting = _process.devices, _process.waiting

set_device = _bind("set_device", "i", _devices.set_device, zeros=0)
reset_device = _bind("reset_device", "i", _process.reset_device, zeros=0)
get_device = _bind("get_device", "", _devices.get_device, zeros=1)
get_device_count = _bind("get_device_count", "", _process.get_device_count)
get_run_mode = _bind("get_run_mode", "", _process.get_run_mode)

create_context = _bind("create_context", "i", _devices.create_context, zeros=1)
destroy_context = _bind("destroy_context", "k", _devices.destroy_context, zeros=0)
set_context = _bind("set_context", "k", _devices.set_context, zeros=0, api="aclrtSetCurrentContext")
get_context = _bind("get_context", "", _devices.get_context, zeros=1, api="aclrtGetCurrentContext")

create_stream = _bind("create_stream", "", _devices.create_stream, zeros=1)
destroy_stream = _bind("destroy_stream", "k", _devices.destroy_stream, zeros=0)
synchronize_stream = _bind("synchronize_stream", "k", _waiting.synchronize_stream, zeros=0)
synchronize_stream_with_timeout = _bind("synchronize_stream_with_timeout", "ki", _waiting.synchronize_stream, zeros=0)
synchronize_device = _bind("synchronize_device", "", _waiting.synchronize_device, zeros=0)
stream_wait_event = _bind("stream_wait_event", "kk", _devices.stream_wait_event, zeros=0)

create_event = _bind("create_event", "", _devices.create_event, zeros=1)
destroy_event = _bind("destroy_event", "k", _devices.destroy_event, zeros=0)
record_event = _bind("record_event", "kk", _devices.record_event, zeros=0)
reset_event = _bind("reset_event", "kk", _devices.reset_event, zeros=0)
synchronize_event = _bind("synchronize_event", "k", _devices.synchronize_event, zeros=0)
event_elapsed_time = _bind("event_elapsed_time", "kk", _devices.event_elapsed_time, zeros=1)

malloc = _bind("malloc", "ki", _process.malloc, zeros=1)
malloc_host = _bind("malloc_host", "k", _process.malloc_host, zeros=1)
free = _bind("free", "k", _process.free, zeros=0)
free_host = _bind("free_host", "k", _process.free_host, zeros=0)
memset = _bind("memset", "kkik", _process.memset, zeros=0)
memset_async = _bind("memset_async", "kkikk", _process.memset_async, zeros=0)
memcpy = _bind("memcpy", "kkkki", _process.memcpy, zeros=0)
memcpy_async = _bind("memcpy_async", "kkkkik", _process.memcpy_async, zeros=0)
get_mem_info = _bind("get_mem_info", "i", _process.get_mem_info, zeros=2)

subscribe_report = _bind("subscribe_report", "kk", _waiting.subscribe, zeros=0)
unsubscribe_report = _bind("unsubscribe_report", "kk", _waiting.unsubscribe, zeros=0, api="aclrtUnSubscribeReport")
process_report = _bind("process_report", "i", _waiting.process, zeros=0)
launch_callback = _bind("launch_callback", "OOik", _waiting.launch, zeros=0)
