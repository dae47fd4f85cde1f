#include "cell/guards/landlock.hpp"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <map>

#include "tests/harness/unit.hpp"

using namespace laird;
using namespace laird::cell;

namespace {

// A file system of three levels.
std::vector<std::string> entries(const std::string& folder) {
  static const std::map<std::string, std::vector<std::string>> kAll = {
      {"/", {"usr", "srv", "etc"}},
      {"/srv", {"ann", "bob"}},
      {"/srv/ann", {"state", "data", "state2"}},
      {"/etc", {"key", "passwd"}}};
  const auto found = kAll.find(folder);
  return found == kAll.end() ? std::vector<std::string>() : found->second;
}

std::string joined(const std::vector<std::string>& all) {
  std::string out;
  for (const std::string& text : all) out += (out.empty() ? "" : " ") + text;
  return out;
}

}  // namespace

TEST(everything_is_open_but_what_is_hidden) {
  TEST_ASSERT_EQUAL_STRING("/", joined(all_but({}, entries)).c_str());
  TEST_ASSERT_EQUAL_STRING("/usr /srv/ann/data /srv/ann/state2 /srv/bob /etc/passwd",
                           joined(all_but({"/etc/key", "/srv/ann/state"}, entries)).c_str());
  TEST_ASSERT_EQUAL_STRING("/usr /etc", joined(all_but({"/srv", "/srv/ann"}, entries)).c_str());
}

TEST(a_confined_process_reads_and_writes_only_what_is_open_to_it) {
  if (landlock_version() == 0) TEST_IGNORE_MESSAGE("this kernel has no Landlock");
  const test::TemporaryFolder folder;
  std::ofstream(folder.path() + "/secret") << "s";
  ::mkdir((folder.path() + "/own").c_str(), 0700);
  const pid_t child = ::fork();
  if (child == 0) {
    ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    Guards guards;
    confine_paths({all_but({folder.path() + "/secret"}, entries_of), {folder.path() + "/own"}, {}},
                  guards);
    int wrong = guards.has(Guard::kPaths) ? 0 : 1;
    if (::open((folder.path() + "/secret").c_str(), O_RDONLY) >= 0) wrong |= 2;
    if (::open((folder.path() + "/new").c_str(), O_CREAT | O_WRONLY, 0600) >= 0) wrong |= 4;
    if (::open((folder.path() + "/own/new").c_str(), O_CREAT | O_WRONLY, 0600) < 0) wrong |= 8;
    if (::open("/etc/passwd", O_RDONLY) < 0) wrong |= 16;
    ::_exit(wrong);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  TEST_ASSERT_EQUAL_INT(0, status);
}
