// Functions of the Python that runs this process. They are looked up when they are first needed, because one library serves
// every Python that a PyTorch serves, and none where there is no Python.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <type_traits>
#include <utility>

#include <dlfcn.h>

namespace npu {

using PythonObject = void;
// What the interpreter calls at each event of a thread: its own argument, the frame, the event, the function of C.
using ProfileFunction = int (*)(PythonObject*, PythonObject*, int, PythonObject*);

enum ProfileEvent { CALLED = 0, RETURNED = 3, C_CALLED = 4, C_RAISED = 5, C_RETURNED = 6 };

#define DRYNPU_PYTHON_FUNCTIONS(F)                                                       \
  F(void, PyEval_SetProfile, (ProfileFunction, PythonObject*))                           \
  F(PythonObject*, PyEval_GetFrame, ())                                                  \
  F(PythonObject*, PyFrame_GetBack, (PythonObject*))                                     \
  F(PythonObject*, PyFrame_GetCode, (PythonObject*))                                     \
  F(int, PyFrame_GetLineNumber, (PythonObject*))                                         \
  F(void*, PyThreadState_Get, ())                                                        \
  F(void*, PyThreadState_GetInterpreter, (void*))                                        \
  F(void*, PyThreadState_Next, (void*))                                                  \
  F(void*, PyThreadState_Swap, (void*))                                                  \
  F(void*, PyInterpreterState_ThreadHead, (void*))                                       \
  F(int, PyGILState_Ensure, ())                                                          \
  F(void, PyGILState_Release, (int))                                                     \
  F(PythonObject*, PyObject_CallNoArgs, (PythonObject*))                                 \
  F(PythonObject*, PyObject_GetAttrString, (PythonObject*, const char*))                 \
  F(PythonObject*, PyObject_Repr, (PythonObject*))                                       \
  F(PythonObject*, PyObject_Type, (PythonObject*))                                       \
  F(PythonObject*, PyMapping_GetItemString, (PythonObject*, const char*))                \
  F(PythonObject*, PySys_GetObject, (const char*))                                       \
  F(void*, PyCFunction_GetFunction, (PythonObject*))                                     \
  F(const char*, PyUnicode_AsUTF8AndSize, (PythonObject*, intptr_t*))                    \
  F(long, PyLong_AsLong, (PythonObject*))                                                \
  F(void, PyErr_Clear, ())                                                               \
  F(void, Py_IncRef, (PythonObject*))                                                    \
  F(void, Py_DecRef, (PythonObject*))

struct Python {
#define DRYNPU_POINTER(result, name, arguments) result(*name) arguments = nullptr;
  DRYNPU_PYTHON_FUNCTIONS(DRYNPU_POINTER)
#undef DRYNPU_POINTER
  // From 3.12, where a thread's state must not be taken from it.
  void (*PyEval_SetProfileAllThreads)(ProfileFunction, PythonObject*) = nullptr;
  PythonObject* none = nullptr;

  // Returns whether this Python has all functions.
  bool load() {
    bool complete = true;
    const auto find = [&](auto& function, const char* name, bool needed) {
      function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(RTLD_DEFAULT, name));
      complete = complete && (function || !needed);
    };
#define DRYNPU_FIND(result, name, arguments) find(name, #name, true);
    DRYNPU_PYTHON_FUNCTIONS(DRYNPU_FIND)
#undef DRYNPU_FIND
    find(PyEval_SetProfileAllThreads, "PyEval_SetProfileAllThreads", false);
    none = dlsym(RTLD_DEFAULT, "_Py_NoneStruct");
    return complete && none;
  }
};

// Held from the first recording with frames on; its functions are called with Python's lock.
inline Python python;

// A reference to an object that ends with the variable.
class Reference {
 public:
  explicit Reference(PythonObject* object) : object_(object) {
    if (!object) python.PyErr_Clear();
  }
  Reference(Reference&& other) noexcept : object_(std::exchange(other.object_, nullptr)) {}
  Reference& operator=(Reference&& other) noexcept {
    std::swap(object_, other.object_);
    return *this;
  }
  ~Reference() {
    if (object_) python.Py_DecRef(object_);
  }

  PythonObject* get() const { return object_; }
  explicit operator bool() const { return object_ != nullptr; }
  Reference attribute(const char* name) const {
    return Reference(object_ ? python.PyObject_GetAttrString(object_, name) : nullptr);
  }

  // Returns the text of a str, and *otherwise* where this is none.
  std::string text(const char* otherwise = "<unknown>") const {
    intptr_t length = 0;
    const char* letters = object_ ? python.PyUnicode_AsUTF8AndSize(object_, &length) : nullptr;
    if (letters) return std::string(letters, static_cast<size_t>(length));
    python.PyErr_Clear();
    return otherwise;
  }

  long number() const {
    const long value = object_ ? python.PyLong_AsLong(object_) : 0;
    if (value == -1) python.PyErr_Clear();
    return value;
  }

 private:
  PythonObject* object_;
};

// Returns where the definition of a function of C lies: behind the head of the object, which is two words but where Python
// has no lock. Functions that share their code, as pybind11's do, have definitions of their own.
// N30, docs/tricks.md
inline void* definition_of(PythonObject* function) { return static_cast<void**>(function)[2]; }

// Whether definition_of() tells the truth of *function*, which Python calls *name*.
inline bool has_definition(PythonObject* function, const char* name) {
  struct Definition {
    const char* name;
    void* code;
  };
  void* code = python.PyCFunction_GetFunction(function);
  if (!code) python.PyErr_Clear();
  const auto* definition = static_cast<const Definition*>(definition_of(function));
  return code && definition && definition->code == code && !std::strcmp(definition->name, name);
}

// A profile function as the state of a thread has it.
struct ProfileCall {
  ProfileFunction function = nullptr;
  PythonObject* object = nullptr;
};

// Where the states of threads have their profile function, in words; 0 where that is not known. Its object comes two words
// later. N31, docs/tricks.md
inline size_t profile_word = 0;

// Looks for a function that is set for a moment. Call it before the first profile function of this thread.
inline void find_profile_call(ProfileFunction function, PythonObject* object) {
  constexpr size_t WORDS = 24;  // all states of threads are larger
  PythonObject* question = python.PySys_GetObject("getprofile");
  const Reference present(question ? python.PyObject_CallNoArgs(question) : nullptr);
  if (present.get() != python.none) return;
  python.PyEval_SetProfile(function, object);
  void** words = static_cast<void**>(python.PyThreadState_Get());
  for (size_t i = 1; i + 2 < WORDS && !profile_word; ++i)
    if (words[i] == reinterpret_cast<void*>(function) && words[i + 2] == object) profile_word = i;
  python.PyEval_SetProfile(nullptr, nullptr);
}

// Returns the profile function of a thread whose object Python says is *present*; none where that cannot be read.
inline ProfileCall profile_call_of(void* thread, PythonObject* present) {
  void** words = static_cast<void**>(thread);
  if (!profile_word || words[profile_word + 2] != present) return {};
  return {reinterpret_cast<ProfileFunction>(words[profile_word]), present};
}

}  // namespace npu
