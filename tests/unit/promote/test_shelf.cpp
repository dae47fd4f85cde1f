#include "promote/shelf/shelf.hpp"

#include <filesystem>
#include <fstream>

#include "base/sha256.hpp"
#include "tests/harness/unit.hpp"

using namespace laird;
using namespace laird::promote;
namespace fs = std::filesystem;

namespace {

void place(Shelf& shelf, const std::string& from, const std::string& text) {
  std::ofstream(from) << text;
  const Result<Draft> draft = shelf.begin();
  TEST_ASSERT_TRUE(draft.has_value());
  TEST_ASSERT_TRUE(shelf.put(*draft, from, "model.onnx", sha256_of(text)).has_value());
  TEST_ASSERT_TRUE(shelf.commit(*draft, json::Value::object().set("text", text)).has_value());
}

std::string current_text(const std::string& folder) {
  std::ifstream file(folder + "/current/model.onnx");
  std::string text;
  std::getline(file, text);
  return text;
}

}  // namespace

TEST(versions_follow_each_other_and_two_are_kept) {
  const test::TemporaryFolder folder;
  const std::string out = folder.path() + "/shelf";
  Result<Shelf> shelf = Shelf::open(out);
  TEST_ASSERT_TRUE(shelf.has_value());
  TEST_ASSERT_FALSE(current_of(out).has_value());
  for (const char* text : {"one", "two", "three"}) {
    place(*shelf, folder.path() + "/from", text);
    TEST_ASSERT_EQUAL_STRING(text, current_text(out).c_str());
  }
  TEST_ASSERT_EQUAL_STRING("000003", current_of(out)->c_str());
  TEST_ASSERT_FALSE(fs::exists(out + "/versions/000001"));
  TEST_ASSERT_EQUAL_STRING("000002", shelf->rollback()->c_str());
  TEST_ASSERT_EQUAL_STRING("two", current_text(out).c_str());
  // What was before that is gone.
  TEST_ASSERT_FALSE(shelf->rollback().has_value());
  // The next one has a number of its own, though the link points back.
  place(*shelf, folder.path() + "/from", "four");
  TEST_ASSERT_EQUAL_STRING("000004", current_of(out)->c_str());
}

TEST(a_draft_that_was_left_is_no_version) {
  const test::TemporaryFolder folder;
  Result<Shelf> shelf = Shelf::open(folder.path());
  place(*shelf, folder.path() + "/from", "one");
  const Result<Draft> left = shelf->begin();
  TEST_ASSERT_TRUE(fs::exists(left->folder));
  TEST_ASSERT_EQUAL_STRING("one", current_text(folder.path()).c_str());
  place(*shelf, folder.path() + "/from", "two");
  TEST_ASSERT_FALSE(fs::exists(left->folder));
  TEST_ASSERT_EQUAL_STRING("two", current_text(folder.path()).c_str());
}

TEST(a_file_with_another_hash_is_not_put_there) {
  const test::TemporaryFolder folder;
  Result<Shelf> shelf = Shelf::open(folder.path());
  std::ofstream(folder.path() + "/from") << "text";
  const Result<Draft> draft = shelf->begin();
  const Status s = shelf->put(*draft, folder.path() + "/from", "m", sha256_of("other"));
  TEST_ASSERT_TRUE(!s.has_value() && s.error().code == Code::kCorrupt);
  TEST_ASSERT_TRUE(fs::is_empty(draft->folder));
}

TEST(one_at_a_time) {
  const test::TemporaryFolder folder;
  {
    const Result<Shelf> first = Shelf::open(folder.path());
    const Result<Shelf> second = Shelf::open(folder.path());
    TEST_ASSERT_TRUE(first.has_value());
    TEST_ASSERT_TRUE(!second.has_value() && second.error().code == Code::kRefused);
  }
  TEST_ASSERT_TRUE(Shelf::open(folder.path()).has_value());
}

TEST(a_link_that_points_elsewhere_is_no_version) {
  const test::TemporaryFolder folder;
  fs::create_symlink("/etc", folder.path() + "/current");
  TEST_ASSERT_FALSE(current_of(folder.path()).has_value());
}

TEST(another_shelfs_model_is_taken_over_once_and_checked) {
  const test::TemporaryFolder folder;
  const std::string theirs = folder.path() + "/theirs";
  const std::string ours = folder.path() + "/ours";
  {
    Result<Shelf> from = Shelf::open(theirs);
    place(*from, folder.path() + "/from", "one");
  }
  Result<Shelf> shelf = Shelf::open(ours);
  TEST_ASSERT_EQUAL_STRING("000001", take_over(*shelf, ours, theirs, "a")->c_str());
  TEST_ASSERT_EQUAL_STRING("one", current_text(ours).c_str());
  // The same promotion again changes nothing; the next one follows.
  TEST_ASSERT_EQUAL_STRING("000001", take_over(*shelf, ours, theirs, "a")->c_str());
  TEST_ASSERT_EQUAL_STRING("000002", take_over(*shelf, ours, theirs, "b")->c_str());
  // One that was rolled back does not come back by itself.
  TEST_ASSERT_EQUAL_STRING("000001", shelf->rollback()->c_str());
  TEST_ASSERT_EQUAL_STRING("000001", take_over(*shelf, ours, theirs, "b")->c_str());
  // A file that is not what promoted.json says is not taken.
  std::ofstream(theirs + "/current/model.onnx") << "another";
  TEST_ASSERT_TRUE(take_over(*shelf, ours, theirs, "c").error().code == Code::kCorrupt);
  TEST_ASSERT_EQUAL_STRING("one", current_text(ours).c_str());
}
