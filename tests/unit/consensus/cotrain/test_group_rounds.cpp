// Single exchanges; whole groups with outages and churn are in tests/unit/lab/cotrain.
#include "consensus/cotrain/group_rounds.hpp"

#include <deque>
#include <memory>

#include "tests/harness/unit.hpp"

using namespace laird;
using namespace laird::consensus;

namespace {

constexpr std::uint32_t kDimension = 4;

struct Group {
  explicit Group(std::size_t boards, RoundsConfig c = {}, std::uint32_t dimension = kDimension)
      : config(std::move(c)) {
    config.model.dimension = dimension;
    if (config.rounds == 0) config.rounds = 10;
    for (std::size_t k = 0; k < boards; ++k) {
      names.push_back("n-" + std::to_string(k + 1));
      all.push_back(std::make_unique<GroupRounds>(config, names.back(),
                                                  std::vector<float>(dimension, 0.0F), 1));
      states[names.back()] = GroupPeer::kAtWork;
    }
    tell();
  }
  void tell() {
    for (std::size_t k = 0; k < all.size(); ++k) all[k]->set_peers(states, now);
  }
  void contribute(std::size_t k) {
    const std::vector<float>& x = all[k]->model().x();
    std::vector<float> wanted(x.size());
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      const float way = 1.0F - static_cast<float>((i * 7919) % 1000) * 1e-3F;
      wanted[i] = x[i] - way * static_cast<float>(k + 1);
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
        for (const ToPeer& m : all[k]->take_outgoing()) {
          if (k == slow) {
            on_the_way.push_back(m);
          } else {
            deliver(k, m, silent);
          }
        }
      }
      if (on_the_way.empty() || now < slow_at) continue;
      slow_at = now + slow_every;
      deliver(slow, on_the_way.front(), silent);
      on_the_way.pop_front();
    }
  }
  void found() {
    while (all.back()->round() == 0) run(10 * kMillisecond);
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
  // A board from which one message comes in so long.
  std::size_t slow = SIZE_MAX;
  DurationNs slow_every = 0;
  TimeNs slow_at = 0;
  std::deque<ToPeer> on_the_way;
  TimeNs now = kHour;
};

