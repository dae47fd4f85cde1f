#include "trainers/model/checkpoint.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>

#include "tests/harness/unit.hpp"

using namespace laird;
using namespace laird::trainers;

namespace {

Bytes payload_of(std::string_view text) { return {text.begin(), text.end()}; }

std::string load(CheckpointFolder& folder, std::vector<std::string>* notes_out = nullptr) {
  std::string got = "nothing";
  std::vector<std::string> notes;
  (void)folder.load(
      [&](std::string_view payload) -> Status {
        if (payload == "unacceptable") return fail(Code::kRefused, "is of another run");
        got = payload;
        return {};
      },
      notes);
  if (notes_out != nullptr) *notes_out = notes;
  return got;
}

void overwrite(const std::string& path, long at, char with) {
  std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
  file.seekp(at);
  file.put(with);
}

}  // namespace

TEST(the_newest_checkpoint_is_loaded) {
  const test::TemporaryFolder temporary;
  CheckpointFolder folder(temporary.path());
  TEST_ASSERT_EQUAL_STRING("nothing", load(folder).c_str());
  TEST_ASSERT_TRUE(folder.save(payload_of("one")).has_value());
  TEST_ASSERT_TRUE(folder.save(payload_of("two")).has_value());
  TEST_ASSERT_EQUAL_STRING("two", load(folder).c_str());
}

TEST(a_damaged_newest_falls_back_and_never_replaces_the_good_one) {
  const test::TemporaryFolder temporary;
  CheckpointFolder folder(temporary.path());
  TEST_ASSERT_TRUE(folder.save(payload_of("one")).has_value());
  TEST_ASSERT_TRUE(folder.save(payload_of("two")).has_value());
  overwrite(temporary.path() + "/checkpoint.bin", 29, 'X');
  std::vector<std::string> notes;
  TEST_ASSERT_EQUAL_STRING("one", load(folder, &notes).c_str());
  TEST_ASSERT_EQUAL_UINT64(1, notes.size());
  TEST_ASSERT_NOT_NULL(std::strstr(notes[0].c_str(), "checkpoint.bin is damaged; not used"));
  TEST_ASSERT_TRUE(folder.save(payload_of("three")).has_value());
  overwrite(temporary.path() + "/checkpoint.bin", 29, 'X');
  TEST_ASSERT_EQUAL_STRING("one", load(folder).c_str());
}

TEST(a_refused_payload_is_passed_over_too) {
  const test::TemporaryFolder temporary;
  CheckpointFolder folder(temporary.path());
  TEST_ASSERT_TRUE(folder.save(payload_of("one")).has_value());
  TEST_ASSERT_TRUE(folder.save(payload_of("unacceptable")).has_value());
  TEST_ASSERT_EQUAL_STRING("one", load(folder).c_str());
}

TEST(what_a_crash_between_the_two_renames_leaves_is_loaded) {
  const test::TemporaryFolder temporary;
  CheckpointFolder folder(temporary.path());
  TEST_ASSERT_TRUE(folder.save(payload_of("one")).has_value());
  std::filesystem::rename(temporary.path() + "/checkpoint.bin",
                          temporary.path() + "/checkpoint.before.bin");
  std::ofstream(temporary.path() + "/checkpoint.tmp") << "half a file";
  TEST_ASSERT_EQUAL_STRING("one", load(folder).c_str());
  TEST_ASSERT_TRUE(folder.save(payload_of("two")).has_value());
  TEST_ASSERT_EQUAL_STRING("two", load(folder).c_str());
}

TEST(every_cut_and_every_flipped_byte_is_noticed) {
  const Bytes file = pack_checkpoint(payload_of("some weights"));
  const std::string good(file.begin(), file.end());
  TEST_ASSERT_TRUE(unpack_checkpoint(good).has_value());
  for (std::size_t n = 0; n < good.size(); ++n) {
    TEST_ASSERT_FALSE(unpack_checkpoint(std::string_view(good).substr(0, n)).has_value());
    std::string bad = good;
    bad[n] = static_cast<char>(bad[n] ^ 0x10);
    TEST_ASSERT_FALSE(unpack_checkpoint(bad).has_value());
  }
  TEST_ASSERT_FALSE(unpack_checkpoint(good + "x").has_value());
}

TEST(a_failed_save_names_the_file_and_keeps_what_is_there) {
  const test::TemporaryFolder temporary;
  CheckpointFolder absent(temporary.path() + "/absent");
  const Status s = absent.save(payload_of("one"));
  TEST_ASSERT_FALSE(s.has_value());
  TEST_ASSERT_NOT_NULL(std::strstr(s.error().context.c_str(), "/absent/checkpoint.tmp"));
  CheckpointFolder folder(temporary.path());
  TEST_ASSERT_TRUE(folder.save(payload_of("one")).has_value());
  // A folder in the way of the temporary file, as a full disk would be.
  TEST_ASSERT_EQUAL_INT(0, ::mkdir((temporary.path() + "/checkpoint.tmp").c_str(), 0700));
  TEST_ASSERT_FALSE(folder.save(payload_of("two")).has_value());
  TEST_ASSERT_EQUAL_STRING("one", load(folder).c_str());
}
