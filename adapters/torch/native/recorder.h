// The recorder: an observer of PyTorch's operators that keeps a row for each, in a buffer of the thread that ran it.
#pragma once

#include <algorithm>
#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include <ATen/record_function.h>
#include <c10/util/ApproximateClock.h>

#include "arguments.h"
#include "calls.h"
#include "delays.h"
#include "interned.h"

namespace npu {

// The layout is that of ROW in drynpu_torch/device/_recorded.py. Times are ticks of the processor until the rows are
// taken, Unix ns then; an end of 0 is one that has not come.
struct Row {
  int64_t start, end, sequence;
  uint32_t forward_thread, thread;
  int32_t name, call;
  uint8_t scope, on_device;
};

// The layout is that of ALLOCATION there. What is released has fewer than 0 bytes.
struct Allocated {
  int64_t time;
  uint64_t address;
  int64_t bytes;
  uint32_t thread;
};

// The layout is that of ACCESS there: an operator reads or writes so many bytes of a block of the device's memory.
struct Accessed {
  int64_t time, block, offset, bytes, block_bytes;
  uint32_t thread;
  uint8_t written;
};

// The layout is that of DELAY there. The thread waited so long for a processor since it looked the last time.
struct Delayed {
  int64_t time, waited_ns;
};

// Rows in blocks, which stay where they are: operators that are open write their end into them.
template <typename T>
class Rows {
 public:
  T& add() {
    if (blocks_.empty() || blocks_.back().used == blocks_.back().length) {
      const size_t length = blocks_.empty() ? FIRST : std::min(blocks_.back().length * 2, MOST);
      blocks_.push_back({std::make_unique_for_overwrite<T[]>(length), length, 0});
    }
    ++count_;
    auto& block = blocks_.back();
    return block.rows[block.used++];
  }

  size_t count() const { return count_; }

  // Moves all rows to *out*.
  T* drain(T* out) {
    for (auto& block : blocks_) {
      out = std::copy_n(block.rows.get(), block.used, out);
      block.rows.reset();
    }
    blocks_.clear();
    count_ = 0;
    return out;
  }

 private:
  static constexpr size_t FIRST = 32, MOST = 4096;
  struct Block {
    std::unique_ptr<T[]> rows;
    size_t length, used;
  };
  std::vector<Block> blocks_;
  size_t count_ = 0;
};

struct Recorded {
  Rows<Row> rows;
  Rows<Allocated> allocations;
  Rows<Delayed> delays;
  Rows<Accessed> accesses;
  Names names;
  Interned calls;  // a call is the number of its name and the words of its arguments
};

// A lock that only its own thread takes until a recording ends, which asks for it once. It is taken three times for each
// operator, so a std::mutex, which can wait without a processor, costs more than it is worth here.
class BriefLock {
 public:
  void lock() {
    while (held_.exchange(true, std::memory_order_acquire)) std::this_thread::yield();
  }
  void unlock() { held_.store(false, std::memory_order_release); }

 private:
  std::atomic<bool> held_{false};
};

// Never freed, for an operator may end after its thread; the next thread without one takes it over.
struct Buffer {
  BriefLock mutex;
  Recorded recorded;
  uint64_t period = 0;  // another after each time that rows were taken: pointers to earlier rows are of no use then
  uint32_t thread = 0;
  Row* last = nullptr;  // what began last, and its name where PyTorch keeps it
  const char* last_name = nullptr;
  std::atomic<bool> has_thread{true};
};

struct Recorder {
  std::mutex mutex;  // of what follows; taken before that of a buffer
  std::vector<Buffer*> buffers;
  std::unique_ptr<c10::ApproximateClockToUnixTimeConverter> clock;
};

inline std::atomic<bool> recording{false}, recording_memory{false};
inline std::atomic<int64_t> recordings{0};  // begun so far
inline Recorder* recorder = new Recorder();
inline at::CallbackHandle observer = at::INVALID_CALLBACK_HANDLE;

// The buffer of a thread as long as that lives. Both have no destructor, so that a thread may look at them to its end.
inline thread_local Buffer* buffer_here = nullptr;
inline thread_local bool thread_ends = false;

// Room of operators that have ended in this thread, for those that begin: no operator allocates while it is recorded.
inline thread_local void* open_rooms = nullptr;
inline thread_local size_t open_room_count = 0;
constexpr size_t MOST_OPEN_ROOMS = 64;

struct Open final : at::ObserverContext {
  Open(Buffer& buffer, Row& row) : buffer(buffer), row(row), period(buffer.period) {}

