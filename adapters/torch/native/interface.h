// What Python calls by ctypes.
#pragma once

#include "backward.h"
#include "calls.h"
#include "frames.h"
#include "guard.h"
#include "hooks.h"
#include "marks.h"
#include "memory.h"
#include "operators.h"
#include "handover.h"

namespace npu {
inline Hooks* hooks = nullptr;
}

#define DRYNPU_EXPORT extern "C" __attribute__((visibility("default"))) inline __attribute__((used))

DRYNPU_EXPORT void drynpu_configure(int devices, int64_t memory_bytes, int only_warn) {
  npu::device_count = std::min(devices, npu::MOST_DEVICES);
  for (int i = 0; i < npu::MOST_DEVICES; ++i) {
    npu::memory_of(i).total = memory_bytes;
    npu::memory_of(i).only_warn = only_warn != 0;
  }
  if (!npu::hooks) {
    npu::hooks = new npu::Hooks();
    at::RegisterPrivateUse1HooksInterface(npu::hooks);
    npu::serve_generators(&npu::new_generator);
  }
}

DRYNPU_EXPORT int drynpu_finish_backward(double longest_s) { return npu::finish_backward(longest_s); }

// Before the first tensor: values of more than *bytes* are not computed, and a number read by the script is *stand_in*.
DRYNPU_EXPORT void drynpu_compute_nothing(double stand_in, int64_t bytes) {
  npu::computing = false;
  npu::stand_in = stand_in;
  npu::most_computed_bytes = bytes;
  npu::register_outlines();
}
// Fills how often stand-ins were given, in the order of npu::Asked; returns how many numbers these are.
DRYNPU_EXPORT int64_t drynpu_stand_ins(int64_t* out, int64_t rows) {
  for (int64_t i = 0; i < std::min<int64_t>(rows, npu::ASKED); ++i) out[i] = npu::asked_for[static_cast<size_t>(i)];
  return npu::ASKED;
}

// Returns whether the process is a fork of one that had used the device; if not, it has now.
DRYNPU_EXPORT int drynpu_use_device() {
  if (!npu::refused) npu::note_use();
  return npu::refused;
}
DRYNPU_EXPORT int drynpu_is_refused() { return npu::refused; }

DRYNPU_EXPORT int drynpu_current_device() { return npu::current_device; }
DRYNPU_EXPORT void drynpu_select_device(int index) { npu::current_device = static_cast<c10::DeviceIndex>(index); }
DRYNPU_EXPORT int64_t drynpu_current_stream(int device) { return npu::stream_of(static_cast<c10::DeviceIndex>(device)); }
DRYNPU_EXPORT void drynpu_select_stream(int device, int64_t stream) {
  npu::select_stream(static_cast<c10::DeviceIndex>(device), stream);
}
DRYNPU_EXPORT int64_t drynpu_next_stream() { return npu::next_stream++; }
DRYNPU_EXPORT int64_t drynpu_next_event() { return npu::next_event++; }

// With nullptr events have the times of this machine.
DRYNPU_EXPORT void drynpu_time_events(npu::EventTimer timer) { npu::event_timer = timer; }

DRYNPU_EXPORT int drynpu_statistics_rows() { return npu::STATISTICS; }
DRYNPU_EXPORT void drynpu_memory_statistics(int device, int64_t* out) { npu::memory_of(device).read(out); }
DRYNPU_EXPORT int64_t drynpu_max_split_size() {
  const auto size = npu::settings().max_split_size.load();
  return size == std::numeric_limits<size_t>::max() ? -1 : static_cast<int64_t>(size);
}
DRYNPU_EXPORT void drynpu_count_memory(int counted) { npu::counts_memory = counted != 0; }
DRYNPU_EXPORT void drynpu_memory_empty_cache() {
  for (int i = 0; i < npu::device_count; ++i) npu::memory_of(i).empty_cache();
}
DRYNPU_EXPORT void drynpu_memory_reset_peaks(int device) { npu::memory_of(device).reset_peaks(); }
DRYNPU_EXPORT void drynpu_memory_reset_accumulated(int device) { npu::memory_of(device).reset_accumulated(); }
DRYNPU_EXPORT void drynpu_memory_limit(int device, int64_t bytes) { npu::memory_of(device).allowed = bytes; }
DRYNPU_EXPORT int64_t drynpu_memory_snapshot(int device, int64_t* out, int64_t rows) {
  return npu::memory_of(device).snapshot(out, rows);
}

DRYNPU_EXPORT void drynpu_note_calls(int wanted) {
  std::lock_guard<std::mutex> lock(npu::calls_mutex);
  npu::noted_calls.clear();
  npu::calls_wanted = wanted != 0;
}
// Moves the calls that were noted into rows of time_ns, thread, kind, stream, event; returns how many there were.
DRYNPU_EXPORT int64_t drynpu_take_calls(int64_t* out, int64_t rows) {
  std::lock_guard<std::mutex> lock(npu::calls_mutex);
  const auto count = static_cast<int64_t>(npu::noted_calls.size());
  if (count > rows) return count;
  std::memcpy(out, npu::noted_calls.data(), npu::noted_calls.size() * sizeof(npu::NotedCall));
  npu::noted_calls.clear();
  return count;
}

