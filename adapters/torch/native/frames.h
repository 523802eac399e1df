// Frames of Python: every call of a function, Python's and C's, on every thread, as rows beside the operators' rows.
#pragma once

#include <algorithm>
#include <atomic>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "python.h"
#include "recorder.h"

namespace npu {

// Whose a function is, by where its file lies. What drynpu calls of HELPERS is left out as it is itself.
enum class Owner : uint8_t { SCRIPT, DRYNPU, HELPER };

// What runs is known by an address and, beside it, by a line or a class. The table is Python's lock's to guard.
class FrameNames {
 public:
  struct Key {
    uint64_t address;
    uint32_t beside;
    bool operator==(const Key&) const = default;
  };

  FrameNames() : slots_(1024) {}

  // Returns the number of a name, less than 0 where it has none.
  int32_t find(const Key& key) const { return slots_[place(key)].number; }

  // *holder* is an object that the address belongs to, and is kept as long as the name.
  int32_t add(const Key& key, std::string text, Owner owner, PythonObject* holder = nullptr) {
    auto& slot = slots_[place(key)];
    if (slot.number >= 0) return slot.number;  // what made the text let another thread run
    const auto number = static_cast<int32_t>(owners_.size());
    slot = {key, number};
    owners_.push_back(owner);
    texts_ += text;
    ends_.push_back(static_cast<int64_t>(texts_.size()));
    if (holder) {
      python.Py_IncRef(holder);
      holders_.push_back(holder);
    }
    if (owners_.size() * 2 > slots_.size()) grow();
    return number;
  }

  Owner owner(int32_t number) const { return owners_[static_cast<size_t>(number)]; }
  const std::string& texts() const { return texts_; }
  const std::vector<int64_t>& ends() const { return ends_; }

  void forget() {
    auto holders = std::exchange(holders_, {});
    *this = FrameNames();
    for (auto* each : holders) python.Py_DecRef(each);
  }

 private:
  struct Slot {
    Key key{};
    int32_t number = -1;
  };

  size_t place(const Key& key) const {
    uint64_t at = (key.address ^ uint64_t{key.beside} << 32) * 0x9E3779B97F4A7C15ULL >> 20;
    for (;; ++at) {
      const auto& slot = slots_[at & (slots_.size() - 1)];
      if (slot.number < 0 || slot.key == key) return at & (slots_.size() - 1);
    }
  }

  void grow() {
    std::vector<Slot> before(slots_.size() * 2);
    slots_.swap(before);
    for (const auto& slot : before)
      if (slot.number >= 0) slots_[place(slot.key)] = slot;
  }

