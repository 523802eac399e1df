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

#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/record_function.h>
#include <c10/util/ApproximateClock.h>

#include "arguments.h"
#include "calls.h"
#include "delays.h"
#include "interned.h"

namespace npu {

// The same layout as ROW in drynpu_torch/device/_recorded.py. Times are ticks of the processor until the rows are
// taken, Unix ns then; an end of 0 is one that has not come. Until then the name is the call's, where there is one.
struct Row {
  int64_t start, end, sequence;
  uint32_t forward_thread, thread;
  int32_t name, call;
  int32_t frame;  // the innermost frame of Python that it runs in, -1 for none; its stack when the rows are taken
  uint8_t scope, on_device;
};

// A call of a function that Python told of, with the row of the frame that it was called from, -1 for none.
struct FrameRow {
  int64_t start, end;
  int32_t name, outer;
};

// A call that has not returned. Its row is missing where it is drynpu's or works for that.
struct OpenCall {
  void* frame = nullptr;
  FrameRow* row = nullptr;
  int32_t innermost = -1;  // the innermost frame with a row
  bool is_c = false, is_hidden = false;
};

// The same layout as ALLOCATION there. What is released has fewer than 0 bytes.
struct Allocated {
  int64_t time;
  uint64_t address;
  int64_t bytes;
  uint32_t thread;
};

// The same layout as ACCESS there: an operator reads or writes so many bytes of a block of the device's memory.
struct Accessed {
  int64_t time, block, offset, bytes, block_bytes;
  uint32_t thread;
  uint8_t written;
};

// The same layout as DELAY there. The thread waited so long for a processor since it looked the last time.
struct Delayed {
  int64_t time, waited_ns;
};

// Rows in blocks, which stay where they are: operators that are open write their end into them.
template <typename T>
class Rows {
 public:
  T& add() {
    if (C10_UNLIKELY(next_ == end_)) grow();
    return *next_++;
  }

  size_t count() const {
    size_t found = 0;
    for (const auto& block : blocks_) found += block.length;
    return found - static_cast<size_t>(end_ - next_);
  }

  // Moves all rows to *out*.
  T* drain(T* out) {
    for (auto& block : blocks_) {
      T* last = &block == &blocks_.back() ? next_ : block.rows.get() + block.length;
      out = std::copy(block.rows.get(), last, out);
      block.rows.reset();
    }
    blocks_.clear();
    next_ = end_ = nullptr;
    return out;
  }

 private:
  static constexpr size_t FIRST = 32, MOST = 4096;
  struct Block {
    std::unique_ptr<T[]> rows;
    size_t length;
  };

  C10_NOINLINE void grow() {
    const size_t length = blocks_.empty() ? FIRST : std::min(blocks_.back().length * 2, MOST);
    blocks_.push_back({std::make_unique_for_overwrite<T[]>(length), length});
    next_ = blocks_.back().rows.get();
    end_ = next_ + length;
  }

  T *next_ = nullptr, *end_ = nullptr;
  std::vector<Block> blocks_;
};

struct Recorded {
  // A call is the number of its name and the words of its arguments; a key may have the place of the name instead.
  Calls calls;
  Rows<Row> rows;
  Rows<Allocated> allocations;
  Rows<Delayed> delays;
  Rows<Accessed> accesses;
  Rows<FrameRow> frames;
  int32_t frame_count = 0;
  bool has_script = false;  // whether a frame is neither Python's own nor drynpu's
  Interned names;
  std::vector<bool> has_place;  // of each call, whether its name may belong to an operator that PyTorch knows
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

// Never freed, for an operator may end after its thread; the next thread without one takes it over. What each operator
// reads and writes stands together.
struct alignas(64) Buffer {
  BriefLock mutex;
  std::atomic<bool> has_thread{true};
  bool last_calls_node = false;  // whether what began last calls a node of the backward pass
  uint32_t thread = 0;
  uint64_t period = 0;  // another after each time that rows were taken: pointers to earlier rows are of no use then
  Row* last = nullptr;  // what began last, and its name where PyTorch keeps it
  const char* last_name = nullptr;
  int32_t innermost_frame = -1;
  uint64_t calls_period = ~uint64_t{0};  // the period that the open calls are of
  std::vector<OpenCall> open_calls;
  Recorded recorded;