DRYNPU_EXPORT void drynpu_note_marks(int wanted) { npu::marks_wanted = wanted != 0; }

// Moves the marks of all threads into rows of time_ns, thread, operator, as many as there is room for; returns how many
// were left.
DRYNPU_EXPORT int64_t drynpu_take_marks(int64_t* out, int64_t rows) {
  std::lock_guard<std::mutex> all_lock(npu::marks_mutex);
  int64_t left = 0;
  for (auto& marks : npu::all_marks()) {
    std::lock_guard<std::mutex> lock(marks->mutex);
    const auto count = static_cast<int64_t>(marks->rows.size());
    if (count > rows) {
      left += count;
      continue;
    }
    std::memcpy(out, marks->rows.data(), marks->rows.size() * sizeof(npu::Mark));
    marks->rows.clear();
    out += count * 3;
    rows -= count;
  }
  return left;
}
// The name stays where it is until another operator runs for the first time: copy it at once.
DRYNPU_EXPORT const char* drynpu_operator_name(int64_t number) {
  std::lock_guard<std::mutex> lock(npu::marks_mutex);
  const auto& names = npu::operator_names();
  return number < static_cast<int64_t>(names.size()) ? names[static_cast<size_t>(number)].c_str() : nullptr;
}

// Returns 0 where a recording runs already.
DRYNPU_EXPORT int drynpu_start_recording(int with_memory) { return npu::start_recording(with_memory != 0); }
// The thread that calls this writes what was recorded: others may wait for it while it has no processor, and its frames are
// nobody's.
DRYNPU_EXPORT void drynpu_watch_this_thread() {
  npu::this_thread.is_drynpus = true;
  npu::watch_this_thread();
}
// This thread collected garbage for so long.
DRYNPU_EXPORT void drynpu_note_collection(int64_t cost_ns) { npu::note_collection(cost_ns); }
DRYNPU_EXPORT int drynpu_is_recording() { return npu::recording; }
DRYNPU_EXPORT int drynpu_has_recorded() { return npu::has_recorded(); }
DRYNPU_EXPORT void drynpu_stop_recording(int64_t* sizes) { npu::stop_recording(sizes); }
DRYNPU_EXPORT void drynpu_read_recording(
    void* rows, char* names, int64_t* name_ends, int64_t* calls, int64_t* call_ends, void* allocations,
    void* delays, void* accesses, void* frames, int32_t* stacks) {
  npu::read_recording(
      static_cast<npu::Row*>(rows), names, name_ends, calls, call_ends, static_cast<npu::Allocated*>(allocations),
      static_cast<npu::Delayed*>(delays), static_cast<npu::Accessed*>(accesses), static_cast<npu::Frame*>(frames), stacks);
}
// These four are called with Python's lock. Returns 0 where the frames of this Python cannot be recorded: *function* is one
// of C, which Python calls *name*.
DRYNPU_EXPORT int drynpu_can_follow(void* function, const char* name) { return npu::can_follow(function, name); }
DRYNPU_EXPORT void drynpu_start_frames(void* marker, void* module_call, const char* folders, int fresh) {
  npu::start_frames(marker, module_call, folders, fresh != 0);
}
// Follows this thread again, where the script had a profile function in between. Returns 0 where it has one now.
DRYNPU_EXPORT int drynpu_follow_thread() { return !npu::recording_frames || npu::follow_present_thread(); }
// Copies the texts of all names of frames one behind the other, and where each ends, as many bytes and names as there is
// room for; fills how many there are.
DRYNPU_EXPORT void drynpu_frame_names(char* texts, int64_t* ends, int64_t* sizes) {
  const auto& names = npu::frame_settings.names;
  std::memcpy(texts, names.texts().data(), std::min(names.texts().size(), static_cast<size_t>(sizes[0])));
  std::copy_n(names.ends().begin(), std::min(names.ends().size(), static_cast<size_t>(sizes[1])), ends);
  sizes[0] = static_cast<int64_t>(names.texts().size());
  sizes[1] = static_cast<int64_t>(names.ends().size());
}
// Returns PyTorch's name of an element type as Kineto shows it, nullptr where there is no such type.
DRYNPU_EXPORT const char* drynpu_type_name(int type) {
  if (type < 0 || type >= static_cast<int>(c10::ScalarType::NumOptions)) return nullptr;
  static std::array<std::string, static_cast<size_t>(c10::ScalarType::NumOptions)> names;
  static std::once_flag once;
  std::call_once(once, [] {
    for (size_t i = 0; i < names.size(); ++i) {
      const auto each = static_cast<c10::ScalarType>(i);
      if (each != c10::ScalarType::Undefined) names[i] = c10::scalarTypeToTypeMeta(each).name();
    }
  });
  return names[static_cast<size_t>(type)].c_str();
}
