// What PYTORCH_NPU_ALLOC_CONF tells the allocator; options come from NPUAllocatorConfig.cpp (Ascend/pytorch). Options
// that every accelerator of PyTorch has are read and checked by PyTorch itself.
#pragma once

#include <cstdlib>
#include <mutex>
#include <string>
#include <unordered_set>

#include <c10/core/AllocatorConfig.h>

#include "errors.h"

namespace npu {

using PyTorchSettings = c10::CachingAllocator::AcceleratorAllocatorConfig;
using Tokens = c10::CachingAllocator::ConfigTokenizer;

constexpr int64_t LARGE_SEGMENT = 20 << 20;       // kLargeBuffer
constexpr int64_t ALIGNED = 16 << 10;             // kAlignRoundLarge
constexpr int64_t MIB = 1 << 20;
constexpr int64_t LEAST_SEGMENT_MB = 20, MOST_SEGMENT_MB = 512;

// The options of the NPU alone.
class AllocatorSettings {
 public:
  static AllocatorSettings& instance() {
    static auto* settings = new AllocatorSettings();
    return *settings;
  }

  static const std::unordered_set<std::string>& getKeys() {
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
      if (npu || any) parseArgs(npu ? npu : any);
    });
  }

  // Named as PyTorch calls the hooks of accelerators.
  void parseArgs(const std::string& text) {
    if (text.empty()) return;
    const Tokens tokens(text);
    each_key(tokens, [&](size_t i) {
      check_key(tokens[i]);
      return tokens.skipKey(i);
    });
    PyTorchSettings::instance().parseArgs(text);
    each_key(tokens, [&](size_t i) { return getKeys().count(tokens[i]) ? parse(tokens, i) : tokens.skipKey(i); });
    TORCH_CHECK(
        !PyTorchSettings::use_expandable_segments() ||
            (PyTorchSettings::max_split_size() == std::numeric_limits<size_t>::max() &&
             PyTorchSettings::garbage_collection_threshold() == 0),
        "`max_split_size_mb` or `garbage_collection_threshold`, cannot be enabled with `expandable_segments`, please set "
        "`expandable_segments` to `False`.", tag(OPS_PARAMETER));
  }

  // Bytes by which an expandable segment of large blocks grows; the newer of the two options counts.
  int64_t growth() const {
    if (whole_gigabytes) return int64_t{1} << 30;
    const auto large = static_cast<int64_t>(PyTorchSettings::large_segment_size());
    return large != LARGE_SEGMENT || !segment_ ? large : segment_;
  }

  int64_t alignment = ALIGNED;
  double fraction = 1.0;
  bool whole_gigabytes = false;

 private:
  template <typename F>
  static void each_key(const Tokens& tokens, F&& read) {
    for (size_t i = 0; i < tokens.size(); ++i) {
      i = read(i);
      if (i + 1 < tokens.size()) tokens.checkToken(++i, ",");
    }
  }

  static void check_key(const std::string& key) {
    static const std::unordered_set<std::string> of_pytorch{
        "max_split_size_mb", "garbage_collection_threshold", "roundup_power2_divisions", "expandable_segments",
        "pinned_use_background_threads", "large_segment_size_mb", "max_non_split_rounding_mb",
        "pinned_max_round_threshold_mb", "pinned_max_cached_size_mb"};
    const bool known = of_pytorch.count(key) || getKeys().count(key);
    TORCH_CHECK_VALUE(
        known || PyTorchSettings::getKeys().count(key), "Unrecognized key '", key, "' in NPU allocator config, ",
        tag(OPS_VALUE));
    TORCH_CHECK_VALUE(known, "torch_npu not support key '", key, "' in NPU allocator config, ", tag(OPS_VALUE));
  }

  size_t parse(const Tokens& tokens, size_t i) {
    const std::string& key = tokens[i];
    if (key == "page_size") {
      TORCH_CHECK(i + 2 < tokens.size(), "page_size requires format 'page_size:1g'", tag(OPS_VALUE));
      TORCH_CHECK(tokens[i + 2] == "1g", "Unsupported page_size value: ", tokens[i + 2], tag(OPS_VALUE));
      whole_gigabytes = true;
      return i + 2;
    }
    TORCH_CHECK(i + 2 < tokens.size(), "Error, expecting ", key, " value", tag(OPS_VALUE));
    const std::string& value = tokens[i + 2];
    if (key == "base_addr_aligned_kb") {
      alignment = 1024 * integer(key, value, 0, ALIGNED / 1024, "must be [0~16], dtype is int");
    } else if (key == "segment_size_mb") {
      TORCH_WARN_ONCE("`segment_size_mb` is deprecated, please use `large_segment_size_mb` instead.");
      segment_ = MIB * integer(key, value, LEAST_SEGMENT_MB, MOST_SEGMENT_MB, "must be [20, 512], dtype is int");
    } else if (key == "per_process_memory_fraction") {
      const double number = tokens.toDouble(i + 2);
      TORCH_CHECK(
          number >= 0.0 && number <= 1.0, "per_process_memory_fraction is invalid, set it in [0.0, 1.0]", tag(PTA_VALUE));
      fraction = number;
    } else if (key == "pinned_reserve_segment_size_mb") {
      tokens.toSizeT(i + 2);  // host memory is PyTorch's
    } else {
      // Of the flags none changes where blocks are: work runs during the call, and host memory is PyTorch's.
      const bool adapters = key == "multi_stream_lazy_reclaim" || key == "release_lock_on_npumalloc" ||
                            key == "throw_on_npumalloc_oom";
      TORCH_CHECK(
          value == "True" || value == "False", "Expected a single True/False argument for ", key,
          tag(adapters ? PTA_PARAMETER : OPS_PARAMETER));
    }
    return i + 2;
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
  int64_t segment_ = 0;
};

inline AllocatorSettings& settings() { return AllocatorSettings::instance(); }

REGISTER_ALLOCATOR_CONFIG_PARSE_HOOK(AllocatorSettings)

}  // namespace npu
