// Single exchanges; whole groups with outages and churn are in tests/unit/lab/cotrain.
#include "consensus/cotrain/group_rounds.hpp"

#include <memory>

#include "tests/harness/unit.hpp"

using namespace laird;
using namespace laird::consensus;

namespace {

constexpr std::uint32_t kDimension = 4;

struct Group {
  explicit Group(std::size_t boards, RoundsConfig c = {}) : config(std::move(c)) {
    config.model.dimension = kDimension;
    if (config.rounds == 0) config.rounds = 10;
    for (std::size_t k = 0; k < boards; ++k) {
      names.push_back("n-" + std::to_string(k + 1));
      all.push_back(std::make_unique<GroupRounds>(config, names.back(),
                                                  std::vector<float>(kDimension, 0.0F), 1));
      states[names.back()] = GroupPeer::kAtWork;
    }
    tell();
  }
  void tell() {
    for (std::size_t k = 0; k < all.size(); ++k) all[k]->set_peers(states, now);
  }
  void contribute(std::size_t k) {
    std::vector<float> wanted(kDimension);
    for (std::size_t i = 0; i < kDimension; ++i) {
      wanted[i] = all[k]->model().x()[i] - static_cast<float>(k);
    }
    Judgement judged;
    judged.loss = static_cast<double>(k);
    all[k]->contribute(wanted, 1.0, judged, now);
  }
  // Works for so long; `silent` neither hears nor speaks.
  void run(DurationNs span, std::size_t silent = SIZE_MAX) {
    for (const TimeNs until = now + span; now < until; now += 10 * kMillisecond) {
      for (std::size_t k = 0; k < all.size(); ++k) {
        if (k == silent) continue;
        static_cast<void>(all[k]->tick(now));
        if (all[k]->may_contribute()) contribute(k);
        for (const ToPeer& m : all[k]->take_outgoing()) deliver(k, m, silent);
      }
    }
  }
  void deliver(std::size_t from, const ToPeer& m, std::size_t silent) {
    const std::string_view bytes(reinterpret_cast<const char*>(m.bytes.data()), m.bytes.size());
    for (std::size_t k = 0; k < all.size(); ++k) {
      if (k == from || k == silent || (!m.to.empty() && m.to != names[k])) continue;
      TEST_ASSERT_TRUE(all[k]->hear(names[from], bytes, now).has_value());
    }
  }

  RoundsConfig config;
  std::vector<std::string> names;
  std::vector<std::unique_ptr<GroupRounds>> all;
  std::map<std::string, GroupPeer> states;
  TimeNs now = kHour;
};

RoundsConfig config(std::uint32_t rounds, std::optional<std::uint32_t> quorum,
                    std::optional<DurationNs> wait) {
  RoundsConfig out;
  out.rounds = rounds;
  out.quorum = quorum;
  out.wait = wait;
  return out;
}

}  // namespace

TEST(all_boards_make_the_planned_rounds_and_have_one_model) {
  Group group(4);
  group.run(5 * kSecond);
  for (const auto& board : group.all) {
    TEST_ASSERT_TRUE(board->finished());
    TEST_ASSERT_TRUE(board->model().x() == group.all[0]->model().x());
    TEST_ASSERT_EQUAL_STRING("made by n-1, n-2, n-3, n-4", board->note().c_str());
  }
}

TEST(a_silent_board_is_waited_for_until_it_is_back) {
  Group group(3, config(1000, {}, {}));
  group.run(3 * kSecond);
  const std::uint32_t round = group.all[0]->round();
  group.run(kMinute, 2);
  TEST_ASSERT_TRUE(group.all[0]->round() <= round + 1);
  TEST_ASSERT_EQUAL_STRING("n-3", group.all[0]->waits_for().at(0).c_str());
  group.run(5 * kSecond);
  TEST_ASSERT_TRUE(group.all[0]->round() > round + 10);
  TEST_ASSERT_EQUAL_STRING("made by n-1, n-2, n-3", group.all[0]->note().c_str());
}

