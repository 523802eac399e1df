// Numbers for what comes again and again: names of operators, and calls with their arguments.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

namespace npu {

// Two words at a time by one product of 128 bits, whose halves are joined: a call has 8 to 60 words.
inline uint64_t hash_of(std::string_view bytes) {
  constexpr uint64_t FIRST = 0x9E3779B97F4A7C15ULL, SECOND = 0xD1B54A32D192ED03ULL;
  const auto join = [](uint64_t left, uint64_t right) {
    const auto product = static_cast<unsigned __int128>(left) * right;
    return static_cast<uint64_t>(product) ^ static_cast<uint64_t>(product >> 64);
  };
  const auto word = [](const char* at, size_t length) {
    uint64_t found = 0;
    std::memcpy(&found, at, length);
    return found;
  };
  uint64_t hash = bytes.size() * FIRST;
  const char* at = bytes.data();
  size_t left = bytes.size();
  for (; left >= 16; at += 16, left -= 16) hash = join(word(at, 8) ^ FIRST ^ hash, word(at + 8, 8) ^ SECOND);
  if (left >= 8) {
    hash = join(word(at, 8) ^ FIRST ^ hash, word(at + 8, left - 8) ^ SECOND);
  } else if (left) {
    hash = join(word(at, left) ^ FIRST ^ hash, SECOND);
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
