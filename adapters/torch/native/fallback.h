// Every operator of the device: its arguments become CPU tensors, the CPU's kernel runs, its results become the device's.
#pragma once

#include <ATen/core/stack.h>

#include "outline.h"
#include "translation.h"

namespace npu {

// Replaces arguments on the stack by what the CPU takes, and results by what the device gives.
class StackTranslation : public Translation {
 public:
  StackTranslation(const Operator& op, torch::jit::Stack& stack, size_t count) : Translation(op) {
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
    check();
  }

  void results(torch::jit::Stack& stack, size_t count) {
    if (op_.any_written) aliases.follow_written();
    if (!results_stay_on_host_)
      for (size_t i = stack.size() - count; i < stack.size(); ++i) result_on_stack(stack[i]);
    note_written();
    for (size_t i = stack.size() - count; i < stack.size(); ++i) {
      if (stack[i].isTensor()) note_result(stack[i].toTensor());
      else if (stack[i].isTensorList())
        for (const auto& each : stack[i].toListRef()) note_result(each.toTensor());
    }
    if (aliases.outlined) estimate(stack, count);
  }

  // The keys of the kernels that serve the operator.
  c10::DispatchKeySet keys() const {
    return c10::DispatchKeySet(aliases.outlined ? c10::DispatchKey::Meta : c10::DispatchKey::CPU);
  }

 private:
  void translate(c10::IValue& value, bool written) {
    if (value.isTensor()) {
      if (!value.toTensor().defined()) return;
      const auto& kept = aliases.keep(std::move(value));
      value = argument(kept.toTensor(), written);
    } else if (value.isTensorList()) {
      c10::List<at::Tensor> list;
      const auto items = aliases.keep(std::move(value)).toListRef();
      list.reserve(items.size());
      for (const auto& item : items) list.push_back(argument(item.toTensor(), written));
      value = std::move(list);
    } else if (value.isOptionalTensorList()) {
      c10::List<std::optional<at::Tensor>> list;
      for (const auto& item : aliases.keep(std::move(value)).toListRef())
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
      list.push_back(is_mask && aliases.outlined && index.defined() ? known_mask(index) : argument(index, written));
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
    if (op_.any_written) aliases.each_written([&](const Replaced& each) { note(each.tensor()); });
  }

  at::Tensor first_tensor() const {
    // copy_(target, source): what is moved comes second.
    const size_t place = op_.copies && arguments_.size() > 1 ? 1 : 0;
    const auto& value = arguments_[place];
    if (value.isTensor()) return value.toTensor();
    if (value.isTensorList() && value.toListRef().size()) return value.toListRef()[0].toTensor();
    return {};
  }

  void translate_generator(c10::IValue& value) {
    if (value.isNone())
      value = host_generator(std::nullopt, aliases.device);
    else
      value = host_generator(value.toGenerator(), aliases.device);
  }

  void result_on_stack(c10::IValue& value) {
    if (value.isTensor()) {
      value = Translation::result(std::move(value).toTensor());
    } else if (value.isTensorList()) {
      c10::List<at::Tensor> list;
      for (const auto& item : value.toListRef()) list.push_back(Translation::result(item.toTensor()));
      value = std::move(list);
    }
  }

  torch::jit::Stack arguments_;  // as they were, kept only where the operator runs on shapes
  bool results_stay_on_host_ = false;
};

// Runs an operator of the CPU; in wider types where it has no kernel for the arguments' types, or a worse one.
inline void run_on_host(
    const Operator& known, const c10::OperatorHandle& op, c10::DispatchKeySet keys, bool narrow, torch::jit::Stack* stack) {
  if (C10_LIKELY(!narrow && !known.promotes)) return op.redispatchBoxed(keys, stack);
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
  if ((known.computes_wide && has_half(arguments)) || (known.promotes && has_mixed_halves(arguments)))
    types.push_back(c10::kFloat);
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
  StackTranslation translation(known, *stack, known.arguments);
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
  StackTranslation translation(known, *stack, known.arguments);
  SelectedDevice selected(translation.aliases.device);
  instead.callBoxed(stack);
  translation.results(*stack, known.returns);
}

inline c10::OperatorHandle find_operator(const char* name) {
  return c10::Dispatcher::singleton().findSchemaOrThrow(name, "");
}

}  // namespace npu
