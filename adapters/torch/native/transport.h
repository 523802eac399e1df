// Collectives of tensors of the device: gloo moves host memory, so it gets tensors of the host that share it.
//
// Python never sees those. Threads of gloo drop them, and one that drops what Python has seen waits for the interpreter's
// lock, which may be held by a thread that ends the group and waits for gloo's.
#pragma once

#include <utility>
#include <vector>

#include <ATen/ThreadLocalPythonObjects.h>
#include <torch/library.h>

#include "operators.h"
#include "work.h"

namespace npu {

// Takes from this thread the Python objects that PyTorch keeps for it: backward() leaves a copy of the context variables
// there. A work of gloo copies what is local to the thread that starts it, and a thread of gloo drops that copy.
class WithoutPythonObjects {
 public:
  WithoutPythonObjects() { at::impl::ThreadLocalPythonObjects::set_state({}); }
  ~WithoutPythonObjects() { at::impl::ThreadLocalPythonObjects::set_state(std::move(kept_)); }
  WithoutPythonObjects(const WithoutPythonObjects&) = delete;
  WithoutPythonObjects& operator=(const WithoutPythonObjects&) = delete;

 private:
  at::impl::ThreadLocalPythonObjects kept_ = at::impl::ThreadLocalPythonObjects::get_state();
};

inline void collective(const c10::OperatorHandle& op, torch::jit::Stack* stack) {
  Views views;
  const auto to_host = [&](const at::Tensor& tensor) {
    if (!tensor.defined() || !on_device(tensor.unsafeGetTensorImpl())) return tensor;
    views.emplace_back(tensor, host_view(tensor));
    return views.back().second;
  };
  const auto to_device = [&](const at::Tensor& tensor) { return original_of(views, tensor); };
  const size_t first = stack->size() - op.schema().arguments().size();
  for (size_t i = first; i < stack->size(); ++i) (*stack)[i] = replaced((*stack)[i], to_host);
  {
    const WithoutPythonObjects without_objects;
    op.redispatchBoxed(c10::DispatchKeySet(c10::DispatchKey::CPU), stack);
  }
  for (size_t i = stack->size() - op.schema().returns().size(); i < stack->size(); ++i) {
    auto& value = (*stack)[i];
    if (value.isObject() && value.type() == work_type())
      value = c10::intrusive_ptr<c10d::Work>(c10::make_intrusive<DeviceWork>(value.toCustomClass<c10d::Work>(), views));
    else
      value = replaced(value, to_device);
  }
}

struct NoWarnings : c10::WarningHandler {
  void process(const c10::Warning&) override {}
};

// Lets the operators of c10d with these names take tensors of the device, in place of PyTorch's own kernels. PyTorch
// warns of kernels that are replaced, as these are on purpose.
inline void serve_collectives(const std::vector<std::string>& names) {
  static NoWarnings silence;
  const c10::WarningUtils::WarningHandlerGuard guard(&silence);
  static auto* library = new torch::Library(torch::Library::IMPL, "c10d", c10::DispatchKey::PrivateUse1, __FILE__, __LINE__);
  for (const auto& name : names) library->impl(name.c_str(), torch::CppFunction::makeFromBoxedFunction<&collective>());
}

}  // namespace npu
