#include "control/provision/join/admission.hpp"
#include "mqtt/sign/join_keys.hpp"
#include "tests/harness/unit.hpp"

using namespace laird;
using namespace laird::control;

namespace {

struct Board {
  mqtt::NewKey key = std::move(*mqtt::make_board_key());

  [[nodiscard]] std::string print() const { return mqtt::fingerprint_of(key.public_key); }
  [[nodiscard]] std::string asks(const std::string& serial,
                                 const std::string& fleet = "lab") const {
    mqtt::SignedText out{
        mqtt::to_signed_text(mqtt::JoinAsk{fleet, serial, "tx2", "m", "1"}), key.public_key, {}};
    out.signature = *mqtt::sign_text(key.key_pem, std::string(mqtt::kAskPrefix) + out.text);
    return mqtt::ask_message(out);
  }
};

PkiEntry issued(const std::string& name, const std::string& serial, const std::string& print,
                std::int64_t revoked_at_s = 0) {
  return {"01", name, mqtt::Role::kNode, 1, revoked_at_s, serial, print};
}

}  // namespace

TEST(the_index_tells_new_boards_known_ones_and_clones_apart) {
  const Board fresh;
  const Board known;
  const Board clone;
  AskBook book("lab", {});
  book.take(fresh.asks("s-1"));
  book.take(known.asks("s-2"));
  book.take(known.asks("s-2"));
  book.take(clone.asks("s-3"));
  PkiIndex index{"lab", {issued("n-2", "s-2", known.print()), issued("n-3", "s-3", "other")}};
  const auto boards = book.judged(index);
  TEST_ASSERT_EQUAL_UINT64(3, boards.size());
  TEST_ASSERT_TRUE(boards[0].state == AskState::kNew);
  TEST_ASSERT_TRUE(boards[1].state == AskState::kKnown);
  TEST_ASSERT_EQUAL_STRING("n-2", boards[1].node.c_str());
  TEST_ASSERT_TRUE(boards[2].state == AskState::kClone);
  // A board that was purged left its serial number free.
  index.entries[1].revoked_at_s = 5;
  TEST_ASSERT_TRUE(book.judged(index)[2].state == AskState::kNew);
}

TEST(boards_of_one_serial_number_are_twins_until_one_is_admitted) {
  const Board one;
  const Board two;
  AskBook book("lab", {"s-1"});
  book.take(one.asks("s-1"));
  book.take(two.asks("s-1"));
  for (const Asking& board : book.judged({"lab", {}})) {
    TEST_ASSERT_TRUE(board.state == AskState::kTwin);
  }
  TEST_ASSERT_FALSE(book.only_keys());
  for (const Asking& board : book.judged({"lab", {issued("n-1", "s-1", one.print())}})) {
    TEST_ASSERT_TRUE(board.state ==
                     (board.fingerprint == one.print() ? AskState::kKnown : AskState::kClone));
  }
}

TEST(what_is_not_signed_by_the_key_it_names_is_no_board) {
  const Board board;
  const Board other;
  AskBook book("lab", {});
  std::string message = board.asks("s-1");
  message.replace(message.find("s-1"), 3, "s-2");
  book.take(message);
  book.take(board.asks("s-1", "other"));
  book.take("");
  TEST_ASSERT_EQUAL_UINT64(3, book.refused());
  TEST_ASSERT_TRUE(book.judged({"lab", {}}).empty());
}

TEST(others_than_the_wanted_are_not_kept_however_many_they_are) {
  const Board board;
  AskBook book("lab", {"s-1"});
  for (int i = 0; i < 50; ++i) book.take(board.asks("flood-" + std::to_string(i)));
  book.take(board.asks("s-1"));
  TEST_ASSERT_EQUAL_UINT64(1, book.judged({"lab", {}}).size());
  TEST_ASSERT_TRUE(book.has("s-1"));
  TEST_ASSERT_TRUE(book.has(board.print().substr(0, 8)));
  TEST_ASSERT_FALSE(book.has(board.print().substr(0, 7)));
}

TEST(a_name_is_never_given_twice) {
  PkiIndex index{"lab", {}};
  TEST_ASSERT_EQUAL_STRING("n-1", next_name(index, "n-").c_str());
  index.entries = {issued("n-2", "", ""), issued("n-9", "", "", 5), issued("n-x", "", ""),
                   issued("m-20", "", ""), issued("n-99999999999999999999", "", "")};
  TEST_ASSERT_EQUAL_STRING("n-10", next_name(index, "n-").c_str());
}
