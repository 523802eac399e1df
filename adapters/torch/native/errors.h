// The tag that torch_npu appends to its errors (NPUException.cpp, Ascend/pytorch).
#pragma once

#include <unistd.h>

#include <cstdlib>
#include <ctime>
#include <string>

#include "device.h"

namespace npu {

// Code and meaning of an error of the device's operators and settings (OPS) or of PyTorch's adapter for it (PTA).
constexpr const char* OPS_PARAMETER = "ERR01001 OPS invalid parameter";
constexpr const char* OPS_VALUE = "ERR01003 OPS invalid value";
constexpr const char* OPS_NOT_SUPPORTED = "ERR01007 OPS feature not supported";
constexpr const char* PTA_PARAMETER = "ERR00001 PTA invalid parameter";
constexpr const char* PTA_VALUE = "ERR00003 PTA invalid value";
constexpr const char* PTA_ACL_FAILED = "ERR00100 PTA call acl api failed";
constexpr const char* PTA_NOT_SUPPORTED = "ERR00007 PTA feature not supported";

// Returns a line with time, process, device, rank and *code*, to be appended to the text of an error.
inline std::string tag(const char* code) {
  const char* compact = std::getenv("TORCH_NPU_COMPACT_ERROR_OUTPUT");
  if (compact && std::string(compact) == "1") return "";
  const char* rank = std::getenv("RANK");
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  localtime_r(&now, &parts);
  char moment[32];
  std::strftime(moment, sizeof moment, "%Y-%m-%d-%H:%M:%S", &parts);
  return c10::str("\n[ERROR] ", moment, " (PID:", getpid(), ", Device:", static_cast<int>(current_device), ", RankID:",
                  rank ? rank : "-1", ") ", code);
}

// The error of aclrtSetDevice, as of DeviceState.out_of_range in Python.
inline std::string index_error(c10::DeviceIndex index) {
  return c10::str(
      "ExchangeDevice:drynpu NPU function error: c10_npu::SetDevice(device), error code is 107001", tag(PTA_ACL_FAILED),
      "\n[Error]: Invalid device ID.\n        Check whether the device ID is valid.\n        "
      "EE1001: Set device failed, invalid device, set device=", static_cast<int>(index), ", valid device range is [0, ",
      device_count.load(), "). DRYNPU_DEVICES sets how many devices there are.");
}

}  // namespace npu