  void forget_calls() {
    open_calls.clear();
    innermost_frame = -1;
    calls_period = ~uint64_t{0};
  }

  bool is_empty() const {
    return !recorded.rows.count() && !recorded.allocations.count() && !recorded.frame_count;
  }
};

struct Recorder {
  std::mutex mutex;  // of what follows; taken before a buffer's
  std::vector<Buffer*> buffers;
  std::unique_ptr<c10::ApproximateClockToUnixTimeConverter> clock;
};

inline std::atomic<bool> recording{false}, recording_memory{false}, recording_frames{false};
inline std::atomic<int64_t> recordings{0};  // begun so far
inline Recorder* recorder = new Recorder();
inline at::CallbackHandle observer = at::INVALID_CALLBACK_HANDLE;

// What a thread has here as long as it lives, in one variable, for each takes a call to find. It has no destructor, so that
// a thread may look at it to its end.
struct ThisThread {
  Buffer* buffer = nullptr;
  int64_t followed = 0;  // the recording that last had Python tell of its frames
  // Room of operators that have ended, for those that begin: no operator allocates while it is recorded.
  void* open_rooms = nullptr;
  size_t open_room_count = 0;
  bool ends = false;
  bool is_drynpus = false;  // it writes what was recorded
};
inline thread_local constinit ThisThread this_thread;
constexpr size_t MOST_OPEN_ROOMS = 64;

struct Open final : at::ObserverContext {
  Open(Buffer& buffer, Row& row) : buffer(buffer), row(row), period(buffer.period) {}

  static void* operator new(size_t size) {
    auto& here = this_thread;
    if (C10_UNLIKELY(!here.open_rooms)) return ::operator new(size);
    --here.open_room_count;
    return std::exchange(here.open_rooms, *static_cast<void**>(here.open_rooms));
  }

  static void operator delete(void* room) {
    // A thread without a buffer has no end that would free them.
    auto& here = this_thread;
    if (C10_UNLIKELY(!here.buffer || here.open_room_count == MOST_OPEN_ROOMS)) return ::operator delete(room);
    ++here.open_room_count;
    *static_cast<void**>(room) = std::exchange(here.open_rooms, room);
  }

