// What PYTORCH_NPU_ALLOC_CONF tells the allocator; options come from NPUAllocatorConfig.cpp (Ascend/pytorch) and from
// c10/core/AllocatorConfig.cpp (PyTorch). They are read here, not by PyTorch: it has no reader of its own up to 2.8.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdlib>
#include <limits>
#include <mutex>
#include <string>
#include <unordered_set>

#include "compat.h"
#include "errors.h"
#include "tokens.h"

namespace npu {

constexpr int64_t MIB = 1 << 20;
constexpr int64_t LARGE_SEGMENT = 20 * MIB;       // kLargeBuffer
constexpr int64_t LEAST_LARGE_SEGMENT = 10 * MIB; // kMinLargeAlloc
constexpr int64_t ALIGNED = 16 << 10;             // kAlignRoundLarge
constexpr int64_t LEAST_SEGMENT_MB = 20, MOST_SEGMENT_MB = 512;
constexpr size_t NO_LIMIT = std::numeric_limits<size_t>::max();
// roundup_power2_divisions has a number for each doubling of the size from 1 MiB to 64 GiB.
constexpr size_t DOUBLINGS = 16;

inline bool is_power_of_two(size_t number) { return number && !(number & (number - 1)); }
inline size_t logarithm(size_t number) { return 63 - static_cast<size_t>(__builtin_clzll(number | 1)); }

class AllocatorSettings {
 public:
  static AllocatorSettings& instance() {
    static auto* settings = new AllocatorSettings();
    return *settings;
  }

  // Options that every accelerator of PyTorch has.
  static const std::unordered_set<std::string>& keys_of_pytorch() {
    static const std::unordered_set<std::string> keys{
        "max_split_size_mb", "garbage_collection_threshold", "roundup_power2_divisions", "expandable_segments",
        "pinned_use_background_threads", "large_segment_size_mb", "max_non_split_rounding_mb",
        "pinned_max_round_threshold_mb", "pinned_max_cached_size_mb"};
    return keys;
  }

  // Options of the NPU alone.
  static const std::unordered_set<std::string>& keys() {
    static const std::unordered_set<std::string> keys{
        "pin_memory_expandable_segments", "pinned_mem_register", "base_addr_aligned_kb", "page_size",
        "segment_size_mb", "multi_stream_lazy_reclaim", "pinned_reserve_segment_size_mb",
        "per_process_memory_fraction", "release_lock_on_npumalloc", "throw_on_npumalloc_oom"};
    return keys;
  }

  // Reads the environment once, at the first allocation; a text that cannot be used raises at each.
  void read_environment() {
    std::call_once(once_, [this] {
      const char *npu = std::getenv("PYTORCH_NPU_ALLOC_CONF"), *any = std::getenv("PYTORCH_ALLOC_CONF");
      TORCH_CHECK(
          !npu || !any,
          "Both PYTORCH_NPU_ALLOC_CONF and PYTORCH_ALLOC_CONF have been set, please set only one of them.", tag(OPS_VALUE));
      if (npu || any) read(npu ? npu : any);
    });
  }

  // Takes the settings that *text* names; the others stay as they are.
  void read(const std::string& text) {
    const Tokens tokens(text);
    each_key(tokens, [&](size_t i) { check_key(tokens[i]); });
    each_key(tokens, [&](size_t i) { keys().count(tokens[i]) ? read_npu(tokens, i) : read_general(tokens, i); });
    TORCH_CHECK(
        !expandable_segments || (max_split_size == NO_LIMIT && garbage_collection_threshold == 0),
        "`max_split_size_mb` or `garbage_collection_threshold`, cannot be enabled with `expandable_segments`, please set "
        "`expandable_segments` to `False`.", tag(OPS_PARAMETER));
  }

  // Bytes by which an expandable segment of large blocks grows; the newer of the two options counts.
  int64_t growth() const {
    if (whole_gigabytes) return int64_t{1} << 30;
    return large_segment_size != LARGE_SEGMENT || !segment_ ? large_segment_size.load() : segment_;
  }

