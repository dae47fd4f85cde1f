#include "agent/models/model_store.hpp"

#include <filesystem>
#include <fstream>

#include "base/sha256.hpp"
#include "mqtt/codec/base64.hpp"
#include "promote/shelf/shelf.hpp"
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

struct Store {
  test::TemporaryFolder folder;
  StillClock clock;
  Loop loop{clock, std::move(*open_epoll())};
  ModelStore models{loop, folder.path(), "", [](LogLevel, const std::string&) {}};

  // A version of a model with this text in it.
  void place(const std::string& name, const std::string& text) {
    const std::string from = folder.path() + "/from";
    std::ofstream(from) << text;
    Result<promote::Shelf> shelf = promote::Shelf::open(folder.path() + "/models/" + name);
    const Result<promote::Draft> draft = shelf->begin();
    TEST_ASSERT_TRUE(shelf->put(*draft, from, "model.onnx", sha256_of(text)).has_value());
    TEST_ASSERT_TRUE(
        shelf->commit(*draft, Value::object().set("choice", "onnx").set("task", name)).has_value());
  }
  std::string task_file(const std::string& task, const std::string& file, const std::string& text) {
    fs::create_directories(folder.path() + "/tasks/" + task);
    const std::string path = folder.path() + "/tasks/" + task + "/" + file;
    std::ofstream(path) << text;
    return path;
  }
};

std::string text(const Value& object, const char* key) {
  const Value* found = object.find(key, json::Kind::kString);
  return found == nullptr ? "" : found->as_string();
}

}  // namespace

TEST(models_are_listed_and_rolled_back_once) {
  Store store;
  TEST_ASSERT_EQUAL_UINT64(0, store.models.list().items().size());
  store.place("night", "one");
  store.place("night", "three");
  const Value list = store.models.list();
  TEST_ASSERT_EQUAL_UINT64(1, list.items().size());
  const Value& row = list.items()[0];
  TEST_ASSERT_EQUAL_STRING("night", text(row, "model").c_str());
  TEST_ASSERT_EQUAL_STRING("000002", text(row, "version").c_str());
  TEST_ASSERT_EQUAL_STRING("000001", text(row, "before").c_str());
  TEST_ASSERT_EQUAL_INT64(5, row.find("bytes")->as_integer());
  const Result<std::string> back = store.models.roll_back("night", "000002");
  TEST_ASSERT_TRUE(back.has_value());
  TEST_ASSERT_EQUAL_STRING("000001", back->c_str());
  // The same command again.
  TEST_ASSERT_TRUE(store.models.roll_back("night", "000002").error().code == Code::kRefused);
  TEST_ASSERT_TRUE(store.models.roll_back("day", "000002").error().code == Code::kNotFound);
  TEST_ASSERT_TRUE(store.models.roll_back("../night", "1").error().code == Code::kNotFound);
}

TEST(a_file_comes_in_pieces_with_their_hashes) {
  Store store;
  std::string all;
  for (int i = 0; all.size() < 100'000; ++i) all += std::to_string(i);
  store.place("night", all);
  const Result<Value> files = store.models.files("night");
  TEST_ASSERT_TRUE(files.has_value());
  const Value& file = files->find("files")->items()[0];
  TEST_ASSERT_EQUAL_STRING("model.onnx", text(file, "file").c_str());
  TEST_ASSERT_EQUAL_STRING(sha256_of(all).c_str(), text(file, "sha256").c_str());
  std::string got;
  while (got.size() < all.size()) {
    const Result<Value> piece = store.models.piece("night", "model.onnx", text(file, "version"),
                                                   static_cast<std::int64_t>(got.size()));
    TEST_ASSERT_TRUE(piece.has_value());
    const Result<std::string> bytes = mqtt::from_base64(text(*piece, "bytes64"));
    TEST_ASSERT_TRUE(bytes->size() <= static_cast<std::size_t>(kPieceBytesMax));
    TEST_ASSERT_EQUAL_STRING(sha256_of(*bytes).c_str(), text(*piece, "sha256").c_str());
    got += *bytes;
  }
  TEST_ASSERT_TRUE(got == all);
  TEST_ASSERT_FALSE(store.models.piece("night", "model.onnx", "000001", 1'000'000).has_value());
  // Another version in between is another file.
  store.place("night", "new");
  TEST_ASSERT_TRUE(store.models.piece("night", "model.onnx", "000001", 0).error().code ==
                   Code::kRefused);
}

TEST(a_board_hands_out_so_much_a_second_and_no_more) {
  Store store;
  store.place("night", std::string(30'000, 'x'));
  std::int64_t given = 0;
  const auto ask = [&] { return *store.models.piece("night", "model.onnx", "000001", 0); };
  Value answer = ask();
  for (; answer.find("wait_ms") == nullptr; answer = ask()) given += kPieceBytesMax;
  TEST_ASSERT_TRUE(given <= 256 * 1024);
  const std::int64_t wait_ms = answer.find("wait_ms")->as_integer();
  TEST_ASSERT_TRUE(wait_ms > 0 && wait_ms < 100);
  store.clock.now += wait_ms * kMillisecond;
  TEST_ASSERT_NULL(ask().find("wait_ms"));
  // A minute's rest does not add up.
  store.clock.now += kMinute;
  given = 0;
  for (answer = ask(); answer.find("wait_ms") == nullptr; answer = ask()) given += kPieceBytesMax;
  TEST_ASSERT_TRUE(given <= 256 * 1024);
}

TEST(a_task_without_a_model_gives_its_files_and_links_lead_nowhere) {
  Store store;
  const std::string path = store.task_file("day", "checkpoint", "weights");
  std::ofstream(store.folder.path() + "/secret") << "key";
  fs::create_symlink(store.folder.path() + "/secret", store.folder.path() + "/tasks/day/stolen");
  fs::create_directories(store.folder.path() + "/tasks/day/folder");
  const Result<Value> files = store.models.files("day");
  TEST_ASSERT_TRUE(files.has_value());
  TEST_ASSERT_EQUAL_UINT64(1, files->find("files")->items().size());
  const std::string version = text(files->find("files")->items()[0], "version");
  TEST_ASSERT_TRUE(store.models.piece("day", "checkpoint", version, 0).has_value());
  TEST_ASSERT_FALSE(store.models.piece("day", "stolen", version, 0).has_value());
  TEST_ASSERT_FALSE(store.models.piece("day", "folder", version, 0).has_value());
  TEST_ASSERT_FALSE(store.models.piece("day", "../../secret", version, 0).has_value());
  fs::create_symlink(store.folder.path(), store.folder.path() + "/tasks/linked");
  TEST_ASSERT_FALSE(store.models.piece("linked", "secret", "3-1.1", 0).has_value());
  // Written again, it is of another version.
  std::ofstream(path) << "more weights";
  TEST_ASSERT_FALSE(store.models.piece("day", "checkpoint", version, 0).has_value());
}
