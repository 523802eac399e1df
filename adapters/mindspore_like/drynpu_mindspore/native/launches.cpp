// What MindSpore launches, with all inputs and outputs, seen from inside each launch.
//
// Two virtual functions of MindSpore launch kernels of the CPU: one kernels of graphs, one all others. The
// functions here stand in their places and call them. No header of MindSpore is needed: its functions come by address from
// capture/_hook.py.
#include <atomic>
#include <cstdint>
#include <cstring>
#include <ctime>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>


namespace {

// `TypeId` of MindSpore (mindapi/base/type_id.h).
constexpr int32_t TEXT = 12, TENSOR = 17, FIRST_WHOLE = 30, LAST_WHOLE = 40;
// Values that are longer are left out: nothing that a kernel's work depends on is.
constexpr size_t LONGEST_VALUE = 1024;
// Places in the frame of the launch (pyboost_utils.cc): what MindSpore's function captures by reference, in this order.
constexpr size_t NAME = 0, CONTEXT = 1, INPUTS = 4, OUTPUTS = 6;

using Tensors = std::vector<void*>;
using Timed = void (*)(void*, const std::string*, const void*, const void*, void**);
using Launch = bool (*)(void*, void* const*, const Tensors*, const Tensors*, const Tensors*, void*, void*);

// Filled by Python; the same order as `_FUNCTIONS` there.
struct Functions {
  Timed timed;
  Launch launch;
  std::string (*full_name)(void* node);
  const std::shared_ptr<void>& (*device_address)(const void* tensor);
  std::shared_ptr<void> (*type)(const void* tensor);
  const void* (*value)(void* tensor);
  int32_t (*type_id)(const void* address);
  const std::vector<int64_t>& (*shape)(const void* address);
  const void* (*pointer)(const void* address);
  size_t (*size_bytes)(const void* address);
  size_t object_type;  // place of `Type::object_type` in its table of virtual functions
};

struct Row {
  int64_t begin_ns, end_ns, call;
};

struct Recorded {
  std::vector<Row> rows;
  std::unordered_map<std::string, int64_t> numbers;
  std::string calls;  // each behind its length
};

Functions functions;
std::atomic<bool> recording{false};
std::mutex guard;  // launches may come from several threads
std::unique_ptr<Recorded> recorded;

int64_t now_ns() {
  timespec time{};
  clock_gettime(CLOCK_REALTIME, &time);
  return int64_t{time.tv_sec} * 1000000000 + time.tv_nsec;
}

template <typename T>
void append(std::string& text, const T& value) {
  text.append(reinterpret_cast<const char*>(&value), sizeof(value));
}

int32_t kind_of(const void* tensor) {
  const auto type = functions.type(tensor);
  if (!type) return TENSOR;  // results, and inputs of operators that other operators call
  using ObjectType = int32_t (*)(const void*);
  return (*reinterpret_cast<ObjectType* const*>(type.get()))[functions.object_type](type.get());
}

// Numbers with a fraction are left out: no kernel's work depends on them, and a learning rate has many.
bool has_value(int32_t kind, int32_t type) {
  return kind == TEXT || (kind != TENSOR && type >= FIRST_WHOLE && type <= LAST_WHOLE);
}

void describe(std::string& text, void* tensor) {
  const auto* address = functions.device_address(tensor).get();
  const int32_t kind = kind_of(tensor), type = functions.type_id(address);
  const auto& shape = functions.shape(address);
  append(text, kind);
  append(text, type);
  append(text, static_cast<int32_t>(shape.size()));
  for (const auto dim : shape) append(text, dim);
  const void* value = nullptr;
  const auto size = has_value(kind, type) ? functions.size_bytes(address) : 0;
  if (size && size <= LONGEST_VALUE) {
    value = functions.pointer(address);
    if (!value) value = functions.value(tensor);
  }
  append(text, value ? static_cast<int32_t>(size) : int32_t{-1});
  if (value) text.append(static_cast<const char*>(value), size);
}

void describe(std::string& text, const Tensors& tensors) {
  append(text, static_cast<int32_t>(tensors.size()));
  for (auto* tensor : tensors) describe(text, tensor);
}

// The frame of a launch; nothing if it differs from MindSpore 2.7's, which its first two references show.
// N2, docs/tricks.md
void* const* frame_of(const std::string* name, const void* context, void** function) {
  auto* const* frame = static_cast<void* const*>(*function);
  const bool fits = frame && frame[NAME] == name && *static_cast<const void* const*>(frame[CONTEXT]) == context;
  return fits ? frame : nullptr;
}

// One launch, as it is given its inputs and results. Results whose size depends on values are as long as they can be.
class Seen {
 public:
  Seen(const std::string& name, const Tensors& inputs, const Tensors& outputs) {
    try {
      append(call_, static_cast<int32_t>(name.size()));
      call_ += name;
      describe(call_, inputs);
      describe(call_, outputs);
    } catch (...) {  // a launch that cannot be described is computed all the same
      call_.clear();
    }
    begin_ns_ = now_ns();
  }

  void end() const {
    const auto end_ns = now_ns();
    const std::lock_guard<std::mutex> lock(guard);
    if (call_.empty() || !recorded) return;
    const auto found = recorded->numbers.emplace(call_, static_cast<int64_t>(recorded->numbers.size()));
    if (found.second) {
      append(recorded->calls, static_cast<int64_t>(call_.size()));
      recorded->calls += call_;
    }
    recorded->rows.push_back({begin_ns_, end_ns, found.first->second});
  }

 private:
  std::string call_;
  int64_t begin_ns_ = 0;
};

}  // namespace

#pragma GCC visibility push(default)
extern "C" {

void drynpu_prepare(const Functions* found) { functions = *found; }

void drynpu_timed(void* self, const std::string* name, const void* context, const void* shapes, void** function) {
  auto* const* frame = recording ? frame_of(name, context, function) : nullptr;
  if (!frame) return functions.timed(self, name, context, shapes, function);
  const Seen seen(*name, *static_cast<const Tensors*>(frame[INPUTS]), *static_cast<const Tensors*>(frame[OUTPUTS]));
  functions.timed(self, name, context, shapes, function);
  seen.end();
}

bool drynpu_launch(void* self, void* const* node, const Tensors* inputs, const Tensors* workspace,
                   const Tensors* outputs, void* kernel, void* stream) {
  if (!recording || !*node) return functions.launch(self, node, inputs, workspace, outputs, kernel, stream);
  const Seen seen(functions.full_name(*node), *inputs, *outputs);
  const bool done = functions.launch(self, node, inputs, workspace, outputs, kernel, stream);
  seen.end();
  return done;
}

// Begin a recording; return what the one before held, to be given to `drynpu_drop`.
Recorded* drynpu_record(bool on) {
  auto next = on ? std::make_unique<Recorded>() : nullptr;
  const std::lock_guard<std::mutex> lock(guard);
  next.swap(recorded);
  recording = on;
  return next.release();
}

const Row* drynpu_rows(const Recorded* part, size_t* count) {
  *count = part->rows.size();
  return part->rows.data();
}

const char* drynpu_calls(const Recorded* part, size_t* size_bytes) {
  *size_bytes = part->calls.size();
  return part->calls.data();
}

void drynpu_drop(Recorded* part) { delete part; }

}  // extern "C"
#pragma GCC visibility pop
