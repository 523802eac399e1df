// Calls of streams and events that no Python code sees, kept while a recording runs.
#pragma once

#include <atomic>
#include <cstdint>
#include <ctime>
#include <mutex>
#include <vector>

#include <pthread.h>

#include "host.h"

namespace npu {

enum class Call : int64_t { STREAM, WAIT_STREAM, WAIT_DEVICE, RECORD_EVENT, WAIT_EVENT, SYNCHRONIZE_EVENT };

struct NotedCall {
  int64_t time_ns, thread, kind, stream, event;
};

inline std::atomic<bool> calls_wanted{false};
inline std::mutex calls_mutex;
inline std::vector<NotedCall> noted_calls;

inline int64_t unix_ns() {
  timespec time;
  clock_gettime(CLOCK_REALTIME, &time);
  return time.tv_sec * 1'000'000'000LL + time.tv_nsec;
}

// Asked of the system once per thread; 0 where that has to be done.
inline thread_local int64_t known_thread_id = 0;

inline int64_t thread_id() {
  // The thread that forks goes on in the child under another id.
  static const int registered [[maybe_unused]] = pthread_atfork(nullptr, nullptr, [] { known_thread_id = 0; });
  if (!known_thread_id) known_thread_id = ask_thread_id();
  return known_thread_id;
}

inline void note_call(Call kind, int64_t stream, int64_t event) {
  if (!calls_wanted.load(std::memory_order_relaxed)) return;
  std::lock_guard<std::mutex> lock(calls_mutex);
  noted_calls.push_back({unix_ns(), thread_id(), static_cast<int64_t>(kind), stream, event});
}

}  // namespace npu
