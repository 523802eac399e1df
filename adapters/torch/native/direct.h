// The commonest operators, called with their arguments as they are: a stack of boxes would take longer than all other steps of
// a tiny operator. What is done to each tensor is what fallback.h does.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>

#include <ATen/core/IListRef.h>
#include <ATen/core/boxing/KernelFunction.h>
#include <ATen/ops/zero_ops.h>
#include <torch/library.h>

#include "fallback.h"
#include "zeros.h"

namespace npu {

// An argument as the CPU takes it.
template <typename T>
struct Direct {
  using Plain = std::decay_t<T>;
  static_assert(
      std::is_arithmetic_v<Plain> || std::is_same_v<Plain, at::Scalar> || std::is_same_v<Plain, std::string_view> ||
          std::is_same_v<Plain, at::OptionalIntArrayRef> || std::is_same_v<Plain, c10::SymIntArrayRef> ||
          std::is_same_v<Plain, std::optional<at::ScalarType>>,
      "it may have tensors, which have to be turned");
  Direct(Translation&, T argument, bool) : argument(argument) {}
  T get() { return argument; }
  T argument;
};

template <>
struct Direct<const at::Tensor&> {
  using Borrowed = c10::MaybeOwned<at::Tensor>;
  Direct(Translation& translation, const at::Tensor& argument, bool written)
      : alias(Borrowed::borrowed(translation.argument(argument, written))) {}
  const at::Tensor& get() { return *alias; }
  Borrowed alias;
};

template <>
struct Direct<at::Tensor&> {
  Direct(Translation& translation, at::Tensor& argument, bool) : alias(translation.argument(argument, true)) {}
  at::Tensor& get() { return alias; }
  at::Tensor alias;
};

template <>
struct Direct<const std::optional<at::Tensor>&> {
  Direct(Translation& translation, const std::optional<at::Tensor>& argument, bool written) {
    if (argument) alias = translation.argument(*argument, written);
  }
  const std::optional<at::Tensor>& get() { return alias; }
  std::optional<at::Tensor> alias;
};

template <>
struct Direct<at::TensorList> {
  Direct(Translation& translation, at::TensorList argument, bool written) {
    aliases.reserve(argument.size());
    for (const auto& each : argument) aliases.push_back(translation.argument(each, written));
  }
  at::TensorList get() { return aliases; }
  std::vector<at::Tensor> aliases;
};

template <>
struct Direct<const at::ITensorListRef&> {
  Direct(Translation& translation, const at::ITensorListRef& argument, bool written) {
    aliases.reserve(argument.size());
    for (const auto& each : argument) aliases.push_back(translation.argument(each, written));
    list = at::ITensorListRef(aliases);
  }
  const at::ITensorListRef& get() { return list; }
  std::vector<at::Tensor> aliases;
  at::ITensorListRef list;
};

// One of several arguments; two may be of the same type.
template <size_t, typename T>
struct DirectAt : Direct<T> {
  using Direct<T>::Direct;
};

template <typename Places, typename... T>
struct AllDirect;

template <size_t... Places, typename... T>
struct AllDirect<std::index_sequence<Places...>, T...> : DirectAt<Places, T>... {};

// A result as the device gives it.
inline at::Tensor device_result(Translation& translation, at::Tensor&& tensor) {
  auto result = translation.result(std::move(tensor));
  translation.note_result(result);
  return result;
}

template <typename... T>
std::tuple<T...> device_result(Translation& translation, std::tuple<T...>&& tensors) {
  return std::apply(
      [&](auto&... each) { return std::tuple<T...>{device_result(translation, std::move(each))...}; }, tensors);
}

inline std::vector<at::Tensor> device_result(Translation& translation, std::vector<at::Tensor>&& tensors) {
  for (auto& each : tensors) each = device_result(translation, std::move(each));
  return std::move(tensors);
}

inline void run_wider(const c10::OperatorHandle& op, c10::DispatchKeySet keys, torch::jit::Stack* stack) {
  run_on_host(operator_of(op), op, keys, /*narrow=*/true, stack);
}

// Serves the operator that at::_ops knows by this name.
template <typename Name, typename Schema = typename Name::schema>
struct Served;

template <typename Name, typename Result, typename... Arguments>
struct Served<Name, Result(Arguments...)> {
  static Result call(Arguments... arguments) {
    static const auto boxed = c10::BoxedKernel::makeFromFunction<&fallback>();
    if (C10_UNLIKELY(!computing)) return Boxed::call(boxed, handle(), CPU, arguments...);
    return call_direct(std::index_sequence_for<Arguments...>(), arguments...);
  }

 private:
  using Boxed = c10::impl::BoxedKernelWrapper<Result(Arguments...)>;
  static constexpr c10::DispatchKeySet CPU{c10::DispatchKey::CPU};

  static const c10::OperatorHandle& handle() {
    static const auto found = c10::Dispatcher::singleton().findSchemaOrThrow(Name::name, Name::overload_name);
    return found;
  }

  template <size_t... Places>
  static Result call_direct(std::index_sequence<Places...> places, Arguments... arguments) {
    static const Operator& known = operator_of(handle());
    Translation translation(known);
    AllDirect<std::index_sequence<Places...>, Arguments...> direct{{translation, arguments, known.writes[Places]}...};
    translation.check();
    SelectedDevice selected(translation.aliases.device);
    const auto compute = [&] { return run(translation, static_cast<DirectAt<Places, Arguments>&>(direct).get()...); };
    if constexpr (std::is_same_v<Result, at::Tensor&>) {
      compute();
      translation.aliases.follow_written();
      translation.note_written();
      return written<Arguments...>(arguments...);
    } else if constexpr (std::is_void_v<Result>) {
      compute();
      translation.aliases.follow_written();
      translation.note_written();
    } else {
      auto results = compute();
      if (known.any_written) translation.aliases.follow_written();
      translation.note_written();
      return device_result(translation, std::move(results));
    }
  }

  static Result run(const Translation& translation, Arguments... arguments) {
    if constexpr (std::is_same_v<Name, at::_ops::zero_>)
      if (zero_pages(arguments...)) return written<Arguments...>(arguments...);
    try {
      return Name::redispatch(CPU, arguments...);
    } catch (const c10::Error&) {
      if (!translation.narrow()) throw;
    }
    static const auto wider = c10::BoxedKernel::makeFromFunction<&run_wider>();
    return Boxed::call(wider, handle(), CPU, arguments...);
  }

  template <typename First, typename... Rest>
  static at::Tensor& written(First first, Rest... rest) {
    if constexpr (std::is_same_v<First, at::Tensor&>) return first;
    else return written<Rest...>(rest...);
  }
};

// Registers operators, and keeps their names.
class DirectOperators {
 public:
  explicit DirectOperators(torch::Library& library) : library_(library) {}

  template <typename... Names>
  void serve() {
    (serve_one<Names>(), ...);
  }

  bool has(const std::string& name) const { return names_.count(name) != 0; }

 private:
  template <typename Name>
  void serve_one() {
    const std::string overload = Name::overload_name;
    const auto name = std::string(Name::name).substr(6) + (overload.empty() ? "" : "." + overload);
    library_.impl(name.c_str(), TORCH_FN((Served<Name>::call)));
    names_.insert(name);
  }

  torch::Library& library_;
  std::set<std::string> names_;
};

}  // namespace npu
