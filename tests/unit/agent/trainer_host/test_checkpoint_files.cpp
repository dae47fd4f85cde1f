#include "agent/trainer_host/checkpoint_files.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "agent/core/state/limits.hpp"
#include "tests/harness/unit.hpp"

using namespace laird;
using namespace laird::agent;

namespace {

void write(const std::string& path, const std::string& bytes) { std::ofstream(path) << bytes; }

std::string read(const std::string& path) {
  std::ifstream in(path);
  return std::string(std::istreambuf_iterator<char>(in), {});
}

}  // namespace

TEST(the_plain_files_of_a_checkpoint_travel_and_nothing_else) {
  const test::TemporaryFolder folder;
  const std::string& at = folder.path();
  write(at + "/checkpoint.bin", "new");
  write(at + "/state.0", std::string("\0with zero", 10));
  write(at + "/checkpoint.before.bin", "old");
  write(at + "/checkpoint.tmp", "half");
  write(at + "/checkpoint.damaged.bin", "bad");
  write(at + "/model-for-peers.bin", "parts");
  write(at + "/.hidden", "x");
  write(at + "/empty", "");
  std::filesystem::create_directories(at + "/promoted");
  write(at + "/promoted/model.onnx", "model");
  TEST_ASSERT_EQUAL_INT(0, ::symlink("/etc/passwd", (at + "/link").c_str()));
  TEST_ASSERT_EQUAL_INT(0, ::mkfifo((at + "/pipe").c_str(), 0600));
  const CheckpointFiles got = read_checkpoint_files(at);
  TEST_ASSERT_FALSE(got.too_large);
  TEST_ASSERT_EQUAL(2, got.files.size());
  TEST_ASSERT_EQUAL_STRING("checkpoint.bin", got.files[0].name.c_str());
  TEST_ASSERT_EQUAL_STRING("state.0", got.files[1].name.c_str());
  TEST_ASSERT_EQUAL(10, got.files[1].bytes.size());
}

TEST(a_checkpoint_that_is_too_large_or_too_many_files_does_not_travel_at_all) {
  const test::TemporaryFolder large;
  write(large.path() + "/a", "small");
  write(large.path() + "/b", std::string(core::kCheckpointCopyBytesMax, 'b'));
  CheckpointFiles got = read_checkpoint_files(large.path());
  TEST_ASSERT_TRUE(got.too_large && got.files.empty());
  const test::TemporaryFolder many;
  for (std::size_t i = 0; i <= core::kCheckpointFilesMax; ++i) {
    write(many.path() + "/f" + std::to_string(i), "x");
  }
  got = read_checkpoint_files(many.path());
  TEST_ASSERT_TRUE(got.too_large && got.files.empty());
  got = read_checkpoint_files(many.path() + "/nothing");
  TEST_ASSERT_TRUE(!got.too_large && got.files.empty());
}

TEST(what_came_replaces_what_was_in_the_folder_but_for_the_models) {
  const test::TemporaryFolder folder;
  const std::string at = folder.path() + "/tasks/t";
  TEST_ASSERT_TRUE(place_checkpoint_files(at, {{"checkpoint.bin", "one"}}).has_value());
  TEST_ASSERT_EQUAL_STRING("one", read(at + "/checkpoint.bin").c_str());
  write(at + "/checkpoint.before.bin", "old");
  std::filesystem::create_directories(at + "/promoted");
  write(at + "/promoted/model.onnx", "model");
  TEST_ASSERT_TRUE(place_checkpoint_files(at, {{"state.1", "two"}}).has_value());
  TEST_ASSERT_FALSE(std::filesystem::exists(at + "/checkpoint.bin"));
  TEST_ASSERT_FALSE(std::filesystem::exists(at + "/checkpoint.before.bin"));
  TEST_ASSERT_EQUAL_STRING("two", read(at + "/state.1").c_str());
  TEST_ASSERT_EQUAL_STRING("model", read(at + "/promoted/model.onnx").c_str());
  for (const char* name : {"../out", "a/b", ".x", ""}) {
    TEST_ASSERT_FALSE(place_checkpoint_files(at, {{name, "x"}}).has_value());
  }
  TEST_ASSERT_FALSE(std::filesystem::exists(folder.path() + "/tasks/out"));
}

TEST(a_folder_that_is_a_link_is_left_alone) {
  const test::TemporaryFolder folder;
  std::filesystem::create_directories(folder.path() + "/elsewhere");
  std::filesystem::create_directories(folder.path() + "/tasks");
  std::filesystem::create_directory_symlink(folder.path() + "/elsewhere",
                                            folder.path() + "/tasks/t");
  TEST_ASSERT_FALSE(place_checkpoint_files(folder.path() + "/tasks/t", {{"a", "x"}}).has_value());
  TEST_ASSERT_FALSE(std::filesystem::exists(folder.path() + "/elsewhere/a"));
}
