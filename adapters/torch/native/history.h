// What the allocator did, in order, with the stacks of who asked for it: _record_memory_history of torch_npu. Which event has
// which size, and which stack stands for it, is as in NPUCachingAllocator.cpp (Ascend/pytorch).
#pragma once

#include <atomic>
#include <limits>
#include <memory>
#include <vector>

#include <c10/core/Stream.h>
#include <torch/csrc/profiler/combined_traceback.h>

namespace npu {

using Trace = std::shared_ptr<torch::CapturedTraceback>;

// In the order of _ACTIONS in drynpu_torch/device/_memory_history.py.
enum class Action : int64_t {
  ALLOC, FREE_REQUESTED, FREE_COMPLETED, SEGMENT_ALLOC, SEGMENT_FREE, SEGMENT_MAP, SEGMENT_UNMAP, OOM, SNAPSHOT
};

// In the order of _CONTEXTS there: for which events a stack is read. Each includes the events of the ones before it.
enum class Context : int64_t { NEVER, STATE, ALLOC, ALL };

struct Event {
  Action action;
  int64_t address, size;
  c10::StreamId stream;
  Trace stack;
};

// The settings are of all devices together.
inline std::atomic<bool> history_wanted{false};
inline std::atomic<Context> stacks_wanted{Context::NEVER};
inline std::atomic<bool> native_stacks_wanted{false};
inline std::atomic<size_t> most_events{std::numeric_limits<size_t>::max()};

// Returns the present stack where it is wanted for events of this kind. It takes Python's lock, so the caller must hold none
// that a thread with Python's lock may wait for.
inline Trace read_stack(Context context) {
  if (C10_LIKELY(stacks_wanted.load(std::memory_order_relaxed) < context)) return nullptr;
  return torch::CapturedTraceback::gather(true, true, native_stacks_wanted);
}

// The events of one device; guarded by the lock of its allocator.
class History {
 public:
  void note(Action action, int64_t address, int64_t size, c10::StreamId stream, const Trace& stack = nullptr) {
    if (C10_LIKELY(!history_wanted.load(std::memory_order_relaxed))) return;
    Event event{action, address, size, stream, stacks_wanted < Context::ALLOC ? nullptr : stack};
    if (events_.size() < most_events) {
      events_.push_back(std::move(event));
    } else {
      events_[oldest_] = std::move(event);
      oldest_ = (oldest_ + 1) % events_.size();
    }
  }

  void clear() {
    events_.clear();
    oldest_ = 0;
  }

  std::vector<Event> in_order() const {
    const auto oldest = events_.begin() + static_cast<int64_t>(oldest_);
    std::vector<Event> found(oldest, events_.end());
    found.insert(found.end(), events_.begin(), oldest);
    return found;
  }

 private:
  std::vector<Event> events_;
  size_t oldest_ = 0;
};

}  // namespace npu
