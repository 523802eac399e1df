// Which device MindSpore's passes believe that they compile for.
//
// The passes that split a graph over devices refuse the CPU. Each library that reads an option of the context first calls
// `MsContext::MarkReadStatus`, by an import of its own. Two functions here stand in the places of these imports: in the
// passes that split, the option "device_target" is Ascend, everywhere else the CPU that computes. No header of MindSpore is
// needed: what is called and changed comes by address from splitting/_target.py.
#include <cstddef>
#include <cstdint>

namespace {

// A `std::string` of GNU C++ before C++11 is a pointer to the letters; a negative number of sharers forbids to share them.
struct Text {
  size_t length, capacity;
  int64_t sharers;
  char letters[8];
};

using Mark = void (*)(const void*, uint32_t);

// Filled by Python, in this order.
struct Found {
  Mark mark;
  char** option;  // where the context keeps the text
  size_t number;  // of the option among all
  uintptr_t first, end;  // the code of the passes that split
};

Found found;
Text ascend = {6, 6, -1, "Ascend"};
char* computing;
bool splitting = false;

// N8, docs/tricks.md
void read_option(const void* context, uint32_t option, bool by_pass) {
  found.mark(context, option);
  if (splitting && option == found.number) *found.option = by_pass ? ascend.letters : computing;
}

}  // namespace

extern "C" {

__attribute__((visibility("default"))) void drynpu_prepare(const Found* given) { found = *given; }

__attribute__((visibility("default"))) void drynpu_split(bool on) {
  if (on && !splitting) computing = *found.option;
  if (!on && splitting) *found.option = computing;
  splitting = on;
}

__attribute__((visibility("default"))) void drynpu_pass_reads(const void* context, uint32_t option) {
  const auto caller = reinterpret_cast<uintptr_t>(__builtin_return_address(0));
  read_option(context, option, caller >= found.first && caller < found.end);
}

__attribute__((visibility("default"))) void drynpu_other_reads(const void* context, uint32_t option) {
  read_option(context, option, false);
}
}