TEST(who_left_for_good_is_left_out_by_all_and_the_model_says_so) {
  Group group(3, config(1000, {}, {}));
  group.run(3 * kSecond);
  group.states["n-3"] = GroupPeer::kLeft;
  group.tell();
  group.run(2 * kSecond, 2);
  const std::uint32_t round = group.all[0]->model().absences().at(0).from;
  TEST_ASSERT_TRUE(group.all[0]->round() > round);
  TEST_ASSERT_TRUE(group.all[0]->model().absences()[0].left);
  const std::string note = "made by n-1, n-2; without n-3 since round " + std::to_string(round);
  TEST_ASSERT_EQUAL_STRING(note.c_str(), group.all[0]->note().c_str());
  TEST_ASSERT_EQUAL_STRING(note.c_str(), group.all[1]->note().c_str());
}

TEST(wait_lets_more_than_half_go_on_and_no_fewer) {
  Group four(4, config(100'000, {}, 2 * kSecond));
  four.run(3 * kSecond);
  four.run(3 * kSecond, 3);
  TEST_ASSERT_EQUAL_UINT64(3, four.all[0]->model().boards().size());
  Group two(2, config(100'000, {}, 2 * kSecond));
  two.run(3 * kSecond);
  const std::uint32_t round = two.all[0]->round();
  two.run(kMinute, 1);
  TEST_ASSERT_TRUE(two.all[0]->round() <= round + 1);
}

TEST(a_quorum_of_one_goes_on_alone) {
  Group group(2, config(100'000, 1, kSecond));
  group.run(3 * kSecond);
  group.run(4 * kSecond, 1);
  TEST_ASSERT_EQUAL_UINT64(1, group.all[0]->model().boards().size());
  // Who was away comes back into the group, and to its model.
  group.run(4 * kSecond);
  TEST_ASSERT_EQUAL_UINT64(2, group.all[1]->model().boards().size());
  TEST_ASSERT_EQUAL_UINT64(group.all[0]->model().lineage(), group.all[1]->model().lineage());
  TEST_ASSERT_TRUE(group.all[0]->note().find("without n-2 in rounds ") != std::string::npos);
}

TEST(a_quorum_is_not_gone_below_even_when_boards_leave_for_good) {
  Group group(3, config(100'000, 3, kSecond));
  group.run(3 * kSecond);
  const std::uint32_t round = group.all[0]->round();
  group.states["n-3"] = GroupPeer::kLeft;
  group.tell();
  group.run(kMinute, 2);
  TEST_ASSERT_TRUE(group.all[0]->round() <= round + 1);
}

TEST(nobody_founds_a_group_alone) {
  Group group(1);
  group.run(kMinute);
  TEST_ASSERT_FALSE(group.all[0]->model().known());
  TEST_ASSERT_EQUAL_STRING("waits for the other boards", group.all[0]->note().c_str());
}

TEST(who_comes_after_the_end_gets_the_model_from_a_board_that_is_done) {
  Group group(3);
  group.run(5 * kSecond);
  GroupRounds late(group.config, "n-4", std::vector<float>(kDimension, 9.0F), 1);
  late.set_peers({{"n-1", GroupPeer::kDone}, {"n-2", GroupPeer::kDone}}, group.now);
  static_cast<void>(late.tick(group.now));
  bool asked = false;
  for (const ToPeer& m : late.take_outgoing()) asked = asked || m.to == "n-1";
  TEST_ASSERT_TRUE(asked);
  for (const Bytes& m : group.all[0]->parcels()) {
    const std::string_view bytes(reinterpret_cast<const char*>(m.data()), m.size());
    TEST_ASSERT_TRUE(late.hear("n-1", bytes, group.now).has_value());
  }
  TEST_ASSERT_TRUE(late.finished());
  TEST_ASSERT_TRUE(late.model().x() == group.all[0]->model().x());
  TEST_ASSERT_EQUAL_STRING("made by n-1, n-2, n-3", late.note().c_str());
}

TEST(a_message_that_is_none_changes_nothing) {
  Group group(2, config(1000, {}, {}));
  group.run(3 * kSecond);
  const std::uint32_t digest = group.all[0]->model().digest();
  std::string head(22, '\0');
  head[0] = 0x20;
  for (const std::string& bad : {std::string(), std::string("x"), std::string(22, '\xFF'),
                                 head.substr(0, 21), std::string("\x12") + head.substr(1)}) {
    TEST_ASSERT_FALSE(group.all[0]->hear("n-2", bad, group.now).has_value());
  }
  TEST_ASSERT_FALSE(group.all[0]->hear("n-9", head, group.now).has_value());
  TEST_ASSERT_EQUAL_UINT32(digest, group.all[0]->model().digest());
}
