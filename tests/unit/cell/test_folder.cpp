#include "cell/folder.hpp"

#include <fcntl.h>
#include <linux/fs.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <thread>

#include "tests/harness/unit.hpp"

using namespace laird;
using namespace laird::cell;
namespace fs = std::filesystem;

namespace {

constexpr uid_t kOther = 65534;

Owner self() { return {::geteuid(), ::getegid()}; }

struct stat status_of(const std::string& path) {
  struct stat info {};
  TEST_ASSERT_EQUAL_INT(0, ::lstat(path.c_str(), &info));
  return info;
}

}  // namespace

TEST(a_new_folder_is_open_to_its_owner_alone) {
  const test::TemporaryFolder folder;
  TEST_ASSERT_TRUE(take_folder(folder.path(), "t-1", self(), self()).has_value());
  TEST_ASSERT_EQUAL_INT(0700, status_of(folder.path() + "/t-1").st_mode & 07777);
}

TEST(an_old_folder_is_closed_to_others) {
  const test::TemporaryFolder folder;
  fs::create_directory(folder.path() + "/t-1");
  ::chmod((folder.path() + "/t-1").c_str(), 0755);
  TEST_ASSERT_TRUE(take_folder(folder.path(), "t-1", self(), self()).has_value());
  TEST_ASSERT_EQUAL_INT(0700, status_of(folder.path() + "/t-1").st_mode & 07777);
}

TEST(a_link_in_the_folders_place_is_refused) {
  const test::TemporaryFolder folder;
  fs::create_directory(folder.path() + "/elsewhere");
  fs::create_symlink(folder.path() + "/elsewhere", folder.path() + "/t-1");
  TEST_ASSERT_FALSE(take_folder(folder.path(), "t-1", self(), self()).has_value());
}

TEST(two_do_not_have_one_folder) {
  const test::TemporaryFolder folder;
  Result<Fd> first = take_folder(folder.path(), "t-1", self(), self());
  TEST_ASSERT_TRUE(first.has_value());
  const Result<Fd> second = take_folder(folder.path(), "t-1", self(), self());
  TEST_ASSERT_FALSE(second.has_value());
  TEST_ASSERT_TRUE(second.error().context.find("another trainer") != std::string::npos);
  first->reset();
  TEST_ASSERT_TRUE(take_folder(folder.path(), "t-1", self(), self()).has_value());
}

TEST(only_the_agents_own_files_change_hands) {
  if (::geteuid() != 0) TEST_IGNORE_MESSAGE("only root gives files away");
  const test::TemporaryFolder folder;
  const std::string at = folder.path() + "/t-1";
  fs::create_directories(at + "/deep");
  std::ofstream(at + "/checkpoint.bin") << "c";
  std::ofstream(at + "/deep/more") << "c";
  std::ofstream(folder.path() + "/secret") << "s";
  fs::create_hard_link(folder.path() + "/secret", at + "/hard");
  fs::create_symlink(folder.path() + "/secret", at + "/soft");
  std::ofstream(at + "/thirds") << "t";
  TEST_ASSERT_EQUAL_INT(0, ::chown((at + "/thirds").c_str(), 1234, 1234));
  TEST_ASSERT_TRUE(take_folder(folder.path(), "t-1", self(), {kOther, kOther}).has_value());
  TEST_ASSERT_EQUAL_UINT32(kOther, status_of(at).st_uid);
  TEST_ASSERT_EQUAL_UINT32(kOther, status_of(at + "/checkpoint.bin").st_uid);
  TEST_ASSERT_EQUAL_UINT32(kOther, status_of(at + "/deep/more").st_uid);
  TEST_ASSERT_EQUAL_UINT32(0, status_of(folder.path() + "/secret").st_uid);
  TEST_ASSERT_EQUAL_UINT32(1234, status_of(at + "/thirds").st_uid);
  // Whose it is now takes it again, and a third one does not.
  TEST_ASSERT_TRUE(take_folder(folder.path(), "t-1", self(), {kOther, kOther}).has_value());
  TEST_ASSERT_FALSE(take_folder(folder.path(), "t-1", {1, 1}, {1, 1}).has_value());
}

TEST(what_a_folder_holds_is_counted_with_what_is_below) {
  const test::TemporaryFolder folder;
  fs::create_directory(folder.path() + "/deep");
  std::ofstream(folder.path() + "/deep/a") << std::string(1'000'000, 'a');
  for (int i = 0; i < 100; ++i) std::ofstream(folder.path() + "/empty" + std::to_string(i)) << "";
  const Used used = folder_used(folder.path());
  TEST_ASSERT_TRUE(used.all_seen);
  TEST_ASSERT_TRUE(used.bytes >= 1'100'000 && used.bytes < 2'000'000);
}