  std::vector<Slot> slots_;
  std::vector<Owner> owners_;
  std::string texts_;
  std::vector<int64_t> ends_;
  std::vector<PythonObject*> holders_;
};

// What a recording of frames knows. All is guarded by Python's lock but for what is atomic.
struct FrameSettings {
  FrameNames names;
  PythonObject* marker = nullptr;       // the argument of the profile function, by which Python shows it
  PythonObject* module_call = nullptr;  // the code by which modules are called
  std::vector<std::pair<std::string, Owner>> folders;
  void* newest_thread = nullptr;  // the state of the thread that began last
  // By the state of a thread what PyTorch's profiler has set there: it is called for each event, too.
  std::unordered_map<void*, ProfileCall> outer;
};
inline FrameSettings& frame_settings = *new FrameSettings();

inline Owner owner_of(std::string_view file) {
  for (const auto& [folder, owner] : frame_settings.folders)
    if (file.starts_with(folder)) return owner;
  if (!file.starts_with('<')) return Owner::SCRIPT;
  return file.find("drynpu") != file.npos ? Owner::DRYNPU : Owner::HELPER;  // methods that attrs made, frozen modules
}

// Texts are parted by zeros: of a function its file, line and name; of C its text alone; of a module a word, its class and
// the number of the object among all names.
inline std::string frame_text(std::string first, const std::string& second, const std::string& third) {
  first.append(1, '\0').append(second).append(1, '\0').append(third);
  return first;
}

// *line*: where the frame stands now, 0 for the function's first.
inline int32_t name_of_code(PythonObject* code, int line) {
  const FrameNames::Key key{reinterpret_cast<uint64_t>(code), static_cast<uint32_t>(line)};
  auto& names = frame_settings.names;
  if (const int32_t known = names.find(key); C10_LIKELY(known >= 0)) return known;
  python.Py_IncRef(code);
  const Reference held(code);
  const auto file = held.attribute("co_filename").text();
  const auto shown = line ? line : held.attribute("co_firstlineno").number();
  return names.add(key, frame_text(file, std::to_string(shown), held.attribute("co_name").text()), owner_of(file), code);
}

inline Reference self_of(PythonObject* frame) {
  const Reference locals(python.PyObject_GetAttrString(frame, "f_locals"));
  return Reference(locals ? python.PyMapping_GetItemString(locals.get(), "self") : nullptr);
}

inline int32_t name_of_module(PythonObject* module) {
  const Reference type(python.PyObject_Type(module));
  const auto address = reinterpret_cast<uint64_t>(module) | 1;
  const FrameNames::Key key{address, static_cast<uint32_t>(reinterpret_cast<uint64_t>(type.get()) >> 4)};
  auto& names = frame_settings.names;
  if (const int32_t known = names.find(key); C10_LIKELY(known >= 0)) return known;
  return names.add(key, frame_text("nn.Module", type.attribute("__name__").text(), std::to_string(address)), Owner::SCRIPT);
}

inline int32_t name_of_frame(PythonObject* frame, int line) {
  const Reference code(python.PyFrame_GetCode(frame));
  if (C10_UNLIKELY(code.get() == frame_settings.module_call))
    if (const auto self = self_of(frame)) return name_of_module(self.get());
  return name_of_code(code.get(), line);
}

// Functions of PyTorch are the script's, as is all that is not Python's own: drynpu calls the framework for the script.
inline Owner owner_of_function(PythonObject* function, std::string_view text) {
  if (text.find("drynpu") != text.npos) return Owner::DRYNPU;
  Dl_info place;
  void* code = python.PyCFunction_GetFunction(function);
  if (!code || !dladdr(code, &place) || !place.dli_fname) return Owner::HELPER;
  return std::string_view(place.dli_fname).find("/torch/lib/") != std::string_view::npos ? Owner::SCRIPT : Owner::HELPER;
}

inline int32_t name_of_function(PythonObject* function) {
  const FrameNames::Key key{reinterpret_cast<uint64_t>(definition_of(function)) | 2, 0};
  auto& names = frame_settings.names;
  if (const int32_t known = names.find(key); C10_LIKELY(known >= 0)) return known;
  const auto text = Reference(python.PyObject_Repr(function)).text();
  return names.add(key, text, owner_of_function(function, text));
}

inline void open_call(Buffer& buffer, PythonObject* frame, int32_t name, bool is_c, int64_t now) {
  const auto owner = frame_settings.names.owner(name);
  const OpenCall outer = buffer.open_calls.empty() ? OpenCall() : buffer.open_calls.back();
  auto& recorded = buffer.recorded;
  OpenCall call{frame, nullptr, outer.innermost, is_c, false};
  call.is_hidden = owner == Owner::DRYNPU || (outer.is_hidden && owner == Owner::HELPER);
  if (!call.is_hidden) {
    call.row = &recorded.frames.add();
    *call.row = {now, 0, name, outer.innermost};
    call.innermost = recorded.frame_count++;
    recorded.has_script |= owner == Owner::SCRIPT;
  }
  buffer.open_calls.push_back(call);
  buffer.innermost_frame = call.innermost;
}

// Closes the call that returns, and those inside it whose end was not told. One that was open before is not known.
inline void close_call(Buffer& buffer, PythonObject* frame, bool is_c, int64_t now) {
  auto& calls = buffer.open_calls;
  if (is_c && !calls.empty() && !calls.back().is_c) return;
  const auto last = std::find_if(
      calls.rbegin(), calls.rend(), [&](const OpenCall& call) { return call.frame == frame && call.is_c == is_c; });
  if (last == calls.rend()) return;
  const auto first = calls.end() - (last - calls.rbegin()) - 1;
  for (auto each = first; each != calls.end(); ++each)
    if (each->row) each->row->end = now;
  calls.erase(first, calls.end());
  buffer.innermost_frame = calls.empty() ? -1 : calls.back().innermost;
}

// Opens the calls that were open before the thread was followed: *frame* and those around it.
inline void open_stack(Buffer& buffer, PythonObject* frame, int64_t now) {
  std::vector<std::pair<PythonObject*, int32_t>> stack;
  if (frame) python.Py_IncRef(frame);
  for (Reference each(frame); each; each = Reference(python.PyFrame_GetBack(each.get())))
    stack.emplace_back(each.get(), name_of_frame(each.get(), python.PyFrame_GetLineNumber(each.get())));
  std::lock_guard lock(buffer.mutex);
  buffer.forget_calls();
  buffer.calls_period = buffer.period;
  if (!recording_frames.load(std::memory_order_relaxed)) return;
  for (auto each = stack.rbegin(); each != stack.rend(); ++each) open_call(buffer, each->first, each->second, false, now);
}

inline int on_python_event(PythonObject*, PythonObject* frame, int event, PythonObject* function) noexcept;

inline bool is_of_pytorch(PythonObject* object) {
  const Reference type(object ? python.PyObject_Type(object) : nullptr);
  return type.attribute("__name__").text() == "TraceContext";
}

// Follows the thread whose state is Python's present one, unless the script profiles it. Returns whether it is followed.
inline bool follow_present_thread() {
  PythonObject* question = python.PySys_GetObject("getprofile");
  const Reference present(question ? python.PyObject_CallNoArgs(question) : nullptr);
  auto* thread = python.PyThreadState_Get();
  if (present.get() == python.none) {
    frame_settings.outer.erase(thread);  // PyTorch's profiler has ended
  } else if (present.get() != frame_settings.marker) {
    const auto outer = is_of_pytorch(present.get()) ? profile_call_of(thread, present.get()) : ProfileCall();
    if (!outer.function) return false;
    frame_settings.outer[thread] = outer;
  }
  python.PyEval_SetProfile(&on_python_event, frame_settings.marker);
  return true;
}

inline void* newest_thread() {
  return python.PyInterpreterState_ThreadHead(python.PyThreadState_GetInterpreter(python.PyThreadState_Get()));
}

inline void follow_all_threads() {
  frame_settings.newest_thread = newest_thread();
  if (python.PyEval_SetProfileAllThreads) {
    // It replaces what the script has in any thread, so a script that profiles keeps its threads to itself.
    if (follow_present_thread()) python.PyEval_SetProfileAllThreads(&on_python_event, frame_settings.marker);
    return;
  }
  auto* here = python.PyThreadState_Get();
  std::vector<void*> threads;
  for (auto* each = frame_settings.newest_thread; each; each = python.PyThreadState_Next(each)) threads.push_back(each);
  for (auto* each : threads) {
    python.PyThreadState_Swap(each);
    follow_present_thread();
  }
  python.PyThreadState_Swap(here);
}

// Follows a thread of the autograd engine, which runs hooks of the script. Its tasks begin without Python's lock.
inline void follow_engine_thread() {
  this_thread.followed = recordings.load(std::memory_order_relaxed);
  const int state = python.PyGILState_Ensure();
  if (recording_frames.load(std::memory_order_relaxed)) follow_present_thread();
  python.PyGILState_Release(state);
}

inline void note_call(Buffer& buffer, PythonObject* frame, int event, PythonObject* function, int64_t begin) {
  const bool begins = event == CALLED || event == C_CALLED, is_c = event != CALLED && event != RETURNED;
  if (C10_UNLIKELY(buffer.calls_period != buffer.period)) {
    // The frame that is called is opened below, with those around it here.
    const Reference outer(event == CALLED ? python.PyFrame_GetBack(frame) : nullptr);
    open_stack(buffer, event == CALLED ? outer.get() : frame, begin);
  }
  const int32_t name = !begins ? -1 : is_c ? name_of_function(function) : name_of_frame(frame, 0);
  std::lock_guard lock(buffer.mutex);
  if (!recording_frames.load(std::memory_order_relaxed)) return;
  if (begins) open_call(buffer, frame, name, is_c, static_cast<int64_t>(c10::getApproximateTime()));
  else close_call(buffer, frame, is_c, begin);
}

inline int on_python_event(PythonObject*, PythonObject* frame, int event, PythonObject* function) noexcept {
  const auto begin = static_cast<int64_t>(c10::getApproximateTime());
  ProfileCall outer;
  if (C10_UNLIKELY(!frame_settings.outer.empty())) {
    const auto found = frame_settings.outer.find(python.PyThreadState_Get());
    if (found != frame_settings.outer.end()) outer = found->second;
    if (outer.function) outer.function(outer.object, frame, event, function);
  }
  if (event != CALLED && event != RETURNED && event != C_CALLED && event != C_RAISED && event != C_RETURNED) return 0;
  if (C10_UNLIKELY(this_thread.is_drynpus || !recording_frames.load(std::memory_order_relaxed))) {
    python.PyEval_SetProfile(outer.function, outer.object);
    return 0;
  }
  try {
    auto* buffer = buffer_of_this_thread();
    if (C10_LIKELY(buffer != nullptr)) note_call(*buffer, frame, event, function, begin);
    if (C10_UNLIKELY(newest_thread() != frame_settings.newest_thread)) follow_all_threads();
  } catch (const std::exception&) {
    // Without memory this frame is not kept, and the script goes on.
  }
  return 0;
}

inline bool can_follow(PythonObject* function, const char* name) {
  static const bool is_complete = python.load();
  if (is_complete && !profile_word) find_profile_call(&on_python_event, function);
  return is_complete && has_definition(function, name);
}

// Begins to record frames, once can_follow() said so; *marker* is called where the script sets as its profile function what
// it found there. *folders* are lines of an owner's number and a path; *fresh* forgets the names of before.
inline void start_frames(PythonObject* marker, PythonObject* module_call, const char* folders, bool fresh) {
  auto& settings = frame_settings;
  if (fresh) settings.names.forget();
  if (!settings.marker) {
    python.Py_IncRef(marker);  // for good: a thread that idles has it as long as it idles
    settings.marker = marker;
  }
  settings.outer.clear();
  settings.module_call = module_call;
  settings.folders.clear();
  for (std::string_view rest(folders); !rest.empty();) {
    const auto line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(line.size() + 1, rest.size()));
    if (line.size() > 1) settings.folders.emplace_back(line.substr(1), static_cast<Owner>(line[0] - '0'));
  }
  recording_frames = true;
  this_thread.followed = recordings.load(std::memory_order_relaxed);
  auto* buffer = buffer_of_this_thread();
  if (follow_present_thread() && buffer)
    open_stack(*buffer, python.PyEval_GetFrame(), static_cast<int64_t>(c10::getApproximateTime()));
  follow_all_threads();
}

}  // namespace npu
