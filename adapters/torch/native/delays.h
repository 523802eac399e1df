// How long a thread waited for a processor, which says more about the load of this machine than about the script.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <ctime>

#include <fcntl.h>
#include <unistd.h>

namespace npu {

#ifdef CLOCK_MONOTONIC_COARSE

constexpr int64_t LEAST_DELAY_NS = 200'000;  // shorter ones are lost in the times of operators
constexpr int NOT_OPENED = -1, ABSENT = -2;

// Of this thread. All are of plain types, so that a thread may look at them to its end.
inline thread_local int schedstat_file = NOT_OPENED;
inline thread_local int64_t delay_known_ns = 0, delay_recording = -1, delay_looked_at = 0;

// Linux counts: ns on a processor, ns ready to run without one, turns.
inline int64_t delay_ns() {
  if (schedstat_file == NOT_OPENED) {
    schedstat_file = open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC);
    if (schedstat_file < 0) schedstat_file = ABSENT;
  }
  if (schedstat_file < 0) return 0;
  char text[96];
  const ssize_t length = pread(schedstat_file, text, sizeof(text) - 1, 0);
  if (length <= 0) return 0;
  text[length] = 0;
  char* rest = nullptr;
  std::strtoull(text, &rest, 10);
  return static_cast<int64_t>(std::strtoull(rest, nullptr, 10));
}

// Returns how long this thread waited since it last looked in this recording, 0 where that is next to nothing. It looks
// once in a tick of the system's clock, 1 to 4 ms, so that operators in between cost the reading of that clock alone.
inline int64_t new_delay(int64_t recording) {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
  const int64_t tick = now.tv_sec * 1'000'000'000 + now.tv_nsec;
  if (tick == delay_looked_at && delay_recording == recording) return 0;
  delay_looked_at = tick;
  const int64_t total_ns = delay_ns(), since_ns = total_ns - delay_known_ns;
  const bool is_known = delay_recording == recording;
  if (is_known && since_ns < LEAST_DELAY_NS) return 0;
  delay_recording = recording;
  delay_known_ns = total_ns;
  return is_known ? since_ns : 0;
}

// Closes the file, which counts for the thread that opened it.
inline void forget_delays() {
  if (schedstat_file >= 0) close(schedstat_file);
  schedstat_file = NOT_OPENED;
  delay_recording = -1;
}

#else

inline int64_t new_delay(int64_t) { return 0; }
inline void forget_delays() {}

#endif

}  // namespace npu
