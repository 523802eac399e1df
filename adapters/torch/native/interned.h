// Numbers for what comes again and again: names of operators, and calls with their arguments.
#pragma once

#include <array>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

namespace npu {

// 128 bits, by which two byte strings are told apart: of a billion different ones, two are alike with a chance below 1e-20.
// Comparing the bytes themselves would read memory that is long out of the processor's caches.
struct Fingerprint {
  uint64_t low, high;
  bool operator==(const Fingerprint&) const = default;
};

// Two words at a time by products of 128 bits, whose halves are joined: a call has 8 to 60 words.
inline Fingerprint fingerprint_of(std::string_view bytes) {
  constexpr uint64_t FIRST = 0x9E3779B97F4A7C15ULL, SECOND = 0xD1B54A32D192ED03ULL;
  constexpr uint64_t THIRD = 0xA0761D6478BD642FULL, FOURTH = 0x8EBC6AF09C88C6E3ULL;
  const auto join = [](uint64_t left, uint64_t right) {
    const auto product = static_cast<unsigned __int128>(left) * right;
    return static_cast<uint64_t>(product) ^ static_cast<uint64_t>(product >> 64);
  };
  const auto word = [](const char* at, size_t length) {
    uint64_t found = 0;
    std::memcpy(&found, at, length);
    return found;
  };
  uint64_t low = bytes.size() * FIRST, high = bytes.size() * THIRD;
  const auto add = [&](uint64_t left, uint64_t right) {
    low = join(left ^ FIRST ^ low, right ^ SECOND);
    high = join(left ^ FOURTH, right ^ THIRD ^ high);
  };
  const char* at = bytes.data();
  size_t left = bytes.size();
  for (; left >= 16; at += 16, left -= 16) add(word(at, 8), word(at + 8, 8));
  if (left >= 8) add(word(at, 8), word(at + 8, left - 8));
  else if (left) add(word(at, left), 0);
  return {low, high};
}

// Distinct byte strings, numbered in the order in which they come. They lie one behind the other.
class Interned {
 public:
  int32_t number(std::string_view bytes) {
    if (ends_.size() * 2 >= slots_.size()) grow();
    const auto fingerprint = fingerprint_of(bytes);
    auto& slot = place(fingerprint);
    if (slot.number >= 0) return slot.number;
    slot = {fingerprint, static_cast<int32_t>(ends_.size())};
    bytes_.append(bytes);
    ends_.push_back(static_cast<int64_t>(bytes_.size()));
    return slot.number;
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
    Fingerprint fingerprint{};
    int32_t number = -1;
  };

  Slot& place(const Fingerprint& fingerprint) {
    size_t at = fingerprint.low & (slots_.size() - 1);
    while (slots_[at].number >= 0 && slots_[at].fingerprint != fingerprint) at = (at + 1) & (slots_.size() - 1);
    return slots_[at];
  }

  void grow() {
    std::vector<Slot> slots(slots_.empty() ? 16 : slots_.size() * 2);
    slots_.swap(slots);
    for (const auto& slot : slots)
      if (slot.number >= 0) place(slot.fingerprint) = slot;
  }

  std::string bytes_;
  std::vector<int64_t> ends_;
  std::vector<Slot> slots_;
};

// Names, which most often come from the same place in memory: then comparing them is enough.
class Names : public Interned {
 public:
  int32_t number_at(const char* name) {
    const auto address = reinterpret_cast<uintptr_t>(name);
    auto& last = last_[(address >> 4 ^ address >> 11) % last_.size()];
    if (last.name == name && is(last.number, name)) return last.number;
    last = {name, number(name)};
    return last.number;
  }

 private:
  // Reads no further than where *text* ends.
  bool is(int32_t number, const char* text) const {
    const auto known = (*this)[number];
    return std::strncmp(text, known.data(), known.size()) == 0 && !text[known.size()];
  }

  struct Last {
    const char* name = nullptr;
    int32_t number = -1;
  };
  std::array<Last, 256> last_{};
};

}  // namespace npu
