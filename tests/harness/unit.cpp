#include "tests/harness/unit.hpp"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string_view>
#include <vector>

namespace {

struct Case {
  std::string file;
  int line;
  const char* name;
  void (*body)();
};

std::vector<Case>& cases() {
  static std::vector<Case> all;
  return all;
}

}  // namespace

extern "C" void setUp(void) {}
extern "C" void tearDown(void) {}

namespace laird::test {

Registration::Registration(const char* file, int line, const char* name, void (*body)()) {
  cases().push_back(Case{std::filesystem::path(file).stem().string(), line, name, body});
}

void skip_if_emulated() {
#ifdef LAIRD_EMULATED
  TEST_IGNORE_MESSAGE("the kernel starts no program of this build: it is for another machine");
#endif
}

std::string shared_data_or_skip() {
  const char* folder = std::getenv("LAIRD_SHARED_DATA");
  if (folder == nullptr || !std::filesystem::is_directory(folder)) {
    TEST_IGNORE_MESSAGE("skipped: LAIRD_SHARED_DATA names no folder of captures and curves");
  }
  return folder;
}

TemporaryFolder::TemporaryFolder() {
  std::string pattern = (std::filesystem::temp_directory_path() / "laird-test-XXXXXX").string();
  if (mkdtemp(pattern.data()) == nullptr) {
    std::perror("mkdtemp");
    std::abort();
  }
  path_ = pattern;
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

}  // namespace laird::test

int main(int argc, char** argv) {
  std::string_view file;
  std::string_view name;
  for (int i = 1; i < argc; ++i) {
    const std::string_view arg = argv[i];
    if (arg == "--list") {
      for (const Case& c : cases()) std::printf("%s %s\n", c.file.c_str(), c.name);
      return 0;
    }
    if (arg == "--file" && i + 1 < argc) file = argv[++i];
    if (arg == "--name" && i + 1 < argc) name = argv[++i];
  }
  // Nothing is left in the buffer when a test forks: under ThreadSanitizer _exit() writes it out,
  // in the child, to whatever stands in for its output by then.
  std::setvbuf(stdout, nullptr, _IOLBF, 0);
  UnityBegin(argv[0]);
  int ran = 0;
  for (const Case& c : cases()) {
    if (!file.empty() && c.file != file) continue;
    if (!name.empty() && std::strstr(c.name, std::string(name).c_str()) == nullptr) continue;
    Unity.TestFile = c.file.c_str();
    UnityDefaultTestRun(c.body, c.name, c.line);
    ++ran;
  }
  const auto ignored = Unity.TestIgnores;
  const int failures = UnityEnd();
  if (ran == 0) {
    std::printf("no test matched\n");
    return 1;
  }
  if (failures == 0 && static_cast<int>(ignored) == ran) {
    std::printf("every test of this file was skipped\n");
  }
  return failures == 0 ? 0 : 1;
}