std::string_view text(const Bytes& bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

std::string little(std::uint64_t v, std::size_t bytes) {
  std::string out;
  for (; bytes > 0; --bytes, v >>= 8) out += static_cast<char>(v & 0xFF);
  return out;
}

enum Kind : unsigned { kContribution, kModel, kAsk, kVote, kYours, kUrgentAsk = 10 };

// A message of one part.
std::string message(unsigned kind, const GroupModel& model, std::uint32_t round,
                    std::string_view body) {
  return little(0x30U + kind, 1) + little(2, 1) + little(model.lineage(), 8) + little(round, 4) +
         little(model.digest(), 4) + little(0, 2) + little(1, 2) + std::string(body);
}

std::string missing(unsigned kind, const GroupModel& model, std::uint32_t round,
                    const std::vector<std::uint16_t>& parts) {
  std::string out =
      little(kind, 1) + little(model.lineage(), 8) + little(round, 4) + little(model.digest(), 4);
  for (const std::uint16_t part : parts) out += little(part, 2);
  return message(kAsk, model, model.round(), out);
}

constexpr std::uint32_t kMany = 300'000;

// Two boards of a group whose model is many parts long, and what the first one says.
struct Long {
  Long() {
    config.model.dimension = kMany;
    config.model.step = GroupStep::kAveraged;
    config.model.coding.density = 1.0;
    config.rounds = 100;
    std::vector<float> start(kMany);
    for (std::size_t i = 0; i < kMany; ++i) start[i] = static_cast<float>((i * 7919) % 1000);
    model = GroupModel(config.model, 7, std::move(start), {"n-1", "n-2"});
    first = begin("n-1", 1);
    first->restore(model);
  }
  std::unique_ptr<GroupRounds> begin(const std::string& name, std::uint64_t attempt) {
    auto out =
        std::make_unique<GroupRounds>(config, name, std::vector<float>(kMany, 0.0F), attempt);
    out->set_peers({{name == "n-1" ? "n-2" : "n-1", GroupPeer::kAtWork}}, now);
    return out;
  }
  void hear(const std::string& bytes) {
    TEST_ASSERT_TRUE(first->hear("n-2", bytes, now).has_value());
  }
  // What it sends in so long, looked at so often.
  std::vector<Bytes> sends(DurationNs span, DurationNs every = 100 * kMillisecond) {
    std::vector<Bytes> out;
    for (const TimeNs until = now + span; now < until; now += every) {
      static_cast<void>(first->tick(now));
      for (ToPeer& m : first->take_outgoing()) out.push_back(std::move(m.bytes));
    }
    return out;
  }
  Contribution contribution() const {
    std::vector<float> wanted(kMany);
    for (std::size_t i = 0; i < kMany; ++i) wanted[i] = static_cast<float>((i * 7907) % 1000 + 1);
    Contribution out;
    out.changes = model.changes_of(config.model, "n-2", wanted);
    return out;
  }

  RoundsConfig config;
  GroupModel model;
  std::unique_ptr<GroupRounds> first;
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
  head[0] = 0x30;
  for (const std::string& bad : {std::string(), std::string("x"), std::string(22, '\xFF'),
                                 head.substr(0, 21), std::string("\x12") + head.substr(1)}) {
    TEST_ASSERT_FALSE(group.all[0]->hear("n-2", bad, group.now).has_value());
  }
  TEST_ASSERT_FALSE(group.all[0]->hear("n-9", head, group.now).has_value());
  TEST_ASSERT_EQUAL_UINT32(digest, group.all[0]->model().digest());
}

TEST(a_board_whose_contribution_still_comes_in_parts_is_not_silent) {
  RoundsConfig how = config(1000, {}, 700 * kMillisecond);
  how.model.coding.density = 1.0;
  Group group(3, how, kMany);
  group.found();
  TEST_ASSERT_EQUAL_UINT64(3, group.all[0]->model().boards().size());
  const std::uint32_t round = group.all[0]->round();
  // Some parts in a contribution, so that it takes longer than the others wait for a silent board.
  group.slow = 2;
  group.slow_every = 200 * kMillisecond;
  for (int k = 0; k < 100 && group.all[0]->model().absences().empty(); ++k) {
    group.run(100 * kMillisecond);
  }
  TEST_ASSERT_EQUAL_STRING("made by n-1, n-2, n-3", group.all[0]->note().c_str());
  TEST_ASSERT_EQUAL_STRING("made by n-1, n-2, n-3", group.all[1]->note().c_str());
  const std::uint32_t made = group.all[0]->round() - round;
  TEST_ASSERT_TRUE(made >= 3 && made < 14);
}

TEST(a_board_that_says_a_part_now_and_then_is_not_waited_for_without_end) {
  RoundsConfig how = config(1000, {}, 6 * kSecond);
  how.model.coding.density = 1.0;
  Group group(3, how, kMany);
  group.found();
  group.slow = 2;
  group.slow_every = 5 * kSecond;
  for (int k = 0; k < 150 && group.all[0]->model().absences().empty(); ++k) {
    group.run(100 * kMillisecond);
  }
  TEST_ASSERT_EQUAL_UINT64(1, group.all[0]->model().absences().size());
  TEST_ASSERT_EQUAL_STRING("n-3", group.all[0]->model().absences()[0].name.c_str());
}

// On a busy board each question crosses its answer: answered again, they would fill the link.
TEST(a_contribution_that_is_on_its_way_is_not_sent_again) {
  RoundsConfig how = config(1000, {}, {});
  how.model.dimension = kDimension;
  const GroupModel model(how.model, 7, std::vector<float>(kDimension, 0.0F), {"n-1", "n-2"});
  GroupRounds first(how, "n-1", {}, 1);
  first.restore(model);
  TimeNs now = kHour;
  first.set_peers({{"n-2", GroupPeer::kAtWork}}, now);
  std::vector<float> wanted(kDimension, 1.0F);
  first.contribute(wanted, 1.0, {}, now);
  TEST_ASSERT_EQUAL_UINT64(1, first.take_outgoing().size());
  const auto asked = [&](DurationNs later) {
    now += later;
    TEST_ASSERT_TRUE(first.hear("n-2", message(kAsk, model, 0, {}), now).has_value());
    return first.take_outgoing().size();
  };
  TEST_ASSERT_EQUAL_UINT64(0, asked(300 * kMillisecond));
  TEST_ASSERT_EQUAL_UINT64(1, asked(300 * kMillisecond));
  TEST_ASSERT_EQUAL_UINT64(0, asked(100 * kMillisecond));
  TEST_ASSERT_EQUAL_UINT64(1, asked(300 * kMillisecond));
}

TEST(a_model_is_kept_for_lost_parts_until_long_after_its_last_part) {
  Long group;
  group.hear(message(kUrgentAsk, GroupModel(), 0, ""));
  // So slowly that it takes longer than a model is kept.
  const std::vector<Bytes> sent = group.sends(100 * kSecond, 10 * kSecond);
  TEST_ASSERT_EQUAL_UINT64(37, sent.size());
  group.hear(missing(kModel, group.model, 0, {36}));
  const std::vector<Bytes> again = group.sends(5 * kSecond);
  TEST_ASSERT_EQUAL_UINT64(1, again.size());
  TEST_ASSERT_TRUE(again[0] == sent[36]);
}

TEST(a_lost_part_of_what_a_board_contributed_in_an_earlier_life_is_sent_again) {
  Long group;
  Bytes body;
  Archive ar = Archive::writer(body);
  Contribution earlier = group.contribution();
  ar(earlier);
  // As n-2 told it before it was killed.
  const std::size_t parts = (body.size() + kFragmentBytesMax - 1) / kFragmentBytesMax;
  TEST_ASSERT_TRUE(parts > 3);
  for (std::size_t k = 0; k < parts; ++k) {
    const std::string_view part = text(body).substr(k * kFragmentBytesMax, kFragmentBytesMax);
    const std::string head = message(kContribution, group.model, 1, "").substr(0, 18);
    group.hear(head + little(k, 2) + little(parts, 2) + std::string(part));
  }
  const auto back = group.begin("n-2", 2);
  group.hear(message(kUrgentAsk, GroupModel(), 0, ""));
  std::size_t yours = 0;
  const auto deliver = [&](const std::vector<Bytes>& sent, std::size_t lost) {
    for (const Bytes& m : sent) {
      const bool is_yours = (m[0] & 7U) == kYours;
      yours += is_yours ? 1 : 0;
      if (is_yours && yours == lost) continue;
      TEST_ASSERT_TRUE(back->hear("n-1", text(m), group.now).has_value());
    }
  };
  deliver(group.sends(2 * kSecond), 2);
  TEST_ASSERT_EQUAL_UINT64(parts, yours);
  TEST_ASSERT_TRUE(back->may_contribute());  // it would say something else
  group.now += 600 * kMillisecond;
  static_cast<void>(back->tick(group.now));
  for (const ToPeer& m : back->take_outgoing()) {
    if (m.to == "n-1") group.hear(std::string(text(m.bytes)));
  }
  deliver(group.sends(kSecond), 0);
  TEST_ASSERT_EQUAL_UINT64(parts + 1, yours);
  TEST_ASSERT_FALSE(back->may_contribute());
}

TEST(who_asks_for_parts_again_and_again_is_answered_now_and_then_and_for_none_not_at_all) {
  Long group;
  std::vector<float> wanted(kMany, 1.0F);
  for (std::size_t i = 0; i < kMany; ++i) wanted[i] = static_cast<float>((i * 7907) % 1000 + 1);
  group.first->contribute(wanted, 1.0, {}, group.now);
  const std::size_t parts = group.sends(kSecond).size();
  TEST_ASSERT_TRUE(parts > 3);
  std::size_t answers = 0;
  for (int k = 0; k < 20; ++k) {
    group.hear(missing(kContribution, group.model, 1, {1}));
    answers += group.sends(100 * kMillisecond).size();
  }
  TEST_ASSERT_TRUE(answers >= 4 && answers <= 8);
  static_cast<void>(group.sends(kSecond));
  // Not even where the message is not known any more.
  group.hear(missing(kModel, group.model, 0, {}));
  TEST_ASSERT_EQUAL_UINT64(0, group.sends(kSecond).size());
}

TEST(a_model_that_no_board_made_is_not_taken_over) {
  Group group(1);
  group.states["n-2"] = GroupPeer::kDone;
  group.tell();
  GroupConfig how;
  how.dimension = kDimension;
  for (const std::vector<std::string>& boards :
       {std::vector<std::string>{}, std::vector<std::string>{"X y"}}) {
    const GroupModel model(how, 7, std::vector<float>(kDimension, 0.0F), boards);
    const Bytes saved = model.save();
    TEST_ASSERT_FALSE(
        group.all[0]->hear("n-2", message(kModel, model, 0, text(saved)), group.now).has_value());
    TEST_ASSERT_FALSE(group.all[0]->model().known() || group.all[0]->finished());
  }
}
