#include "agent/models/pushed_files.hpp"

#include <time.h>

#include <filesystem>
#include <fstream>

#include "base/sha256.hpp"
#include "config/schema.hpp"
#include "tests/harness/unit.hpp"

using namespace laird;
using namespace laird::agent;
using json::Value;
namespace fs = std::filesystem;

namespace {

struct StillClock final : Clock {
  TimeNs now = kSecond;
  TimeNs boot_ns() override { return now; }
  TimeNs wall_ns() override { return now; }
};

struct Board {
  test::TemporaryFolder folder;
  StillClock clock;
  Loop loop{clock, std::move(*open_epoll())};
  std::unique_ptr<PushedFiles> files = make();

  std::unique_ptr<PushedFiles> make(std::int64_t quota = 1'000'000) {
    return std::make_unique<PushedFiles>(loop, folder.path() + "/pushed", quota);
  }
  std::string place(const std::string& name) const { return folder.path() + "/pushed/" + name; }
  std::string text(const std::string& name) const {
    const Result<std::string> out = config::read_file(place(name), 10'000'000);
    return out ? *out : "";
  }
  // Until the board has said more than that it waits.
  Result<Value> take(const PushedFile& file, std::int64_t from, const std::string& piece) {
    for (int i = 0; i < 5000; ++i) {
      Result<Value> out = files->take(file, from, piece);
      if (!out || out->find("wait_ms") == nullptr) return out;
      clock.now += 100 * kMillisecond;
      const timespec rest{0, 1'000'000};
      ::nanosleep(&rest, nullptr);
    }
    return fail(Code::kUnavailable, "it waits without end");
  }
  Result<Value> push(const PushedFile& file, const std::string& content, std::size_t upto) {
    Result<Value> out = files->ask(file);
    while (out && out->find("done") == nullptr) {
      const auto from = static_cast<std::size_t>(out->find("have")->as_integer());
      if (from >= upto) return out;
      out = take(file, static_cast<std::int64_t>(from),
                 content.substr(from, std::min<std::size_t>(20'000, upto - from)));
    }
    return out;
  }
};

std::string content_of(std::size_t bytes, int seed) {
  std::string out;
  for (int i = seed; out.size() < bytes; ++i) out += std::to_string(i * 7919);
  out.resize(bytes);
  return out;
}

PushedFile file_of(const std::string& name, const std::string& content, std::string model = "") {
  return {std::move(model), name, static_cast<std::int64_t>(content.size()), sha256_of(content)};
}

bool is_done(const Result<Value>& answer) {
  return answer.has_value() && answer->find("done") != nullptr;
}

}  // namespace

TEST(a_file_is_there_whole_or_not_at_all) {
  Board board;
  const std::string content = content_of(100'000, 1);
  const PushedFile file = file_of("rows.csv", content);
  TEST_ASSERT_FALSE(is_done(board.push(file, content, 60'000)));
  TEST_ASSERT_FALSE(fs::exists(board.place("rows.csv")));
  TEST_ASSERT_TRUE(is_done(board.push(file, content, content.size())));
  TEST_ASSERT_TRUE(board.text("rows.csv") == content);
  // Again: nothing is sent.
  TEST_ASSERT_TRUE(is_done(board.files->ask(file)));
}

TEST(it_goes_on_where_it_ended_also_after_the_agent_began_anew) {
  Board board;
  const std::string content = content_of(100'000, 1);
  const PushedFile file = file_of("model.onnx", content, "faces");
  TEST_ASSERT_FALSE(is_done(board.push(file, content, 60'000)));
  board.files = board.make();
  const Result<Value> asked = board.files->ask(file);
  TEST_ASSERT_EQUAL_INT64(60'000, asked->find("have")->as_integer());
  // A piece that comes twice, and one from further on, change nothing.
  TEST_ASSERT_EQUAL_INT64(60'000, board.take(file, 0, "x")->find("have")->as_integer());
  TEST_ASSERT_EQUAL_INT64(60'000, board.take(file, 80'000, "x")->find("have")->as_integer());
  TEST_ASSERT_TRUE(is_done(board.push(file, content, content.size())));
  TEST_ASSERT_TRUE(board.text("models/faces/model.onnx") == content);
}

TEST(another_content_takes_its_place_in_one_step) {
  Board board;
  const std::string old = content_of(50'000, 1);
  const std::string young = content_of(50'000, 2);
  TEST_ASSERT_TRUE(is_done(board.push(file_of("a", old), old, old.size())));
  TEST_ASSERT_FALSE(is_done(board.push(file_of("a", young), young, 40'000)));
  TEST_ASSERT_TRUE(board.text("a") == old);
  TEST_ASSERT_TRUE(is_done(board.push(file_of("a", young), young, young.size())));
  TEST_ASSERT_TRUE(board.text("a") == young);
  // Changed behind its back: it comes again.
  std::ofstream(board.place("a")) << "changed";
  TEST_ASSERT_FALSE(is_done(board.files->ask(file_of("a", young))));
}

TEST(what_has_not_the_hash_that_was_told_is_thrown_away) {
  Board board;
  const std::string content = content_of(30'000, 1);
  PushedFile file = file_of("a", content);
  file.sha256 = sha256_of("another");
  const Result<Value> answer = board.push(file, content, content.size());
  TEST_ASSERT_TRUE(!answer && answer.error().code == Code::kCorrupt);
  TEST_ASSERT_FALSE(fs::exists(board.place("a")));
  TEST_ASSERT_EQUAL_INT64(0, board.files->ask(file)->find("have")->as_integer());
}

TEST(names_that_lead_elsewhere_are_refused) {
  Board board;
  const std::string content = "x";
  for (const char* name : {"../a", "a/b", ".hidden", "", "models", "a\nb", ".."}) {
    const Result<Value> answer = board.files->ask(file_of(name, content));
    TEST_ASSERT_TRUE_MESSAGE(!answer && answer.error().code == Code::kInvalid, name);
  }
  for (const char* model : {"..", "a/b", ".x"}) {
    TEST_ASSERT_FALSE(board.files->ask(file_of("a", content, model)).has_value());
  }
  // Nor does a link lead anywhere.
  TEST_ASSERT_TRUE(is_done(board.push(file_of("b", content), content, 1)));
  const std::string other = board.folder.path() + "/other";
  std::ofstream(other) << "mine";
  fs::remove(board.place("b"));
  fs::create_symlink(other, board.place("b"));
  TEST_ASSERT_TRUE(is_done(board.push(file_of("b", "y"), "y", 1)));
  TEST_ASSERT_EQUAL_STRING("y", board.text("b").c_str());
  TEST_ASSERT_EQUAL_STRING("mine", config::read_file(other, 10)->c_str());
}

TEST(the_folder_holds_no_more_than_its_quota) {
  Board board;
  board.files = board.make(100'000);
  const std::string content = content_of(60'000, 1);
  TEST_ASSERT_TRUE(is_done(board.push(file_of("a", content), content, content.size())));
  const Result<Value> second = board.files->ask(file_of("b", content));
  TEST_ASSERT_TRUE(!second && second.error().code == Code::kFull);
  TEST_ASSERT_TRUE(second.error().context.find("push.quota") != std::string::npos);
  const Result<Value> huge = board.files->ask(file_of("c", content_of(200'000, 1)));
  TEST_ASSERT_TRUE(!huge && huge.error().code == Code::kRefused);
}

TEST(bytes_a_second_are_bounded) {
  Board board;
  board.files = board.make(100'000'000);
  const std::string content = content_of(2'000'000, 1);
  const PushedFile file = file_of("a", content);
  const Result<Value> asked = board.files->ask(file);
  TEST_ASSERT_TRUE(asked.has_value());
  std::int64_t at = 0;
  bool waited = false;
  while (at < 2'000'000 && !waited) {
    const Result<Value> answer =
        board.files->take(file, at, content.substr(static_cast<std::size_t>(at), 20'000));
    TEST_ASSERT_TRUE(answer.has_value());
    waited = answer->find("wait_ms") != nullptr;
    if (!waited) at = answer->find("have")->as_integer();
  }
  // The clock stood still.
  TEST_ASSERT_TRUE(waited);
  TEST_ASSERT_TRUE(at <= 256 * 1024);
}

TEST(a_board_without_a_folder_takes_nothing) {
  Board board;
  board.files = std::make_unique<PushedFiles>(board.loop, "", 0);
  const Result<Value> answer = board.files->ask(file_of("a", "x"));
  TEST_ASSERT_TRUE(!answer && answer.error().code == Code::kRefused);
  TEST_ASSERT_TRUE(answer.error().context.find("\"push\"") != std::string::npos);
}
