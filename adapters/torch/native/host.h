// What differs between systems and has no header that all share: the number of a thread, as Python's
// threading.get_native_id returns it, and pages that go back to the system. delays.h, too, asks what Linux alone counts.
#pragma once

#include <cstddef>
#include <cstdint>

#include <pthread.h>
#include <unistd.h>
#ifdef __linux__
#include <sys/mman.h>
#endif
#ifndef __APPLE__
#include <sys/syscall.h>
#endif

namespace npu {

inline int64_t ask_thread_id() {
#ifdef __APPLE__
  uint64_t number = 0;
  pthread_threadid_np(nullptr, &number);
  return static_cast<int64_t>(number);
#else
  return syscall(SYS_gettid);
#endif
}

inline size_t page_bytes() {
  return static_cast<size_t>(sysconf(_SC_PAGESIZE));
}

// Gives whole pages of private memory back, which are full of zeros when they are touched again; false where a system keeps
// what was in them.
inline bool return_pages([[maybe_unused]] void* first, [[maybe_unused]] size_t bytes) {
#ifdef __linux__
  return madvise(first, bytes, MADV_DONTNEED) == 0;
#else
  return false;
#endif
}

}  // namespace npu
