// What every operator of the device does with its tensors: which device they are of, what the CPU takes for them, what the
// device gives for the CPU's results.
#pragma once

#include <array>
#include <memory>
#include <mutex>
#include <string_view>
#include <unordered_map>

#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/record_function.h>

#include "composed.h"
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
    promotes = promotes_operands(name);
  }

  size_t arguments, returns;
  int64_t number;
  const char* recorded_name;
  c10::SmallVector<bool, 12> writes;
  bool any_written = false, takes_host_tensors = false, indexes = false, copies = false, computes_wide = false,
       promotes = false;
  Rule rule = Rule::NONE;
  int generator = -1, device = -1;
};

// Returns what is known of an operator. Each thread looks first at those that it has run lately.
inline const Operator& operator_of(const c10::OperatorHandle& op) {
  struct Recent {
    const void* schema;
    const Operator* known;
  };
  constexpr size_t PLACES = 256;
  static thread_local constinit std::array<Recent, PLACES> recent{};
  const void* schema = &op.schema();
  const auto bits = reinterpret_cast<uintptr_t>(schema);
  auto& here = recent[(bits >> 4 ^ bits >> 12) % PLACES];
  if (C10_LIKELY(here.schema == schema)) return *here.known;
  static auto* mutex = new std::mutex();
  static auto* all = new std::unordered_map<const void*, std::unique_ptr<Operator>>();
  std::lock_guard<std::mutex> lock(*mutex);
  auto& found = (*all)[schema];
  if (!found) found = std::make_unique<Operator>(op);
  here = {schema, found.get()};
  return *found;
}

class Translation {
 public:
  explicit Translation(const Operator& op) : op_(op) {
    if (C10_LIKELY(!marks_wanted.load(std::memory_order_relaxed))) return;
    reads_ = is_recorded_ = mark_last(op.recorded_name);
    if (!is_recorded_) begin_ns_ = unix_ns();
  }

  ~Translation() {
    if (C10_UNLIKELY(begin_ns_ != 0)) note_mark(begin_ns_, op_.number);
  }

  // Returns what the CPU takes for a tensor that the caller holds. The reference holds until the next argument.
  const at::Tensor& argument(const at::Tensor& tensor, bool written) {
    if (!tensor.defined()) return tensor;
    auto* impl = tensor.unsafeGetTensorImpl();
    if (!on_device(impl)) {
      note_host(tensor);
      return tensor;
    }
    note_device(tensor);
    note_type(tensor);
    return aliases.cpu(impl, written);
  }

  // Ends the arguments: chooses the device, and refuses arguments of several.
  void check() {
    if (aliases.device < 0) aliases.device = named_device_ >= 0 ? named_device_ : current_device;
    if (!op_.takes_host_tensors) check_devices();
  }

  // Returns what the device gives for a result of the CPU.
  at::Tensor result(at::Tensor tensor) { return tensor.defined() ? aliases.device_result(std::move(tensor)) : tensor; }

  // Notes what a recorded operator wrote: the arguments that it writes, or else its results.
  void note_written() const {
    if (is_recorded_ && op_.any_written) aliases.each_written([](const auto& each) { note_bytes(each.original, true); });
  }
  void note_result(const at::Tensor& tensor) const {
    if (!is_recorded_ || op_.any_written || !tensor.defined()) return;
    if (on_device(tensor.unsafeGetTensorImpl())) note_bytes(tensor.unsafeGetTensorImpl(), true);
  }

  // Whether an argument is of a type that the CPU may lack a kernel for.
  bool narrow() const { return narrow_ && !aliases.outlined; }

  Aliases aliases;

 protected:
  static void note_bytes(const c10::TensorImpl* impl, bool written) {
    const int64_t bytes = impl->numel() * static_cast<int64_t>(impl->itemsize());
    if (C10_LIKELY(bytes < LEAST_ACCESS_BYTES) || !impl->has_storage() || !is_plain(impl)) return;
    const auto& holding = holding_of(*impl->unsafe_storage().unsafeGetStorageImpl());
    if (!holding.block) return;
    constexpr int DEVICE_BITS = 56;  // each device has addresses of its own
    note_access(
        holding.address | static_cast<int64_t>(holding.device) << DEVICE_BITS,
        impl->storage_offset() * static_cast<int64_t>(impl->itemsize()), bytes, holding.size, written);
  }

  void note_host(const at::Tensor& tensor) {
    host_ |= tensor.dim() > 0 && tensor.device().is_cpu();
    aliases.stays_on_host(tensor);
  }

  void note_type(const at::Tensor& tensor) {
    const auto type = tensor.scalar_type();
    narrow_ |= type == c10::kHalf || type == c10::kBFloat16 || type == c10::kInt;
  }

  void note_device(const at::Tensor& tensor) {
    if (reads_) note_bytes(tensor.unsafeGetTensorImpl(), false);
    if (tensor.dim() == 0 && seen_ >= 0) return;  // numbers of other devices are taken, as by PyTorch
    const auto index = tensor.device().index();
    if (seen_ >= 0 && index != seen_ && !seen_is_number_) other_ = index;
    if (seen_ < 0 || seen_is_number_) seen_ = index;
    seen_is_number_ = tensor.dim() == 0;
    if (!seen_is_number_) aliases.device = seen_;
  }

  void check_devices() const {
    TORCH_CHECK(
        other_ < 0, "Expected all tensors to be on the same device, but found at least two devices, npu:",
        static_cast<int>(seen_), " and npu:", static_cast<int>(other_), "!");
    TORCH_CHECK(
        !host_ || aliases.empty(),
        "Expected all tensors to be on the same device, but found at least two devices, npu:",
        static_cast<int>(seen_), " and cpu!");
  }

  const Operator& op_;
  int64_t begin_ns_ = 0;
  bool is_recorded_ = false, reads_ = false;  // by the recorder, as the operator that began last
  bool host_ = false, seen_is_number_ = false, narrow_ = false;
  c10::DeviceIndex seen_ = -1, other_ = -1, named_device_ = -1;
};

}  // namespace npu