TEST(a_file_without_a_name_is_counted_while_it_is_open) {
  const test::TemporaryFolder folder;
  const std::string path = folder.path() + "/gone";
  const std::uint64_t before = nameless_used("/proc/self/task");
  const Fd file(::open(path.c_str(), O_CREAT | O_RDWR | O_CLOEXEC, 0600));
  const std::string block(3'000'000, 'x');
  TEST_ASSERT_TRUE(::write(file.get(), block.data(), block.size()) > 0);
  ::unlink(path.c_str());
  TEST_ASSERT_TRUE(nameless_used("/proc/self/task") >= before + 2'000'000);
}

TEST(a_folder_is_emptied_but_for_its_models_and_links_are_not_followed) {
  const test::TemporaryFolder folder;
  const std::string at = folder.path() + "/t-1";
  fs::create_directories(at + "/deep/deeper");
  fs::create_directories(at + "/promoted/versions");
  std::ofstream(at + "/deep/deeper/more") << "c";
  std::ofstream(at + "/checkpoint.bin") << "c";
  std::ofstream(at + "/promoted/versions/model") << "m";
  std::ofstream(at + "/privacy-spent.json") << "{}";
  fs::create_directories(folder.path() + "/elsewhere");
  std::ofstream(folder.path() + "/elsewhere/kept") << "k";
  fs::create_symlink(folder.path() + "/elsewhere", at + "/linked");
  const Result<Fd> taken = take_folder(folder.path(), "t-1", self(), self());
  TEST_ASSERT_TRUE(taken.has_value());
  TEST_ASSERT_TRUE(empty_folder(taken->get(), {kModelsKept, kToldKept}).has_value());
  TEST_ASSERT_TRUE(fs::exists(at + "/privacy-spent.json"));
  TEST_ASSERT_FALSE(fs::exists(at + "/checkpoint.bin"));
  TEST_ASSERT_FALSE(fs::exists(at + "/deep"));
  TEST_ASSERT_FALSE(fs::is_symlink(at + "/linked"));
  TEST_ASSERT_TRUE(fs::exists(at + "/promoted/versions/model"));
  TEST_ASSERT_TRUE(fs::exists(folder.path() + "/elsewhere/kept"));
}

TEST(what_a_run_left_goes_aside_for_the_next_one_once) {
  const test::TemporaryFolder folder;
  const std::string at = folder.path() + "/night";
  fs::create_directories(at + "/promoted/versions");
  const Result<Fd> taken = take_folder(folder.path(), "night", self(), self());
  TEST_ASSERT_TRUE(taken.has_value());
  std::ofstream(at + "/checkpoint.bin") << "one";
  TEST_ASSERT_TRUE(keep_warm(taken->get(), 1).has_value());
  TEST_ASSERT_TRUE(fs::exists(at + "/warm/checkpoint.bin"));
  TEST_ASSERT_FALSE(fs::exists(at + "/checkpoint.bin"));
  TEST_ASSERT_TRUE(fs::exists(at + "/promoted/versions"));
  // The next run failed before it had anything to keep: the same model again, without its rubbish.
  std::ofstream(at + "/rubbish") << "r";
  TEST_ASSERT_TRUE(keep_warm(taken->get(), 1).has_value());
  TEST_ASSERT_TRUE(fs::exists(at + "/warm/checkpoint.bin"));
  TEST_ASSERT_FALSE(fs::exists(at + "/rubbish"));
  TEST_ASSERT_FALSE(fs::exists(at + "/warm/rubbish"));
  // Another model takes its place, whole.
  std::ofstream(at + "/checkpoint.bin") << "two";
  TEST_ASSERT_TRUE(keep_warm(taken->get(), 2).has_value());
  std::string text;
  std::ifstream(at + "/warm/checkpoint.bin") >> text;
  TEST_ASSERT_EQUAL_STRING("two", text.c_str());
  TEST_ASSERT_FALSE(fs::exists(at + "/warm/warm"));
  TEST_ASSERT_FALSE(fs::exists(at + "/warm.next"));
}

TEST(a_model_that_was_going_aside_at_a_power_cut_arrives) {
  // The folder as it stands after each of the steps.
  for (int step = 0; step < 4; ++step) {
    const test::TemporaryFolder folder;
    const std::string at = folder.path() + "/night";
    fs::create_directories(at + (step < 3 ? "/warm" : "/elsewhere"));
    const Result<Fd> taken = take_folder(folder.path(), "night", self(), self());
    TEST_ASSERT_TRUE(taken.has_value());
    const std::string there = step == 0 ? at : at + "/warm.next";
    fs::create_directories(there);
    std::ofstream(there + "/checkpoint.bin") << "model";
    std::ofstream((step == 1 ? at : there) + "/checkpoint.before.bin") << "before";
    if (step >= 2) std::ofstream(there + "/.of-7") << "";
    TEST_ASSERT_TRUE(keep_warm(taken->get(), 7).has_value());
    TEST_ASSERT_TRUE(fs::exists(at + "/warm/checkpoint.bin"));
    TEST_ASSERT_TRUE(fs::exists(at + "/warm/checkpoint.before.bin"));
    TEST_ASSERT_FALSE(fs::exists(at + "/warm.next"));
    TEST_ASSERT_FALSE(fs::exists(at + "/checkpoint.bin"));
  }
}