  // Parts into which the doubling of *size* is divided, to which requests are rounded up; 0 for none.
  size_t divisions(size_t size) const {
    const auto doubling = logarithm(size), first = logarithm(MIB);
    return divisions_[std::min(doubling > first ? doubling - first : 0, DOUBLINGS - 1)];
  }

  std::atomic<size_t> max_split_size{NO_LIMIT};
  std::atomic<int64_t> large_segment_size{LARGE_SEGMENT};
  std::atomic<int64_t> max_non_split_rounding_size{LARGE_SEGMENT};
  std::atomic<double> garbage_collection_threshold{0};
  std::atomic<bool> expandable_segments{false};
  int64_t alignment = ALIGNED;
  double fraction = 1.0;
  bool whole_gigabytes = false;

 private:
  template <typename F>
  static void each_key(const Tokens& tokens, F&& read) {
    for (size_t i = 0; i < tokens.size(); ++i) {
      read(i);
      i = tokens.end_of_value(i);
      if (i + 1 < tokens.size()) tokens.expect(++i, ",");
    }
  }

  static void check_key(const std::string& key) {
    const bool known = keys_of_pytorch().count(key) || keys().count(key);
    TORCH_CHECK_VALUE(
        known || is_setting_of_pytorch(key), "Unrecognized key '", key, "' in NPU allocator config, ", tag(OPS_VALUE));
    TORCH_CHECK_VALUE(known, "torch_npu not support key '", key, "' in NPU allocator config, ", tag(OPS_VALUE));
  }

  // The errors have PyTorch's words.
  void read_general(const Tokens& tokens, size_t i) {
    const std::string& key = tokens[i];
    const size_t value = i + 2;
    if (key == "max_split_size_mb") {
      max_split_size = at_least_a_segment(tokens, value, key);
    } else if (key == "max_non_split_rounding_mb") {
      max_non_split_rounding_size = static_cast<int64_t>(at_least_a_segment(tokens, value, key));
    } else if (key == "large_segment_size_mb") {
      const auto bytes = MIB * static_cast<int64_t>(tokens.whole(value, key));
      TORCH_CHECK_VALUE(
          bytes > LEAST_LARGE_SEGMENT, "CachingAllocator option large_segment_size_mb must be > ",
          LEAST_LARGE_SEGMENT / MIB, " MB");
      large_segment_size = bytes;
    } else if (key == "garbage_collection_threshold") {
      const double number = tokens.number(value, key);
      TORCH_CHECK_VALUE(number > 0 && number < 1, "garbage_collect_threshold is invalid, set it in (0.0, 1.0)");
      garbage_collection_threshold = number;
    } else if (key == "roundup_power2_divisions") {
      read_divisions(tokens, value);
    } else if (key == "expandable_segments") {
      expandable_segments = tokens.flag(value);
    } else if (key == "pinned_use_background_threads") {
      tokens.flag(value);  // host memory is PyTorch's
    } else {
      tokens.whole(value, key);  // limits of host memory
    }
  }

  size_t at_least_a_segment(const Tokens& tokens, size_t i, const std::string& key) const {
    const size_t least = static_cast<size_t>(large_segment_size / MIB), number = tokens.whole(i, key);
    TORCH_CHECK_VALUE(number >= least, "CachingAllocator option ", key, " too small, must be >= ", least);
    return std::min(number, NO_LIMIT / MIB) * MIB;
  }

