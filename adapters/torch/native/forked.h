// Processes that were forked from one that had used the device: it refuses them, as an NPU does (npu/__init__.py of
// torch_npu, _lazy_init). The driver's threads and contexts are not in such a child.
#pragma once

#include <pthread.h>

#include <atomic>

#include <c10/util/Exception.h>

namespace npu {

inline std::atomic<bool> used{false};
inline bool refused = false;

inline void note_use() {
  if (used.load(std::memory_order_relaxed)) return;
  static const int registered [[maybe_unused]] = pthread_atfork(nullptr, nullptr, [] { refused = used; });
  used = true;
}

inline void use_device() {
  TORCH_CHECK(
      !refused,
      "Cannot re-initialize NPU in forked subprocess. To use NPU with multiprocessing, you must use the 'spawn' start method");
  note_use();
}

}  // namespace npu
