// What PyTorch asks of an accelerator: devices, streams and events. Work runs during the call, so all are always done.
#pragma once

#include <chrono>
#include <cmath>

#include <c10/core/impl/DeviceGuardImplInterface.h>

#include "calls.h"
#include "device.h"

namespace npu {

inline std::atomic<c10::StreamId> next_stream{1};
inline std::atomic<int64_t> next_event{1};

struct DeviceEvent {
  int64_t id = next_event++;
  c10::StreamId stream = 0;
  bool timed = false;
  std::chrono::steady_clock::time_point at;
};

// What asks the timer of Python, with two events (of one action alone the first counts); returns ms where it is asked for
// them, NaN where they are not known.
enum TimerAction { TIMER_RECORD, TIMER_ELAPSED, TIMER_FORGET };
using EventTimer = double (*)(int action, int64_t event, int64_t end);
inline std::atomic<EventTimer> event_timer{nullptr};

inline double ask_timer(TimerAction action, const DeviceEvent& event, int64_t end = 0) {
  const auto timer = event.timed ? event_timer.load() : nullptr;
  return timer ? timer(action, event.id, end) : std::nan("");
}

struct DeviceGuard final : c10::impl::DeviceGuardImplInterface {
  c10::DeviceType type() const override { return TYPE; }
  c10::Device exchangeDevice(c10::Device device) const override {
    const auto before = current_device;
    setDevice(device);
    return {TYPE, before};
  }
  c10::Device getDevice() const override { return {TYPE, current_device}; }
  void setDevice(c10::Device device) const override {
    if (!device.has_index() || device.index() == current_device) return;
    check_index(device.index());
    current_device = device.index();
  }
  void uncheckedSetDevice(c10::Device device) const noexcept override {
    if (device.has_index()) current_device = device.index();
  }
  c10::DeviceIndex deviceCount() const noexcept override { return static_cast<c10::DeviceIndex>(device_count.load()); }

  static c10::Stream stream(c10::StreamId id, c10::DeviceIndex index) {
    return c10::Stream(c10::Stream::UNSAFE, device_of(index), id);
  }
  c10::Stream getStream(c10::Device device) const noexcept override {
    return stream(stream_of(device_of(device.index()).index()), device.index());
  }
  c10::Stream getDefaultStream(c10::Device device) const override { return stream(0, device.index()); }
  c10::Stream getStreamFromGlobalPool(c10::Device device, bool) const override {
    return stream(next_stream++, device.index());
  }
  c10::Stream getNewStream(c10::Device device, int) const override { return stream(next_stream++, device.index()); }
  c10::Stream exchangeStream(c10::Stream next) const noexcept override {  // up to 2.6 PyTorch wants no exceptions here
    const auto before = getStream(next.device());
    if (before.id() == next.id()) return before;
    select_stream(next.device_index(), next.id());
    note_call(Call::STREAM, next.id(), 0);
    return before;
  }
  // Without "override", because PyTorch does not ask for it up to 2.10.
  void* getStreamNativeHandle(const c10::Stream stream) const {
    return reinterpret_cast<void*>(static_cast<intptr_t>(stream.id()));
  }
  bool queryStream(const c10::Stream&) const override { return true; }
  void synchronizeStream(const c10::Stream& stream) const override { note_call(Call::WAIT_STREAM, stream.id(), 0); }
  void synchronizeDevice(const c10::DeviceIndex) const override { note_call(Call::WAIT_DEVICE, 0, 0); }

  void record(void** event, const c10::Stream& stream, const c10::DeviceIndex, const c10::EventFlag flag) const override {
    if (!*event) *event = new DeviceEvent();
    auto* noted = static_cast<DeviceEvent*>(*event);
    noted->stream = stream.id();
    noted->timed = flag == c10::EventFlag::BACKEND_DEFAULT;
    ask_timer(TIMER_RECORD, *noted);
    noted->at = std::chrono::steady_clock::now();
    note_call(Call::RECORD_EVENT, stream.id(), noted->id);
  }
  void block(void* event, const c10::Stream& stream) const override {
    if (event) note_call(Call::WAIT_EVENT, stream.id(), static_cast<DeviceEvent*>(event)->id);
  }
  bool queryEvent(void*) const override { return true; }
  void synchronizeEvent(void* event) const override {
    if (!event) return;
    auto* noted = static_cast<DeviceEvent*>(event);
    note_call(Call::SYNCHRONIZE_EVENT, noted->stream, noted->id);
  }
  void destroyEvent(void* event, const c10::DeviceIndex) const noexcept override {
    auto* noted = static_cast<DeviceEvent*>(event);
    if (noted) ask_timer(TIMER_FORGET, *noted);
    delete noted;
  }
  double elapsedTime(void* begin, void* end, const c10::DeviceIndex) const override {
    TORCH_CHECK(begin && end, "elapsed_time needs both events recorded before it is asked");
    const auto &from = *static_cast<DeviceEvent*>(begin), &to = *static_cast<DeviceEvent*>(end);
    const double modelled_ms = ask_timer(TIMER_ELAPSED, from, to.id);
    return std::isnan(modelled_ms) ? std::chrono::duration<double, std::milli>(to.at - from.at).count() : modelled_ms;
  }
};

}  // namespace npu