TEST(a_trainer_that_puts_links_into_the_way_leads_nowhere) {
  const test::TemporaryFolder folder;
  const std::string at = folder.path() + "/night";
  fs::create_directories(folder.path() + "/elsewhere");
  std::ofstream(folder.path() + "/elsewhere/kept") << "k";
  const Result<Fd> taken = take_folder(folder.path(), "night", self(), self());
  TEST_ASSERT_TRUE(taken.has_value());
  fs::create_symlink(folder.path() + "/elsewhere", at + "/warm");
  fs::create_symlink(folder.path() + "/elsewhere", at + "/warm.next");
  std::ofstream(at + "/checkpoint.bin") << "model";
  TEST_ASSERT_TRUE(keep_warm(taken->get(), 3).has_value());
  TEST_ASSERT_FALSE(fs::is_symlink(at + "/warm"));
  TEST_ASSERT_TRUE(fs::exists(at + "/warm/checkpoint.bin"));
  TEST_ASSERT_TRUE(fs::exists(folder.path() + "/elsewhere/kept"));
  TEST_ASSERT_FALSE(fs::exists(folder.path() + "/elsewhere/checkpoint.bin"));
}

TEST(a_link_that_takes_warm_nexts_place_meanwhile_leads_nowhere) {
  // Many times over: each meets the link at other steps.
  for (int round = 0; round < 100; ++round) {
    const test::TemporaryFolder folder;
    const std::string at = folder.path() + "/night";
    fs::create_directories(folder.path() + "/elsewhere");
    const Result<Fd> taken = take_folder(folder.path(), "night", self(), self());
    TEST_ASSERT_TRUE(taken.has_value());
    std::ofstream(at + "/checkpoint.bin") << "model";
    fs::create_directory(at + "/warm.next");
    const std::string link = folder.path() + "/link";
    fs::create_symlink(folder.path() + "/elsewhere", link);
    std::atomic<int> swapped{0};
    std::atomic<bool> over{false};
    // Another program of the trainers' user, which puts the link there and takes it back.
    std::thread swaps([&] {
      for (; !over; ++swapped) {
        ::syscall(SYS_renameat2, AT_FDCWD, link.c_str(), taken->get(), "warm.next",
                  RENAME_EXCHANGE);
      }
    });
    while (swapped < 2) std::this_thread::yield();
    // It may fail, and the next start tries again; what it may not is write elsewhere.
    static_cast<void>(keep_warm(taken->get(), 3));
    over = true;
    swaps.join();
    TEST_ASSERT_TRUE(fs::is_empty(folder.path() + "/elsewhere"));
  }
}

TEST(a_trainers_pipe_with_the_marks_name_holds_nobody_up) {
  const test::TemporaryFolder folder;
  const std::string at = folder.path() + "/night";
  const Result<Fd> taken = take_folder(folder.path(), "night", self(), self());
  TEST_ASSERT_TRUE(taken.has_value());
  std::ofstream(at + "/checkpoint.bin") << "model";
  TEST_ASSERT_EQUAL_INT(0, ::mkfifo((at + "/.of-3").c_str(), 0600));
  TEST_ASSERT_TRUE(keep_warm(taken->get(), 3).has_value());
  TEST_ASSERT_TRUE(fs::exists(at + "/warm/checkpoint.bin"));
  TEST_ASSERT_TRUE(S_ISREG(status_of(at + "/warm/.of-3").st_mode));
}

TEST(the_agent_may_look_into_the_folder_of_another_users_trainer) {
  if (::geteuid() != 0) TEST_IGNORE_MESSAGE("only root gives files away");
  const test::TemporaryFolder folder;
  const Owner agent{1234, 1235};
  fs::create_directory(folder.path() + "/t-1");
  TEST_ASSERT_EQUAL_INT(0, ::chown((folder.path() + "/t-1").c_str(), 1234, 1235));
  TEST_ASSERT_TRUE(take_folder(folder.path(), "t-1", agent, {kOther, kOther}).has_value());
  const struct stat info = status_of(folder.path() + "/t-1");
  TEST_ASSERT_EQUAL_INT(0750, info.st_mode & 07777);
  TEST_ASSERT_EQUAL_UINT32(kOther, info.st_uid);
  TEST_ASSERT_EQUAL_UINT32(1235, info.st_gid);
}
