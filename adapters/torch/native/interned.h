// Numbers for what comes again and again: names of operators, and calls with their arguments.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

namespace npu {

inline uint64_t hash_of(std::string_view bytes) {
  constexpr uint64_t FACTOR = 0x9E3779B97F4A7C15ULL;
  uint64_t hash = bytes.size() * FACTOR;
  const auto mix = [&](uint64_t word) {
    hash = (hash ^ word) * FACTOR;
    hash ^= hash >> 32;
  };
  const char* at = bytes.data();
  size_t left = bytes.size();
  for (; left >= 8; at += 8, left -= 8) {
    uint64_t word;
    std::memcpy(&word, at, 8);
    mix(word);
  }
  if (left) {
    uint64_t word = 0;
    std::memcpy(&word, at, left);
    mix(word);
  }
  return hash;
}

// Distinct byte strings, numbered in the order in which they come. They lie one behind the other.
class Interned {
 public:
  int32_t number(std::string_view bytes) {
    if (ends_.size() * 2 >= slots_.size()) grow();
    const uint64_t hash = hash_of(bytes);
    const auto check = static_cast<uint32_t>(hash >> 32);
    for (size_t at = hash & (slots_.size() - 1);; at = (at + 1) & (slots_.size() - 1)) {
      auto& slot = slots_[at];
      if (slot.number < 0) {
        slot = {check, static_cast<int32_t>(ends_.size())};
        bytes_.append(bytes);
        ends_.push_back(static_cast<int64_t>(bytes_.size()));
        return slot.number;
      }
      if (slot.check == check && (*this)[slot.number] == bytes) return slot.number;
    }
  }

  std::string_view operator[](int32_t number) const {
    const auto at = static_cast<size_t>(number);
    const auto begin = at ? static_cast<size_t>(ends_[at - 1]) : 0;
    return std::string_view(bytes_).substr(begin, static_cast<size_t>(ends_[at]) - begin);
  }

  size_t size() const { return ends_.size(); }
  const std::string& bytes() const { return bytes_; }
  const std::vector<int64_t>& ends() const { return ends_; }

 private:
  struct Slot {
    uint32_t check = 0;
    int32_t number = -1;
  };

  void grow() {
    std::vector<Slot> slots(slots_.empty() ? 16 : slots_.size() * 2);
    slots_.swap(slots);
    for (size_t number = 0; number < ends_.size(); ++number) {
      const uint64_t hash = hash_of((*this)[static_cast<int32_t>(number)]);
      size_t at = hash & (slots_.size() - 1);
      while (slots_[at].number >= 0) at = (at + 1) & (slots_.size() - 1);
      slots_[at] = {static_cast<uint32_t>(hash >> 32), static_cast<int32_t>(number)};
    }
  }

  std::string bytes_;
  std::vector<int64_t> ends_;
  std::vector<Slot> slots_;
};

}  // namespace npu
