// Large tensors full of zeros take no memory until something is written: their pages go back to the system, which hands out new
// ones, full of zeros, when they are touched. So a cache has the size that it has on a device.
#pragma once

#include <cstdint>
#include <cstring>

#include <ATen/core/Tensor.h>
#include <c10/core/CPUAllocator.h>

#include "host.h"

namespace npu {

// Every malloc maps blocks of this size by themselves, from private memory that belongs to no file (glibc: from 32 MiB).
constexpr size_t OWN_MAPPING = size_t(64) << 20;

// Sets a tensor of the host to zero by giving its pages back; false where that is not possible, or not worth it.
inline bool zero_pages(const at::Tensor& tensor) {
  if (tensor.nbytes() < OWN_MAPPING || !tensor.is_contiguous()) return false;
  auto* malloced = c10::GetDefaultCPUAllocator();
  if (tensor.storage().data_ptr().get_deleter() != malloced->raw_deleter()) return false;  // memory of others may be a file's
  const uintptr_t page = page_bytes();
  const auto begin = reinterpret_cast<uintptr_t>(tensor.data_ptr()), end = begin + tensor.nbytes();
  const auto first = (begin + page - 1) / page * page, last = end / page * page;
  if (!return_pages(reinterpret_cast<void*>(first), last - first)) return false;
  std::memset(reinterpret_cast<void*>(begin), 0, first - begin);
  std::memset(reinterpret_cast<void*>(last), 0, end - last);
  return true;
}

}  // namespace npu
