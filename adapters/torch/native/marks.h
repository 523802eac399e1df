// Which operators ran on the device while a recording runs: PyTorch's tracer shows an operator, but not where it ran.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "calls.h"

namespace npu {

struct Mark {
  int64_t time_ns, thread, name;
};

// One per thread, so that threads do not wait for each other; the lock is for the reader.
struct Marks {
  std::mutex mutex;
  std::vector<Mark> rows;
};

inline std::atomic<bool> marks_wanted{false};
inline std::mutex marks_mutex;

inline std::vector<std::shared_ptr<Marks>>& all_marks() {
  static auto* all = new std::vector<std::shared_ptr<Marks>>();
  return *all;
}

inline Marks& marks_of_thread() {
  static thread_local std::shared_ptr<Marks> marks = [] {
    auto created = std::make_shared<Marks>();
    std::lock_guard<std::mutex> lock(marks_mutex);
    all_marks().push_back(created);
    return created;
  }();
  return *marks;
}

inline std::vector<std::string>& operator_names() {
  static auto* names = new std::vector<std::string>();
  return *names;
}

inline int64_t operator_number(const std::string& name) {
  static auto* numbers = new std::unordered_map<std::string, int64_t>();
  std::lock_guard<std::mutex> lock(marks_mutex);
  auto [found, fresh] = numbers->emplace(name, static_cast<int64_t>(operator_names().size()));
  if (fresh) operator_names().push_back(name);
  return found->second;
}

inline void note_mark(int64_t begin_ns, int64_t name) {
  auto& marks = marks_of_thread();
  // The middle, for the tracer's clock differs from this one by a little.
  const int64_t time = begin_ns + (unix_ns() - begin_ns) / 2;
  std::lock_guard<std::mutex> lock(marks.mutex);
  marks.rows.push_back({time, thread_id(), name});
}

}  // namespace npu
