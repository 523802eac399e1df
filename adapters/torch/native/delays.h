// How long a thread waited for a processor, which says more about the load of this machine than about the script.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <ctime>
#include <mutex>
#include <string>
#include <unordered_map>
#include <utility>

#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

#include <c10/macros/Macros.h>

#include "calls.h"

namespace npu {

constexpr int64_t LEAST_DELAY_NS = 200'000;  // shorter ones are lost in the times of operators

#ifdef __linux__

// How often a thread looks, in ticks of 0.25 to 1 ns. A look takes 2 us. It looks whether or not it may have waited: a wait
// for Python's lock is told from a sleep by the turns since the look before, which must not be turns of other work.
constexpr int64_t TICKS_BETWEEN = 4'000'000;
constexpr int NOT_OPENED = -1, ABSENT = -2;

// Of this thread. All are of plain types, so that a thread may look at them to its end.
inline thread_local int schedstat_file = NOT_OPENED;
inline thread_local int64_t delay_known_ns = 0, delay_recording = -1, delay_looked_at = 0;

// What Linux counts of a thread: ns on a processor, ns ready to run without one, turns.
struct Counts {
  int64_t ran_ns = 0, waited_ns = 0, turns = 0;
};
inline thread_local Counts counts_before;  // when this thread last looked, at *looked_ns*, 0 if not in this recording
inline thread_local int64_t looked_ns = 0;

// A thread that waits for Python's lock wakes once in Python's interval of switching; one that sleeps wakes at the end.
constexpr int64_t LOCK_TURN_NS = 5'000'000;

// The counts of the thread that writes what was recorded. While it waits for a processor it may hold Python's lock, for which
// the others wait then, and nothing counts that.
inline std::atomic<int> watched_file{NOT_OPENED};
inline std::atomic<int64_t> watched_known_ns{-1};  // when some thread last asked; -1 where none did

// How long collections of garbage took since this thread last looked, and, in all threads, since some thread did: the thread
// that collects holds Python's lock.
inline thread_local int64_t collected_here_ns = 0;
inline std::atomic<int64_t> collected_ns{0};

inline void note_collection(int64_t cost_ns) {
  collected_here_ns += cost_ns;
  collected_ns += cost_ns;
}

inline int open_counts() { return open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC); }

inline Counts counts_in(int file) {
  char text[96];
  const ssize_t length = pread(file, text, sizeof(text) - 1, 0);
  if (length <= 0) return {};
  text[length] = 0;
  char* rest = nullptr;
  const auto ran = std::strtoull(text, &rest, 10), waited = std::strtoull(rest, &rest, 10);
  return {static_cast<int64_t>(ran), static_cast<int64_t>(waited), static_cast<int64_t>(std::strtoull(rest, nullptr, 10))};
}

inline Counts counts_here() {
  if (schedstat_file == NOT_OPENED) {
    schedstat_file = open_counts();
    if (schedstat_file < 0) schedstat_file = ABSENT;
  }
  return schedstat_file < 0 ? Counts() : counts_in(schedstat_file);
}

// Makes this thread the one that is watched. Its file takes the number of the one before, which others may be reading:
// neither do they read a closed one, nor does each recording leave a file open.
inline void watch_this_thread() {
  static thread_local bool is_watched = false;
  if (std::exchange(is_watched, true)) return;
  const int file = open_counts();
  if (file < 0) return;
  int before = NOT_OPENED;
  if (!watched_file.compare_exchange_strong(before, file)) {
    dup3(file, before, O_CLOEXEC);
    close(file);
  }
  watched_known_ns = -1;
}

// Returns how long other threads may have kept Python's lock since a thread last asked: they collected garbage, or the watched
// thread, while it lives, waited for a processor.
inline int64_t new_watched_delay() {
  const int64_t collected = collected_ns.exchange(0, std::memory_order_relaxed);
  const int file = watched_file.load(std::memory_order_relaxed);
  if (file < 0) return collected;
  const int64_t total_ns = counts_in(file).waited_ns;
  const int64_t before_ns = watched_known_ns.exchange(total_ns);
  return collected + (before_ns < 0 || total_ns < before_ns ? 0 : total_ns - before_ns);
}

// The thread that looked last, and what threads were known to have waited when another one asked in their place, by number.
struct LastLook {
  int64_t thread = 0, recording = -1, known_ns = 0;
  int file = NOT_OPENED;
};
struct Looks {
  std::mutex mutex;
  LastLook last;
  std::unordered_map<int64_t, int64_t> told_ns;
};
inline Looks* looks = new Looks();

// What each thread of the process had waited when the recording began, by its number: a thread that is woken in the
// recording waits before it first looks.
inline std::mutex* first_mutex = new std::mutex();
inline std::unordered_map<int64_t, int64_t>* first_ns = new std::unordered_map<int64_t, int64_t>();

