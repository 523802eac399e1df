"""The facade of ``torch_npu.utils._npu_trace``: functions that are called when something happens on the npu."""

from __future__ import annotations

from drynpu_torch.device import state

_trace = state().trace
register_callback_for_npu_event_creation = _trace.event_creation.register
register_callback_for_npu_event_deletion = _trace.event_deletion.register
register_callback_for_npu_event_record = _trace.event_record.register
register_callback_for_npu_event_wait = _trace.event_wait.register
register_callback_for_npu_event_synchronization = _trace.event_synchronization.register
register_callback_for_npu_memory_allocation = _trace.memory_allocation.register
register_callback_for_npu_memory_deallocation = _trace.memory_deallocation.register
register_callback_for_npu_stream_creation = _trace.stream_creation.register
register_callback_for_npu_stream_synchronization = _trace.stream_synchronization.register
register_callback_for_npu_device_synchronization = _trace.device_synchronization.register
register_callback_for_npu_record_stream = _trace.record_stream.register
register_callback_for_npu_erase_stream = _trace.erase_stream.register
