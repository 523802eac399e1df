// Work of a collective on tensors of the device: gloo moves views of them in host memory, and its results are those
// views. Whoever asks the work for its results (DistributedDataParallel does) gets the tensors themselves.
#pragma once

#include <utility>
#include <vector>

#include <torch/csrc/distributed/c10d/Work.hpp>
#include <torch/custom_class.h>

namespace npu {

// Tensors of the device, each with the view of it in host memory.
using Views = std::vector<std::pair<at::Tensor, at::Tensor>>;

inline at::Tensor original_of(const Views& views, const at::Tensor& tensor) {
  for (const auto& [original, view] : views)
    if (view.is_same(tensor)) return original;
  return tensor;
}

// Returns a value with each tensor in it, also in lists of lists, replaced.
template <typename F>
c10::IValue replaced(const c10::IValue& value, F&& replace) {
  if (value.isTensor()) return replace(value.toTensor());
  if (!value.isList()) return value;
  const auto list = value.toList();
  c10::impl::GenericList copy(list.elementType());
  copy.reserve(list.size());
  for (const c10::IValue each : list) copy.push_back(replaced(each, replace));
  return copy;
}

inline const c10::TypePtr& work_type() {
  static const c10::TypePtr type = c10::getCustomClassType<c10::intrusive_ptr<c10d::Work>>();
  return type;
}

class DeviceWork : public c10d::Work {
 public:
  DeviceWork(c10::intrusive_ptr<c10d::Work> work, Views views)
      : Work(-1, work->retrieveOpType()), work_(std::move(work)), views_(std::move(views)) {}

  bool isCompleted() override { return work_->isCompleted(); }
  bool isSuccess() const override { return work_->isSuccess(); }
  std::exception_ptr exception() const override { return work_->exception(); }
  int sourceRank() const override { return work_->sourceRank(); }
  void synchronize() override { work_->synchronize(); }
  bool wait(std::chrono::milliseconds timeout) override { return work_->wait(timeout); }
  void abort() override { work_->abort(); }
  float getDuration() const override { return work_->getDuration(); }
  uint64_t getSequencenumber() const override { return work_->getSequencenumber(); }

  std::vector<at::Tensor> result() override {
    auto found = work_->result();
    for (auto& tensor : found) tensor = original_of(views_, tensor);
    return found;
  }

  c10::intrusive_ptr<c10::ivalue::Future> getFuture() override {
    auto inner = work_->getFuture();
    const auto views = views_;
    const auto to_device = [views](const at::Tensor& tensor) { return original_of(views, tensor); };
    return inner->then(
        [to_device](c10::ivalue::Future& done) { return replaced(done.value(), to_device); }, inner->elementType());
  }

 private:
  c10::intrusive_ptr<c10d::Work> work_;
  Views views_;
};

}  // namespace npu