inline void note_first_delays() {
  std::unordered_map<int64_t, int64_t> found;
  if (DIR* threads = opendir("/proc/self/task")) {
    while (const dirent* each = readdir(threads)) {
      if (each->d_name[0] == '.') continue;
      const int file = openat(dirfd(threads), (std::string(each->d_name) + "/schedstat").c_str(), O_RDONLY | O_CLOEXEC);
      if (file < 0) continue;
      found[std::strtoll(each->d_name, nullptr, 10)] = counts_in(file).waited_ns;
      close(file);
    }
    closedir(threads);
  }
  std::lock_guard<std::mutex> lock(*first_mutex);
  *first_ns = std::move(found);
  std::lock_guard<std::mutex> looking(looks->mutex);
  looks->told_ns.clear();
}

// Returns what this thread had waited when the recording began, 0 where it began later.
inline int64_t first_delay_ns() {
  std::lock_guard<std::mutex> lock(*first_mutex);
  const auto found = first_ns->find(thread_id());
  return found == first_ns->end() ? 0 : found->second;
}

// Returns how long the thread that looked before this one has waited since. It may have lacked a processor before it handed
// its work over (a backward pass begins), and looks again when that work is done.
inline int64_t handed_over_ns(int64_t recording, const Counts& counts) {
  std::lock_guard<std::mutex> lock(looks->mutex);
  const LastLook before = std::exchange(looks->last, {thread_id(), recording, counts.waited_ns, schedstat_file});
  if (before.thread == looks->last.thread || before.recording != recording || before.file < 0) return 0;
  const int64_t total_ns = counts_in(before.file).waited_ns;
  if (total_ns - before.known_ns < LEAST_DELAY_NS) return 0;
  looks->told_ns[before.thread] = total_ns;
  return total_ns - before.known_ns;
}

// Returns what another thread has told of this one's waits already, 0 for nothing.
inline int64_t told_ns() {
  std::lock_guard<std::mutex> lock(looks->mutex);
  const auto told = looks->told_ns.extract(thread_id());
  return told.empty() ? 0 : told.mapped();
}

// A forked process has none of its parent's threads.
inline void forget_threads() {
  const int file = watched_file.exchange(NOT_OPENED);
  if (file >= 0) close(file);
  first_mutex = new std::mutex();  // another thread of the parent may have held it
  first_ns = new std::unordered_map<int64_t, int64_t>();
  looks = new Looks();
}

// Returns how long this thread can have waited for Python's lock since it last looked: it neither ran nor lacked a processor,
// and woke as often as that takes.
inline int64_t lock_wait_ns(const Counts& counts) {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  const int64_t now_ns = now.tv_sec * 1'000'000'000 + now.tv_nsec;
  const Counts before = std::exchange(counts_before, counts);
  const int64_t since_ns = now_ns - std::exchange(looked_ns, now_ns);
  if (since_ns == now_ns) return 0;
  const int64_t blocked_ns = since_ns - (counts.ran_ns - before.ran_ns) - (counts.waited_ns - before.waited_ns);
  // The last time it wakes it goes on. What is longer than its turns explain was sleep or the device, and so may be the rest.
  const int64_t explained_ns = (counts.turns - before.turns - 1) * LOCK_TURN_NS;
  return std::max<int64_t>(0, std::min(blocked_ns, explained_ns - std::max<int64_t>(0, blocked_ns - explained_ns)));
}

// Whether this thread may look again, or for the first time in this recording, at *now*, which is in ticks of the processor.
inline bool delay_is_due(int64_t recording, int64_t now) {
  return now - delay_looked_at >= TICKS_BETWEEN || delay_recording != recording;
}

// Returns how long this thread waited since it last looked in this recording, 0 where that is next to nothing.
inline int64_t new_delay(int64_t recording, int64_t now) {
  delay_looked_at = now;
  if (delay_recording != recording) {
    delay_known_ns = first_delay_ns();
    delay_recording = recording;
    looked_ns = collected_here_ns = 0;
  }
  const Counts counts = counts_here();
  const int64_t others_ns = std::min(new_watched_delay(), lock_wait_ns(counts)) + handed_over_ns(recording, counts);
  delay_known_ns = std::max(delay_known_ns, told_ns());
  const int64_t since_ns = counts.waited_ns - delay_known_ns + others_ns + collected_here_ns;
  if (since_ns < LEAST_DELAY_NS) return 0;
  collected_here_ns = 0;
  delay_known_ns = counts.waited_ns;
  return since_ns;
}

// Closes the file, which counts for the thread that opened it.
inline void forget_delays() {
  {
    std::lock_guard<std::mutex> lock(looks->mutex);
    if (looks->last.file == schedstat_file) looks->last.file = NOT_OPENED;
    looks->told_ns.erase(thread_id());
  }
  if (schedstat_file >= 0) close(schedstat_file);
  schedstat_file = NOT_OPENED;
  delay_recording = -1;
  looked_ns = 0;
}

#else

inline bool delay_is_due(int64_t, int64_t) { return false; }
inline int64_t new_delay(int64_t, int64_t) { return 0; }
inline void watch_this_thread() {}
inline void note_collection(int64_t) {}
inline void note_first_delays() {}
inline void forget_threads() {}
inline void forget_delays() {}

#endif

}  // namespace npu