  // One number for all sizes, or a list: "256:8" holds up to its size in MiB first, then there; ">:2" from there on.
  void read_divisions(const Tokens& tokens, size_t i) {
    static const std::string key = "roundup_power2_divisions";
    if (tokens[i] != "[") {
      const auto parts = tokens.whole(i, key);
      TORCH_CHECK_VALUE(is_power_of_two(parts), "For roundups, the divisions has to be power of 2 ");
      divisions_.fill(parts);
      return;
    }
    size_t last = 0;
    for (bool first = true; tokens[++i] != "]"; first = false) {
      const bool rest = tokens[i] == ">";
      const size_t size = rest ? 1 : tokens.whole(i, key);
      tokens.expect(++i, ":");
      const size_t parts = tokens.whole(++i, key);
      TORCH_CHECK_VALUE(
          !parts || is_power_of_two(parts), "For roundups, the divisions has to be power of 2 or 0 to disable roundup ");
      TORCH_CHECK_VALUE(is_power_of_two(size), "For roundups, the intervals have to be power of 2 ");
      const size_t doubling = std::min(logarithm(size), DOUBLINGS - 1);
      if (rest) {
        std::fill(divisions_.begin() + static_cast<ptrdiff_t>(last), divisions_.end(), parts);
      } else {
        if (first) std::fill(divisions_.begin(), divisions_.begin() + static_cast<ptrdiff_t>(doubling), parts);
        divisions_[doubling] = parts;
        last = doubling;
      }
      if (tokens[i + 1] != "]") tokens.expect(++i, ",");
    }
  }

  void read_npu(const Tokens& tokens, size_t i) {
    const std::string& key = tokens[i];
    if (key == "page_size") {
      TORCH_CHECK(!tokens[i + 2].empty(), "page_size requires format 'page_size:1g'", tag(OPS_VALUE));
      TORCH_CHECK(tokens[i + 2] == "1g", "Unsupported page_size value: ", tokens[i + 2], tag(OPS_VALUE));
      whole_gigabytes = true;
      return;
    }
    const std::string& value = tokens[i + 2];
    TORCH_CHECK(!value.empty(), "Error, expecting ", key, " value", tag(OPS_VALUE));
    if (key == "base_addr_aligned_kb") {
      alignment = 1024 * integer(key, value, 0, ALIGNED / 1024, "must be [0~16], dtype is int");
    } else if (key == "segment_size_mb") {
      TORCH_WARN_ONCE("`segment_size_mb` is deprecated, please use `large_segment_size_mb` instead.");
      segment_ = MIB * integer(key, value, LEAST_SEGMENT_MB, MOST_SEGMENT_MB, "must be [20, 512], dtype is int");
    } else if (key == "per_process_memory_fraction") {
      const double number = tokens.number(i + 2, key);
      TORCH_CHECK(
          number >= 0.0 && number <= 1.0, "per_process_memory_fraction is invalid, set it in [0.0, 1.0]", tag(PTA_VALUE));
      fraction = number;
    } else if (key == "pinned_reserve_segment_size_mb") {
      tokens.whole(i + 2, key);  // host memory is PyTorch's
    } else {
      // Of the flags none changes where blocks are: work runs during the call, and host memory is PyTorch's.
      const bool adapters = key == "multi_stream_lazy_reclaim" || key == "release_lock_on_npumalloc" ||
                            key == "throw_on_npumalloc_oom";
      TORCH_CHECK(
          value == "True" || value == "False", "Expected a single True/False argument for ", key,
          tag(adapters ? PTA_PARAMETER : OPS_PARAMETER));
    }
  }

  static int64_t integer(const std::string& key, const std::string& text, int64_t least, int64_t most, const char* rule) {
    const bool digits = !text.empty() && std::all_of(text.begin(), text.end(), [](unsigned char c) { return std::isdigit(c); });
    TORCH_CHECK(digits, "CachingAllocator option ", key, " is invalid.");
    const int64_t number = text.size() > 9 ? most + 1 : std::stoll(text);
    TORCH_CHECK(
        number >= least && number <= most && (least || std::to_string(number).size() == text.size()),
        "CachingAllocator option ", key, " error, ", rule, tag(OPS_VALUE));
    return number;
  }

  std::once_flag once_;
  std::array<size_t, DOUBLINGS> divisions_{};
  int64_t segment_ = 0;
};

inline AllocatorSettings& settings() { return AllocatorSettings::instance(); }

// Texts that a script gives to PyTorch's own interface reach the device, too.
inline const bool settings_are_told = hear_settings(
    [](const std::string& text) { settings().read(text); }, AllocatorSettings::keys());

}  // namespace npu
