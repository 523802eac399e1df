// The device's name to PyTorch, how many there are, and the current device and streams of every thread.
#pragma once

#include <atomic>
#include <string>
#include <unordered_map>

#include <c10/core/Device.h>
#include <c10/core/Stream.h>
#include <c10/util/Exception.h>

namespace npu {

constexpr c10::DeviceType TYPE = c10::DeviceType::PrivateUse1;
constexpr int MOST_DEVICES = 64;

// Set once by the Python side, before the first tensor.
inline std::atomic<int> device_count{1};

inline thread_local constinit c10::DeviceIndex current_device = 0;
// Only streams that differ from the default stream. Most threads have none, and whether this one has costs less to ask.
inline thread_local std::unordered_map<int, c10::StreamId> current_streams;
inline thread_local constinit bool has_streams = false;

inline c10::Device device_of(c10::DeviceIndex index) {
  return c10::Device(TYPE, index < 0 ? current_device : index);
}

inline c10::StreamId stream_of(c10::DeviceIndex index) {
  if (C10_LIKELY(!has_streams)) return 0;
  auto found = current_streams.find(index);
  return found == current_streams.end() ? 0 : found->second;
}

inline void select_stream(c10::DeviceIndex index, c10::StreamId stream) {
  if (!stream && !has_streams) return;
  current_streams[index] = stream;
  has_streams = true;
}

// The text of an error for a device that is not there (errors.h).
std::string index_error(c10::DeviceIndex index);

inline void check_index(c10::DeviceIndex index) {
  TORCH_CHECK(index >= 0 && index < device_count.load(std::memory_order_relaxed), index_error(index));
}

// Selects a device for the length of a block.
struct SelectedDevice {
  explicit SelectedDevice(c10::DeviceIndex index) : before(current_device) {
    if (index >= 0 && index != before) {
      check_index(index);
      current_device = index;
    }
  }
  ~SelectedDevice() { current_device = before; }
  c10::DeviceIndex before;
};

}  // namespace npu
