// Every operator of the device: its arguments become CPU tensors, the CPU's kernel runs, its results become the device's.
#pragma once

#include <string_view>
#include <unordered_map>

#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/stack.h>
#include <ATen/record_function.h>

#include "composed.h"
#include "outline.h"
#include "generator.h"
#include "marks.h"
#include "recorder.h"
#include "widening.h"

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
    const std::string& name = schema.operator_name().name;
    recorded_name = name.c_str();
    number = operator_number(name);
    rule = rule_of(name);
    copies = name == "aten::copy_";
    indexes = name.rfind("aten::index", 0) == 0 || name.rfind("aten::_index_put", 0) == 0 ||
              name.rfind("aten::_unsafe_index", 0) == 0;
    for (std::string_view each : {"aten::index", "aten::index_put", "aten::index_put_", "aten::_index_put_impl_",
                                  "aten::_unsafe_index", "aten::_unsafe_index_put", "aten::copy_", "aten::_copy_from",
                                  "aten::set_", "aten::_foreach_copy_"})
      takes_host_tensors |= name == each;
    // The numbers of a list of tensors may lie on the host.
    takes_host_tensors |= name.rfind("aten::_foreach_", 0) == 0 && schema.operator_name().overload_name == "Tensor";
    // Lengths of sequences lie on the host, in operators of the library for transformers and in those that graphs replay.
    takes_host_tensors |= name.rfind("npu::_npu_", 0) == 0 || name.rfind("npu::npu_fusion_attention_v3", 0) == 0 ||
                          name.rfind("npu::npu_fusion_attention_grad_v3", 0) == 0;
    // Sizes of the parts of nested tensors lie on the host.
    takes_host_tensors |= name.rfind("aten::_nested_", 0) == 0;
    computes_wide = is_worse_narrow(name);
  }

  size_t arguments, returns;
  int64_t number;
  const char* recorded_name;
  c10::SmallVector<bool, 12> writes;
  bool any_written = false, takes_host_tensors = false, indexes = false, copies = false, computes_wide = false;
  Rule rule = Rule::NONE;
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
      : op_(op) {
    if (marks_wanted.load(std::memory_order_relaxed)) {
      is_recorded_ = mark_last(op.recorded_name);
      if (!is_recorded_) begin_ns_ = unix_ns();
    }
    const size_t first = stack.size() - count;
    if (!computing) {
      aliases.outlined = Outliner().decide(stack, first);
      if (aliases.outlined) arguments_.assign(stack.begin() + static_cast<int64_t>(first), stack.end());
    }
    for (size_t i = 0; i < count; ++i) {
      reads_ = is_recorded_ && !(op.copies && i == 0);  // what is copied to is written alone
      translate(stack[first + i], i < op.writes.size() && op.writes[i]);
    }
    if (op.generator >= 0) translate_generator(stack[first + static_cast<size_t>(op.generator)]);
    if (aliases.device < 0) aliases.device = named_device_ >= 0 ? named_device_ : current_device;
    check_devices();
  }

  ~Translation() {
    if (begin_ns_) note_mark(begin_ns_, op_.number);
  }

  void results(torch::jit::Stack& stack, size_t count) {
    if (op_.any_written) aliases.follow_written();
    if (!results_stay_on_host_)
      for (size_t i = stack.size() - count; i < stack.size(); ++i) result(stack[i]);
    if (is_recorded_) note_results(stack, count);
    if (aliases.outlined) estimate(stack, count);
  }

  // The keys of the kernels that serve the operator.
  c10::DispatchKeySet keys() const {
    return c10::DispatchKeySet(aliases.outlined ? c10::DispatchKey::Meta : c10::DispatchKey::CPU);
  }

  // Whether an argument is of a type that the CPU may lack a kernel for.
  bool narrow() const { return narrow_ && !aliases.outlined; }

  Aliases aliases;

 private:
  static void note_bytes(const at::Tensor& tensor, bool written) {
    const auto* impl = tensor.unsafeGetTensorImpl();
    const int64_t bytes = impl->numel() * static_cast<int64_t>(impl->itemsize());
    if (C10_LIKELY(bytes < LEAST_ACCESS_BYTES) || !impl->has_storage() || !is_plain(impl)) return;
    const auto& holding = holding_of(*impl->unsafe_storage().unsafeGetStorageImpl());
    if (!holding.block) return;
    constexpr int DEVICE_BITS = 56;  // each device has addresses of its own
    note_access(
        holding.block->address | static_cast<int64_t>(holding.device) << DEVICE_BITS,
        impl->storage_offset() * static_cast<int64_t>(impl->itemsize()), bytes, holding.block->size, written);
  }

  void note_results(const torch::jit::Stack& stack, size_t count) const {
    const auto note = [](const at::Tensor& tensor) {
      if (tensor.defined() && on_device(tensor.unsafeGetTensorImpl())) note_bytes(tensor, true);
    };
    if (op_.any_written) return aliases.each_written(note);
    for (size_t i = stack.size() - count; i < stack.size(); ++i) {
      if (stack[i].isTensor()) note(stack[i].toTensor());
      else if (stack[i].isTensorList())
        for (const auto& each : stack[i].toListRef()) note(each.toTensor());
    }
  }

  void note_type(const at::Tensor& tensor) {
    const auto type = tensor.scalar_type();
    narrow_ |= type == c10::kHalf || type == c10::kBFloat16 || type == c10::kInt;
  }

  void translate(c10::IValue& value, bool written) {
    if (value.isTensor()) {
      const auto& tensor = value.toTensor();
      if (!tensor.defined()) return;
      if (on_device(tensor.unsafeGetTensorImpl())) {
        note_device(tensor);
        note_type(tensor);
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
        if (item.isNone()) list.push_back(std::optional<at::Tensor>());
        else push_index(list, item.toTensor(), written);
      value = std::move(list);
    } else if (value.isDevice()) {
      const auto device = value.toDevice();
      if (device.type() == TYPE) {
        named_device_ = device_of(device.index()).index();
        value = c10::Device(aliases.outlined ? c10::kMeta : c10::kCPU);
      } else {
        results_stay_on_host_ = true;
      }
    } else if (value.isStorage()) {
      const auto storage = value.toStorage();
      if (storage.device_type() != TYPE) return;
      auto original = StoragePointer::reclaim_copy(storage.unsafeGetStorageImpl());
      value = c10::Storage(aliases.outlined ? holding_of(*original).outline : twin_of(*original));
      aliases.add_storage(std::move(original));
    }
  }

  // A mask whose values nobody knows becomes the indices that it would have.
  void push_index(c10::List<std::optional<at::Tensor>>& list, const at::Tensor& index, bool written) {
    const bool is_mask = index.defined() && (index.scalar_type() == c10::kBool || index.scalar_type() == c10::kByte);
    if (!aliases.outlined || !op_.indexes || !is_mask || has_values(index)) {
      // Meta kernels count in masks, so those with values have to keep them.
      list.push_back(is_mask && aliases.outlined && index.defined() ? known_mask(index) : host_tensor(index, written));
      return;
    }
    note_device(index);
    const auto count = count_holding(index);
    for (int64_t i = 0; i < index.dim(); ++i) list.push_back(outlined_empty({count}, c10::kLong));
  }

  at::Tensor known_mask(const at::Tensor& mask) {
    if (!on_device(mask.unsafeGetTensorImpl())) return mask;
    note_device(mask);
    return at::Tensor(make_alias(mask.unsafeGetTensorImpl()));
  }

  void estimate(const torch::jit::Stack& stack, size_t count) {
    const auto input = arguments_.empty() ? at::Tensor() : first_tensor();
    const auto note = [&](const at::Tensor& result) {
      if (!result.defined() || !on_device(result.unsafeGetTensorImpl()) || has_values(result)) return;
      // A view tells nothing new of the values that it shows.
      const bool view = input.defined() && on_device(input.unsafeGetTensorImpl()) && result.is_alias_of(input);
      if (!view || op_.any_written) set_estimate(result, estimate_result(op_.rule, input, arguments_, result));
    };
    if (op_.rule == Rule::NONE && !op_.any_written) return;
    for (size_t i = stack.size() - count; i < stack.size(); ++i)
      if (stack[i].isTensor()) note(stack[i].toTensor());
    if (op_.any_written) aliases.each_written(note);
  }

  at::Tensor first_tensor() const {
    // copy_(target, source): what is moved comes second.
    const size_t place = op_.copies && arguments_.size() > 1 ? 1 : 0;
    const auto& value = arguments_[place];
    if (value.isTensor()) return value.toTensor();
    if (value.isTensorList() && value.toListRef().size()) return value.toListRef()[0].toTensor();
    return {};
  }

  at::Tensor host_tensor(const at::Tensor& tensor, bool written) {
    if (!tensor.defined()) return tensor;
    if (on_device(tensor.unsafeGetTensorImpl())) {
      note_device(tensor);
      note_type(tensor);
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
    if (reads_) note_bytes(tensor, false);
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
  torch::jit::Stack arguments_;  // as they were, kept only where the operator runs on shapes
  int64_t begin_ns_ = 0;
  bool is_recorded_ = false, reads_ = false;  // by the recorder, as the operator that began last
  bool host_ = false, results_stay_on_host_ = false, seen_is_number_ = false, narrow_ = false;
  c10::DeviceIndex seen_ = -1, other_ = -1, named_device_ = -1;
};

// Runs an operator of the CPU; in wider types where that has no kernel for those of the arguments, or a worse one.
inline void run_on_host(
    const Operator& known, const c10::OperatorHandle& op, c10::DispatchKeySet keys, bool narrow, torch::jit::Stack* stack) {
  if (C10_LIKELY(!narrow)) return op.redispatchBoxed(keys, stack);
  const size_t first = stack->size() - known.arguments;
  const torch::jit::Stack arguments(stack->begin() + static_cast<int64_t>(first), stack->end());
  c10::SmallVector<c10::ScalarType, 2> types;
  const auto run_wider = [&] {
    Widening widening(known.writes, types);
    stack->resize(first);
    for (size_t i = 0; i < arguments.size(); ++i) stack->push_back(widening.argument(arguments[i], i));
    op.redispatchBoxed(keys, stack);
    for (size_t i = first; i < stack->size(); ++i) (*stack)[i] = widening.result((*stack)[i]);
  };
  if (known.computes_wide && has_half(arguments)) types.push_back(c10::kFloat);
  std::exception_ptr first_error;
  while (true) {
    try {
      return types.empty() ? op.redispatchBoxed(keys, stack) : run_wider();
    } catch (const c10::Error& error) {
      if (!first_error) first_error = std::current_exception();
      const auto wider = wider_type(error.what_without_backtrace());
      // What the script gave is what is refused.
      if (!wider || std::find(types.begin(), types.end(), *wider) != types.end()) std::rethrow_exception(first_error);
      types.push_back(*wider);
    }
  }
}

inline void run_on_host_keys(const c10::OperatorHandle& op, c10::DispatchKeySet kernels, torch::jit::Stack* stack) {
  const auto& known = operator_of(op);
  Translation translation(known, *stack, known.arguments);
  SelectedDevice selected(translation.aliases.device);
  // What a Meta kernel calls works out shapes; it is nothing that a device runs.
  std::optional<at::DisableRecordFunctionGuard> hidden;
  if (translation.aliases.outlined) hidden.emplace();
  try {
    const auto keys = translation.aliases.outlined ? translation.keys() : kernels;
    run_on_host(known, op, keys, translation.narrow(), stack);
  } catch (const c10::NotImplementedError& error) {
    if (!translation.aliases.outlined) throw;
    TORCH_CHECK_NOT_IMPLEMENTED(
        false, op.schema().operator_name(), ": PyTorch does not know the shape of its result without values, and values "
        "are not computed (DRYNPU_COMPUTE=0). Leave the operator out, give it tensors of at most "
        "DRYNPU_COMPUTED_BYTES=", most_computed_bytes.load(), " bytes whose values come from the host, or compute.");
  }
  translation.results(*stack, known.returns);
}

inline void fallback(const c10::OperatorHandle& op, torch::jit::Stack* stack) {
  run_on_host_keys(op, c10::DispatchKeySet(c10::DispatchKey::CPU), stack);
}

// The same for tensors that consist of others, whose kernels have keys of their own.
inline void composed_fallback(const c10::OperatorHandle& op, c10::DispatchKeySet called, torch::jit::Stack* stack) {
  run_on_host_keys(op, composed_host_keys(called), stack);
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