  Buffer& buffer;
  Row& row;
  uint64_t period;
};

inline void free_open_rooms() {
  auto& rooms = this_thread.open_rooms;
  while (rooms) ::operator delete(std::exchange(rooms, *static_cast<void**>(rooms)));
  this_thread.open_room_count = 0;
}

struct ThreadEnd {
  ~ThreadEnd() {
    auto& here = this_thread;
    here.ends = true;
    if (here.buffer) here.buffer->has_thread = false;
    here.buffer = nullptr;
    forget_delays();
    free_open_rooms();
  }
};

// The threads of the parent, which may hold locks, are not in the child: it records nothing until it is asked to.
inline void forget_parent() {
  recording = recording_memory = recording_frames = false;
  recorder = new Recorder();
  this_thread.buffer = nullptr;
  forget_delays();
  forget_threads();
}

inline Buffer* new_buffer() {
  static const int registered [[maybe_unused]] = pthread_atfork(nullptr, nullptr, &forget_parent);
  static thread_local ThreadEnd end;
  (void)end;
  if (this_thread.ends) return nullptr;
  std::lock_guard<std::mutex> all(recorder->mutex);
  for (auto* buffer : recorder->buffers) {
    if (buffer->has_thread) continue;
    std::lock_guard lock(buffer->mutex);
    if (!buffer->is_empty()) continue;  // of the thread before, not taken yet
    buffer->has_thread = true;
    buffer->forget_calls();
    buffer->thread = static_cast<uint32_t>(thread_id());
    return this_thread.buffer = buffer;
  }
  auto* buffer = new Buffer();
  buffer->thread = static_cast<uint32_t>(thread_id());
  recorder->buffers.push_back(buffer);
  return this_thread.buffer = buffer;
}

inline Buffer* buffer_of_this_thread() {
  auto* buffer = this_thread.buffer;
  return C10_LIKELY(buffer != nullptr) ? buffer : new_buffer();
}

constexpr std::string_view NODE_CALL = "autograd::engine::evaluate_function: ";

// Returns how long this thread waited for a processor since it last looked: an operator begins or ends. It never looks for
// what ends in another thread.
inline int64_t delay_at_event(Buffer& buffer, int64_t now) {
  if (this_thread.buffer != &buffer) return 0;
  const int64_t recording_number = recordings.load(std::memory_order_relaxed);
  if (C10_LIKELY(!delay_is_due(recording_number, now))) return 0;
  return new_delay(recording_number, now);
}

// Counts operators that PyTorch forgets, whose names may be followed by others at the same place.
inline std::atomic<uint64_t> forgotten_operators{0};

struct ForgottenOperators final : c10::OpRegistrationListener {
  void onOperatorRegistered(const c10::OperatorHandle&) override {}
  void onOperatorDeregistered(const c10::OperatorHandle&) override { ++forgotten_operators; }
};

// Whether the place of a name belongs to an operator that PyTorch knows: no other name is there then.
inline bool is_operators_name(const at::RecordFunction& fn, const char* name) {
  static auto* listener [[maybe_unused]] = new c10::RegistrationHandleRAII(
      c10::Dispatcher::singleton().addRegistrationListener(std::make_unique<ForgottenOperators>()));
  const auto known_as = fn.operator_name();
  if (!known_as) return false;
  const auto found = c10::Dispatcher::singleton().findSchema(*known_as);
  return found && found->schema().name().c_str() == name;
}

// A word for the place of a name, which is no number of a name. Names are read where it is not known, as that takes long:
// they are out of the processor's caches.
// N21, docs/tricks.md
inline int64_t word_of_place(const char* name) {
  const auto place = reinterpret_cast<uint64_t>(name) + (forgotten_operators.load(std::memory_order_relaxed) << 48);
  return static_cast<int64_t>(place | uint64_t{1} << 63);
}

// Numbers a call by the text of its name. Its first word, which was the place of the name, becomes the number of that if it
// is new. *place* is its key by the place.
C10_NOINLINE inline int32_t call_by_text(
    Recorded& recorded, const at::RecordFunction& fn, std::string_view name, Words& words, const Fingerprint& place) {
  Words text;
  text.push_back(0);
  text.add_text(name);
  std::copy_n(words.data() + 1, words.size() - 1, text.room(words.size() - 1));
  const auto key = fingerprint_of(text.bytes());
  int32_t number = recorded.calls.find(key);
  if (C10_UNLIKELY(number < 0)) {
    words.data()[0] = recorded.names.number(name);
    number = recorded.calls.add(key, words.bytes());
    recorded.has_place.push_back(true);
  }
  if (recorded.has_place[static_cast<size_t>(number)]) {
    if (is_operators_name(fn, name.data())) recorded.calls.add_key(place, number);
    else recorded.has_place[static_cast<size_t>(number)] = false;
  }
  return number;
}

void follow_engine_thread();

inline std::unique_ptr<at::ObserverContext> on_begin(const at::RecordFunction& fn) {
  if (!recording.load(std::memory_order_relaxed)) return nullptr;
  const char* name = fn.name();
  const auto scope = fn.scope();
  if (C10_UNLIKELY(recording_frames.load(std::memory_order_relaxed)) && scope == at::RecordScope::FUNCTION &&
      this_thread.followed != recordings.load(std::memory_order_relaxed) && std::string_view(name).starts_with(NODE_CALL))
    follow_engine_thread();
  const bool has_call = scope != at::RecordScope::USER_SCOPE;
  // What Python answers for tensors of its own needs Python's lock, so it is asked before any lock is taken.
  Words words;
  words.push_back(word_of_place(name));
  if (has_call)
    for (const auto& value : fn.inputs()) add_argument(words, value);
  const auto key = fingerprint_of(words.bytes());
  auto* buffer = buffer_of_this_thread();
  if (!buffer) return nullptr;
  std::lock_guard lock(buffer->mutex);
  if (!recording.load(std::memory_order_relaxed)) return nullptr;  // stopped meanwhile, and the rows are taken
  auto& recorded = buffer->recorded;
  Row* before = buffer->last;
  auto& row = recorded.rows.add();
  row.sequence = fn.seqNr();
  row.forward_thread = static_cast<uint32_t>(fn.forwardThreadId());
  row.thread = buffer->thread;
  row.name = has_call ? -1 : recorded.names.number(name);
  // Nodes of the backward pass are no operators.
  row.call = has_call && scope != at::RecordScope::BACKWARD_FUNCTION ? recorded.calls.find(key) : -1;
  bool calls_node = false;
  if (C10_UNLIKELY(row.call < 0) && has_call) {
    const std::string_view text(name);
    row.call = call_by_text(recorded, fn, text, words, key);
    calls_node = scope == at::RecordScope::FUNCTION && text.starts_with(NODE_CALL);
  }
  row.scope = static_cast<uint8_t>(scope);
  row.frame = buffer->innermost_frame;
  row.on_device = 0;
  row.end = 0;
  // As Kineto: what calls a node of the backward pass says the same of the forward pass as the node.
  if (scope == at::RecordScope::BACKWARD_FUNCTION && before && buffer->last_calls_node) {
    before->sequence = row.sequence;
    before->forward_thread = row.forward_thread;
  }
  buffer->last = &row;
  buffer->last_name = name;
  buffer->last_calls_node = calls_node;
  auto open = std::make_unique<Open>(*buffer, row);
  row.start = static_cast<int64_t>(c10::getApproximateTime());
  const int64_t waited_ns = delay_at_event(*buffer, row.start);
  if (C10_UNLIKELY(waited_ns != 0)) recorded.delays.add() = {row.start, waited_ns};
  return open;
}

inline void on_end(const at::RecordFunction&, at::ObserverContext* context) {
  const auto now = static_cast<int64_t>(c10::getApproximateTime());
  if (!context) return;
  auto& open = *static_cast<Open*>(context);
  std::lock_guard lock(open.buffer.mutex);
  if (open.period != open.buffer.period) return;
  open.row.end = now;
  const int64_t waited_ns = delay_at_event(open.buffer, now);
  if (C10_UNLIKELY(waited_ns != 0)) open.buffer.recorded.delays.add() = {now, waited_ns};
}

// Notes that the operator that began last in this thread runs on the device. Returns false where that was another one.
inline bool mark_last(const char* name) {
  auto* buffer = this_thread.buffer;
  if (!buffer) return false;
  std::lock_guard lock(buffer->mutex);
  if (!buffer->last || buffer->last_name != name) return false;
  buffer->last->on_device = 1;
  return true;
}

// Notes that this thread allocates or, with fewer than 0 bytes, releases memory of the device.
inline void note_allocation(const void* address, int64_t bytes) {
  auto* buffer = buffer_of_this_thread();
  if (!buffer) return;
  std::lock_guard lock(buffer->mutex);
  if (!recording_memory.load(std::memory_order_relaxed)) return;
  const auto now = static_cast<int64_t>(c10::getApproximateTime());
  buffer->recorded.allocations.add() = {now, reinterpret_cast<uint64_t>(address), bytes, buffer->thread};
}

// Smaller tensors take no time worth counting, from L2 or from memory.
constexpr int64_t LEAST_ACCESS_BYTES = 64 * 1024;

inline void note_access(int64_t block, int64_t offset, int64_t bytes, int64_t block_bytes, bool written) {
  auto* buffer = this_thread.buffer;
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
  if (observer != at::INVALID_CALLBACK_HANDLE) at::removeCallback(observer);  // of the process that forked this one
  recorder->clock = std::make_unique<c10::ApproximateClockToUnixTimeConverter>();
  note_first_delays();
  ++recordings;
  recording = true;
  recording_memory = with_memory;
  observer = at::addGlobalCallback(at::RecordFunctionCallback(&on_begin, &on_end).needsInputs(true));
  return true;
}

// Whether there is something in the recording that nobody has taken yet.
inline bool has_recorded() {
  {
    std::lock_guard<std::mutex> lock(calls_mutex);
    if (!noted_calls.empty()) return true;
  }
  std::lock_guard<std::mutex> all(recorder->mutex);
  return std::any_of(recorder->buffers.begin(), recorder->buffers.end(), [](Buffer* buffer) {
    std::lock_guard lock(buffer->mutex);
    return buffer->recorded.rows.count() != 0;
  });
}

// Ends that have not come: the end of what the operator lies inside, as Kineto has it, else *now*.
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
