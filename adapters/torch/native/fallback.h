// Every operator of the device: its arguments become CPU tensors, the CPU's kernel runs, its results become the device's.
#pragma once

#include <string_view>
#include <unordered_map>

#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/stack.h>

#include "alias.h"
#include "generator.h"
#include "marks.h"

namespace npu {

// What is known about an operator from its schema, found once.
struct Operator {
  explicit Operator(const c10::OperatorHandle& op) {
    const auto& schema = op.schema();
    arguments = schema.arguments().size();
    returns = schema.returns().size();
    for (size_t i = 0; i < arguments; ++i) {
      const auto& argument = schema.arguments()[i];
      const bool written = argument.alias_info() && argument.alias_info()->isWrite();
      writes.push_back(written);
      any_written |= written;
      const auto kind = argument.type()->str();
      if (kind == "Generator?" || kind == "Generator") generator = static_cast<int>(i);
      if (argument.name() == "device") device = static_cast<int>(i);
    }
    const std::string name = schema.operator_name().name;
    number = operator_number(name);
    for (std::string_view each : {"aten::index", "aten::index_put", "aten::index_put_", "aten::_index_put_impl_",
                                  "aten::_unsafe_index", "aten::_unsafe_index_put", "aten::copy_", "aten::_copy_from",
                                  "aten::set_", "aten::_foreach_copy_"})
      takes_host_tensors |= name == each;
  }

  size_t arguments, returns;
  int64_t number;
  c10::SmallVector<bool, 12> writes;
  bool any_written = false, takes_host_tensors = false;
  int generator = -1, device = -1;
};

inline const Operator& operator_of(const c10::OperatorHandle& op) {
  static thread_local std::unordered_map<const void*, std::unique_ptr<Operator>> known;
  auto& found = known[&op.schema()];
  if (C10_UNLIKELY(!found)) found = std::make_unique<Operator>(op);
  return *found;
}

// Replaces arguments on the stack by what the CPU takes, and results by what the device gives.
class Translation {
 public:
  Translation(const Operator& op, torch::jit::Stack& stack, size_t count)
      : op_(op), begin_ns_(marks_wanted.load(std::memory_order_relaxed) ? unix_ns() : 0) {
    const size_t first = stack.size() - count;
    for (size_t i = 0; i < count; ++i) translate(stack[first + i], i < op.writes.size() && op.writes[i]);
    if (op.generator >= 0) translate_generator(stack[first + static_cast<size_t>(op.generator)]);
    if (aliases.device < 0) aliases.device = named_device_ >= 0 ? named_device_ : current_device;
    check_devices();
  }

  ~Translation() {
    if (begin_ns_) note_mark(begin_ns_, op_.number);
  }

  void results(torch::jit::Stack& stack, size_t count) {
    if (op_.any_written) aliases.follow_written();
    if (results_stay_on_host_) return;
    for (size_t i = stack.size() - count; i < stack.size(); ++i) result(stack[i]);
  }

  Aliases aliases;

 private:
  void translate(c10::IValue& value, bool written) {
    if (value.isTensor()) {
      const auto& tensor = value.toTensor();
      if (!tensor.defined()) return;
      if (on_device(tensor.unsafeGetTensorImpl())) {
        note_device(tensor);
        value = aliases.cpu(std::move(value).toTensor(), written);
      } else {
        note_host(tensor);
      }
    } else if (value.isTensorList()) {
      c10::List<at::Tensor> list;
      const auto items = value.toListRef();
      list.reserve(items.size());
      for (const auto& item : items) list.push_back(host_tensor(item.toTensor(), written));
      value = std::move(list);
    } else if (value.isOptionalTensorList()) {
      c10::List<std::optional<at::Tensor>> list;
      for (const auto& item : value.toListRef())
        list.push_back(item.isNone() ? std::optional<at::Tensor>() : host_tensor(item.toTensor(), written));
      value = std::move(list);
    } else if (value.isDevice()) {
      const auto device = value.toDevice();
      if (device.type() == TYPE) {
        named_device_ = device_of(device.index()).index();
        value = c10::Device(c10::kCPU);
      } else {
        results_stay_on_host_ = true;
      }
    } else if (value.isStorage()) {
      const auto storage = value.toStorage();
      if (storage.device_type() != TYPE) return;
      auto original = StoragePointer::reclaim_copy(storage.unsafeGetStorageImpl());
      value = c10::Storage(twin_of(*original));
      aliases.add_storage(std::move(original));
    }
  }