  static void* operator new(size_t size) {
    if (!open_rooms) return ::operator new(size);
    --open_room_count;
    return std::exchange(open_rooms, *static_cast<void**>(open_rooms));
  }

  static void operator delete(void* room) {
    // A thread without a buffer has no end that would free them.
    if (!buffer_here || open_room_count == MOST_OPEN_ROOMS) return ::operator delete(room);
    ++open_room_count;
    *static_cast<void**>(room) = std::exchange(open_rooms, room);
  }

  Buffer& buffer;
  Row& row;
  uint64_t period;
  int64_t start = 0;  // as in the row, which is of no use in another period
};

inline void free_open_rooms() {
  while (open_rooms) ::operator delete(std::exchange(open_rooms, *static_cast<void**>(open_rooms)));
  open_room_count = 0;
}

struct ThreadEnd {
  ~ThreadEnd() {
    thread_ends = true;
    if (buffer_here) buffer_here->has_thread = false;
    buffer_here = nullptr;
    forget_delays();
    free_open_rooms();
  }
};

// The threads of the parent, which may hold locks, are not in the child: it records nothing until it is asked to.
inline void forget_parent() {
  recording = recording_memory = false;
  recorder = new Recorder();
  buffer_here = nullptr;
  forget_delays();
  forget_threads();
}

inline Buffer* new_buffer() {
  static const int registered [[maybe_unused]] = pthread_atfork(nullptr, nullptr, &forget_parent);
  static thread_local ThreadEnd end;
  (void)end;
  if (thread_ends) return nullptr;
  std::lock_guard<std::mutex> all(recorder->mutex);
  for (auto* buffer : recorder->buffers) {
    if (buffer->has_thread) continue;
    std::lock_guard lock(buffer->mutex);
    if (buffer->recorded.rows.count() || buffer->recorded.allocations.count()) continue;  // of the thread before, not taken yet
    buffer->has_thread = true;
    buffer->thread = static_cast<uint32_t>(thread_id());
    return buffer_here = buffer;
  }
  auto* buffer = new Buffer();
  buffer->thread = static_cast<uint32_t>(thread_id());
  recorder->buffers.push_back(buffer);
  return buffer_here = buffer;
}

// Fewer ticks, of 0.25 to 1 ns each, are less than LEAST_DELAY_NS: operators that short have not waited for so long.
constexpr int64_t LEAST_DELAY_TICKS = 200'000;
constexpr std::string_view NODE_CALL = "autograd::engine::evaluate_function: ";

inline std::unique_ptr<at::ObserverContext> on_begin(const at::RecordFunction& fn) {
  if (!recording.load(std::memory_order_relaxed)) return nullptr;
  // What Python answers for tensors of its own needs Python's lock, so it is asked before any lock is taken.
  Words words;
  words.push_back(0);
  const auto scope = fn.scope();
  if (scope != at::RecordScope::USER_SCOPE)
    for (const auto& value : fn.inputs()) add_argument(words, value);
  auto* buffer = buffer_here ? buffer_here : new_buffer();
  if (!buffer) return nullptr;
  std::lock_guard lock(buffer->mutex);
  if (!recording.load(std::memory_order_relaxed)) return nullptr;  // stopped meanwhile, and the rows are taken
  auto& [rows, allocations, delays, accesses, names, calls] = buffer->recorded;
  const char* name = fn.name();
  const int32_t number = names.number_at(name);
  words[0] = number;
  Row* before = buffer->last;
  auto& row = rows.add();
  row.sequence = fn.seqNr();
  row.forward_thread = static_cast<uint32_t>(fn.forwardThreadId());
  row.thread = buffer->thread;
  row.name = number;
  row.call = scope == at::RecordScope::USER_SCOPE
      ? -1
      : calls.number({reinterpret_cast<const char*>(words.data()), words.size() * sizeof(int64_t)});
  row.scope = static_cast<uint8_t>(scope);
  row.on_device = 0;
  row.end = 0;
  // As Kineto: what calls a node of the backward pass says the same of the forward pass as the node.
  if (scope == at::RecordScope::BACKWARD_FUNCTION && before &&
      before->scope == static_cast<uint8_t>(at::RecordScope::FUNCTION) && names[before->name].starts_with(NODE_CALL)) {
    before->sequence = row.sequence;
    before->forward_thread = row.forward_thread;
  }
  buffer->last = &row;
  buffer->last_name = name;
  auto open = std::make_unique<Open>(*buffer, row);
  row.start = open->start = static_cast<int64_t>(c10::getApproximateTime());
  const int64_t waited_ns = new_delay(recordings.load(std::memory_order_relaxed), row.start);
  if (C10_UNLIKELY(waited_ns != 0)) delays.add() = {row.start, waited_ns};
  return open;
}

inline void on_end(const at::RecordFunction&, at::ObserverContext* context) {
  const auto now = static_cast<int64_t>(c10::getApproximateTime());
  if (!context) return;
  auto& open = *static_cast<Open*>(context);
  const bool may_have_waited = now - open.start > LEAST_DELAY_TICKS && buffer_here == &open.buffer;
  const int64_t waited_ns = may_have_waited ? new_delay(recordings.load(std::memory_order_relaxed), now) : 0;
  std::lock_guard lock(open.buffer.mutex);
  if (open.period != open.buffer.period) return;
  open.row.end = now;
  if (waited_ns) open.buffer.recorded.delays.add() = {now, waited_ns};
}

// Notes that the operator that began last in this thread runs on the device. Returns false where that was another one.
inline bool mark_last(const char* name) {
  auto* buffer = buffer_here;
  if (!buffer) return false;
  std::lock_guard lock(buffer->mutex);
  if (!buffer->last || buffer->last_name != name) return false;
  buffer->last->on_device = 1;
  return true;
}

// Notes that this thread allocates or, with fewer than 0 bytes, releases memory of the device.
inline void note_allocation(const void* address, int64_t bytes) {
  auto* buffer = buffer_here ? buffer_here : new_buffer();
  if (!buffer) return;
  std::lock_guard lock(buffer->mutex);
  if (!recording_memory.load(std::memory_order_relaxed)) return;
  const auto now = static_cast<int64_t>(c10::getApproximateTime());
  buffer->recorded.allocations.add() = {now, reinterpret_cast<uint64_t>(address), bytes, buffer->thread};
}

// Smaller tensors take no time worth counting, from L2 or from memory.
constexpr int64_t LEAST_ACCESS_BYTES = 64 * 1024;

inline void note_access(int64_t block, int64_t offset, int64_t bytes, int64_t block_bytes, bool written) {
  auto* buffer = buffer_here;
  if (!buffer) return;
  std::lock_guard lock(buffer->mutex);
  if (!recording.load(std::memory_order_relaxed)) return;
  const auto now = static_cast<int64_t>(c10::getApproximateTime());
  buffer->recorded.accesses.add() = {now, block, offset, bytes, block_bytes, buffer->thread, written};
}

// Returns false where a recording runs already.
inline bool start_recording(bool with_memory) {
  std::lock_guard<std::mutex> all(recorder->mutex);
  if (recording) return false;
  if (observer != at::INVALID_CALLBACK_HANDLE) at::removeCallback(observer);  // that of the process that forked this one
  recorder->clock = std::make_unique<c10::ApproximateClockToUnixTimeConverter>();
  note_first_delays();
  ++recordings;
  recording = true;
  recording_memory = with_memory;
  observer = at::addGlobalCallback(at::RecordFunctionCallback(&on_begin, &on_end).needsInputs(true));
  return true;
}

// Ends that have not come: that of what the operator lies inside, as Kineto has it, else *now*.
inline void close_open(Row* begin, Row* end, int64_t now) {
  if (std::all_of(begin, end, [](const Row& row) { return row.end != 0; })) return;
  std::vector<int64_t> outer;  // the ends of what each row lies inside
  for (auto* row = begin; row != end; ++row) {
    while (!outer.empty() && outer.back() <= row->start) outer.pop_back();
    if (row->end) outer.push_back(row->end);
    else row->end = outer.empty() ? now : outer.back();
  }
}

}  // namespace npu
