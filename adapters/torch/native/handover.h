// Handing over what the recorder kept: the rows of all threads in one table, with names and calls numbered alike.
#pragma once

#include <unordered_map>

#include "recorder.h"

namespace npu {

// The same layout as FRAME in drynpu_torch/device/_recorded.py: a call of a Python function, times in Unix ns.
struct Frame {
  int64_t start, end;
  int32_t name, stack;
  uint32_t thread;
};

// Numbers stacks: a frame and the stack that it lies on, -1 for none. An inner stack has a larger number.
class FrameStacks {
 public:
  int32_t number(int32_t outer, int32_t name) {
    const auto key = static_cast<uint64_t>(static_cast<uint32_t>(outer)) << 32 | static_cast<uint32_t>(name);
    const auto [found, fresh] = numbers_.emplace(key, static_cast<int32_t>(pairs_.size() / 2));
    if (fresh) pairs_.insert(pairs_.end(), {outer, name});
    return found->second;
  }

  const std::vector<int32_t>& pairs() const { return pairs_; }

 private:
  std::unordered_map<uint64_t, int32_t> numbers_;
  std::vector<int32_t> pairs_;
};

struct Table {
  std::vector<Recorded> threads;
  std::vector<uint32_t> thread_ids;
  // Of each thread: the numbers here by the numbers there, and the names of its calls.
  std::vector<std::vector<int32_t>> name_of, call_of, name_of_call;
  Interned names, calls;
  std::function<c10::time_t(c10::approx_time_t)> clock;
  int64_t end = 0;
  size_t rows = 0, allocations = 0, delays = 0, accesses = 0, frames = 0;
  FrameStacks stacks;
  std::vector<std::vector<Frame>> frames_of;  // of each thread
};

inline std::unique_ptr<Table> handover;  // guarded by the recorder's lock

inline void renumber(Table& table, const Recorded& recorded) {
  auto& names = table.name_of.emplace_back();
  auto& calls = table.call_of.emplace_back();
  auto& called = table.name_of_call.emplace_back();
  for (size_t i = 0; i < recorded.names.size(); ++i)
    names.push_back(table.names.number(recorded.names[static_cast<int32_t>(i)]));
  std::string call;
  for (size_t i = 0; i < recorded.calls.size(); ++i) {
    call = recorded.calls[static_cast<int32_t>(i)];
    int64_t name;
    std::memcpy(&name, call.data(), sizeof(name));
    called.push_back(names[static_cast<size_t>(name)]);
    name = called.back();
    std::memcpy(call.data(), &name, sizeof(name));
    calls.push_back(table.calls.number(call));
  }
}

// Frames that have not returned end *now*. A thread that runs nothing but Python's own code, below drynpu's, has none.
inline void take_frames(Table& table, Recorded& recorded, uint32_t thread, int64_t now) {
  std::vector<FrameRow> rows(static_cast<size_t>(recorded.frame_count));
  recorded.frames.drain(rows.data());
  auto& frames = table.frames_of.emplace_back();
  if (!recorded.has_script) return;
  frames.reserve(rows.size());
  const auto time = [&](int64_t ticks) { return table.clock(static_cast<c10::approx_time_t>(ticks)); };
  for (const auto& row : rows) {
    const int32_t outer = row.outer < 0 ? -1 : frames[static_cast<size_t>(row.outer)].stack;
    frames.push_back(
        {time(row.start), time(row.end ? row.end : now), row.name, table.stacks.number(outer, row.name), thread});
  }
  table.frames += frames.size();
}

// Ends the recording, and fills how many rows, names, bytes of names, calls, words of calls, allocations, delays, accesses,
// frames and stacks there are.
inline void stop_recording(int64_t* sizes) {
  std::lock_guard<std::mutex> all(recorder->mutex);
  auto table = std::make_unique<Table>();
  recording_memory = recording_frames = false;
  if (recording.exchange(false)) {
    at::removeCallback(observer);
    observer = at::INVALID_CALLBACK_HANDLE;
    for (auto* buffer : recorder->buffers) {
      std::lock_guard lock(buffer->mutex);
      ++buffer->period;
      buffer->last = nullptr;
      buffer->forget_calls();
      if (buffer->is_empty()) continue;
      table->threads.push_back(std::exchange(buffer->recorded, {}));
      table->thread_ids.push_back(buffer->thread);
    }
    table->end = static_cast<int64_t>(c10::getApproximateTime());
    table->clock = recorder->clock->makeConverter();
  }
  for (size_t i = 0; i < table->threads.size(); ++i) {
    auto& recorded = table->threads[i];
    take_frames(*table, recorded, table->thread_ids[i], table->end);
    table->rows += recorded.rows.count();
    table->allocations += recorded.allocations.count();
    table->delays += recorded.delays.count();
    table->accesses += recorded.accesses.count();
    renumber(*table, recorded);
  }
  sizes[0] = static_cast<int64_t>(table->rows);
  sizes[1] = static_cast<int64_t>(table->names.size());
  sizes[2] = static_cast<int64_t>(table->names.bytes().size());
  sizes[3] = static_cast<int64_t>(table->calls.size());
  sizes[4] = static_cast<int64_t>(table->calls.bytes().size() / sizeof(int64_t));
  sizes[5] = static_cast<int64_t>(table->allocations);
  sizes[6] = static_cast<int64_t>(table->delays);
  sizes[7] = static_cast<int64_t>(table->accesses);
  sizes[8] = static_cast<int64_t>(table->frames);
  sizes[9] = static_cast<int64_t>(table->stacks.pairs().size() / 2);
  handover = std::move(table);
}

inline void copy(const Interned& interned, void* bytes, int64_t* ends) {
  std::memcpy(bytes, interned.bytes().data(), interned.bytes().size());
  std::copy(interned.ends().begin(), interned.ends().end(), ends);
}

// Fills what stop_recording() counted, ends of names and of calls in bytes, and forgets it.
inline void read_recording(
    Row* rows, char* names, int64_t* name_ends, int64_t* calls, int64_t* call_ends, Allocated* allocations,
    Delayed* delays, Accessed* accesses, Frame* frames, int32_t* stacks) {
  std::unique_ptr<Table> table;
  {
    std::lock_guard<std::mutex> all(recorder->mutex);
    table = std::move(handover);
  }
  if (!table) return;
  copy(table->names, names, name_ends);
  copy(table->calls, calls, call_ends);
  std::copy(table->stacks.pairs().begin(), table->stacks.pairs().end(), stacks);
  for (size_t i = 0; i < table->threads.size(); ++i) {
    auto* end = table->threads[i].rows.drain(rows);
    close_open(rows, end, table->end);
    const auto& called = table->frames_of[i];
    frames = std::copy(called.begin(), called.end(), frames);
    for (; rows != end; ++rows) {
      const bool has_frame = rows->frame >= 0 && static_cast<size_t>(rows->frame) < called.size();
      rows->frame = has_frame ? called[static_cast<size_t>(rows->frame)].stack : -1;
      rows->start = table->clock(static_cast<c10::approx_time_t>(rows->start));
      rows->end = table->clock(static_cast<c10::approx_time_t>(rows->end));
      if (rows->sequence < 0) rows->forward_thread = 0;  // as Kineto
      if (rows->call < 0) {
        rows->name = table->name_of[i][static_cast<size_t>(rows->name)];
      } else {
        rows->name = table->name_of_call[i][static_cast<size_t>(rows->call)];
        rows->call = table->call_of[i][static_cast<size_t>(rows->call)];
      }
    }
    auto* last = table->threads[i].allocations.drain(allocations);
    for (; allocations != last; ++allocations)
      allocations->time = table->clock(static_cast<c10::approx_time_t>(allocations->time));
    auto* latest = table->threads[i].delays.drain(delays);
    for (; delays != latest; ++delays) delays->time = table->clock(static_cast<c10::approx_time_t>(delays->time));
    auto* newest = table->threads[i].accesses.drain(accesses);
    for (; accesses != newest; ++accesses)
      accesses->time = table->clock(static_cast<c10::approx_time_t>(accesses->time));
  }
}

}  // namespace npu