  at::Tensor host_tensor(const at::Tensor& tensor, bool written) {
    if (!tensor.defined()) return tensor;
    if (on_device(tensor.unsafeGetTensorImpl())) {
      note_device(tensor);
      return aliases.cpu(tensor, written);
    }
    note_host(tensor);
    return tensor;
  }

  void note_host(const at::Tensor& tensor) {
    host_ |= tensor.dim() > 0 && tensor.device().is_cpu();
    aliases.stays_on_host(tensor);
  }

  void translate_generator(c10::IValue& value) {
    if (value.isNone())
      value = host_generator(std::nullopt, aliases.device);
    else
      value = host_generator(value.toGenerator(), aliases.device);
  }

  void note_device(const at::Tensor& tensor) {
    if (tensor.dim() == 0 && seen_ >= 0) return;  // numbers of other devices are taken, as by PyTorch
    const auto index = tensor.device().index();
    if (seen_ >= 0 && index != seen_ && !seen_is_number_) other_ = index;
    if (seen_ < 0 || seen_is_number_) seen_ = index;
    seen_is_number_ = tensor.dim() == 0;
    if (!seen_is_number_) aliases.device = seen_;
  }

  void check_devices() const {
    if (op_.takes_host_tensors) return;
    TORCH_CHECK(
        other_ < 0, "Expected all tensors to be on the same device, but found at least two devices, npu:",
        static_cast<int>(seen_), " and npu:", static_cast<int>(other_), "!");
    TORCH_CHECK(
        !host_ || aliases.empty(),
        "Expected all tensors to be on the same device, but found at least two devices, npu:",
        static_cast<int>(seen_), " and cpu!");
  }

  void result(c10::IValue& value) {
    if (value.isTensor()) {
      if (value.toTensor().defined()) value = aliases.device_result(std::move(value).toTensor());
    } else if (value.isTensorList()) {
      c10::List<at::Tensor> list;
      for (const auto& item : value.toListRef()) {
        const auto& tensor = item.toTensor();
        list.push_back(tensor.defined() ? aliases.device_result(tensor) : tensor);
      }
      value = std::move(list);
    }
  }

  const Operator& op_;
  int64_t begin_ns_;
  bool host_ = false, results_stay_on_host_ = false, seen_is_number_ = false;
  c10::DeviceIndex seen_ = -1, other_ = -1, named_device_ = -1;
};

inline void fallback(const c10::OperatorHandle& op, torch::jit::Stack* stack) {
  const auto& known = operator_of(op);
  Translation translation(known, *stack, known.arguments);
  SelectedDevice selected(translation.aliases.device);
  op.redispatchBoxed(c10::DispatchKeySet(c10::DispatchKey::CPU), stack);
  translation.results(*stack, known.returns);
}

// Runs another operator of the CPU instead, with the same arguments.
inline void run_instead(
    const c10::OperatorHandle& op, const c10::OperatorHandle& instead, torch::jit::Stack* stack) {
  const auto& known = operator_of(op);
  Translation translation(known, *stack, known.arguments);
  SelectedDevice selected(translation.aliases.device);
  instead.callBoxed(stack);
  translation.results(*stack, known.returns);
}

inline c10::OperatorHandle find_operator(const char* name) {
  return c10::Dispatcher::singleton().findSchemaOrThrow(name, "");
}

}  // namespace npu
