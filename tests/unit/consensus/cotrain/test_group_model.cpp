#include "consensus/cotrain/group_model.hpp"

#include <cmath>

#include "consensus/cotrain/robust_mean.hpp"
#include "tests/harness/unit.hpp"

using namespace laird;
using namespace laird::consensus;

namespace {

constexpr std::uint32_t kDimension = 12;

GroupConfig config(GroupStep step = GroupStep::kAdapted) {
  GroupConfig out;
  out.dimension = kDimension;
  out.step = step;
  if (step == GroupStep::kAdam) out.rate = 0.05;
  if (step == GroupStep::kFixed) out.rate = 0.1;
  return out;
}

// Bowls around different points: board k's best parameters are all k.
struct Boards {
  explicit Boards(GroupConfig c, std::vector<std::string> n)
      : how(c), names(n), model(c, 7, std::vector<float>(kDimension, 0.0F), n) {}

  Contribution of(const std::string& name, double place, double weight) {
    std::vector<float> wanted(kDimension);
    Contribution out;
    out.weight = weight;
    for (std::size_t i = 0; i < kDimension; ++i) {
      const double curve = 1.0 + static_cast<double>(i % 5);
      const double d = static_cast<double>(model.x()[i]) - place;
      wanted[i] = static_cast<float>(curve * d);
      out.judged.loss += 0.5 * curve * d * d;
    }
    out.judged.held_loss = out.judged.loss;
    out.judged.held_rows = held_rows;
    out.changes = model.changes_of(how, name, wanted);
    return out;
  }
  void round(const std::vector<std::string>& without = {},
             const std::vector<std::string>& left = {}) {
    std::map<std::string, Contribution> all;
    for (std::size_t k = 0; k < names.size(); ++k) {
      all[names[k]] = of(names[k], static_cast<double>(k), weights[k]);
      TEST_ASSERT_TRUE(model.check(how, all[names[k]]).has_value());
    }
    model.apply(how, all, without, left);
  }

  GroupConfig how;
  std::vector<std::string> names;
  std::vector<double> weights = {1, 1, 1, 1};
  std::uint32_t held_rows = 0;
  GroupModel model;
};

bool loads_saved(const GroupConfig& how, const Bytes& saved) {
  const std::string_view bytes(reinterpret_cast<const char*>(saved.data()), saved.size());
  return GroupModel::load(how, bytes).has_value();
}
bool loads(const GroupConfig& how, const GroupModel& model) {
  return loads_saved(how, model.save());
}
bool loads_group_of(const GroupConfig& how, const std::vector<std::string>& boards) {
  return loads(how, GroupModel(how, 7, std::vector<float>(kDimension, 0.0F), boards));
}

}  // namespace

TEST(every_way_to_step_comes_to_the_mean_of_the_boards) {
  for (const GroupStep step : {GroupStep::kAdapted, GroupStep::kFixed, GroupStep::kAdam}) {
    Boards boards(config(step), {"a", "b", "c", "d"});
    for (int k = 0; k < 300; ++k) boards.round();
    for (const float x : boards.model.x()) {
      TEST_ASSERT_TRUE(std::abs(static_cast<double>(x) - 1.5) < 0.02);
    }
  }
}

TEST(rows_are_weights) {
  Boards boards(config(), {"a", "b", "c", "d"});
  boards.weights = {100, 100, 100, 700};
  for (int k = 0; k < 200; ++k) boards.round();
  TEST_ASSERT_TRUE(std::abs(static_cast<double>(boards.model.x()[3]) - 2.4) < 0.02);
}

TEST(the_loss_remembers_who_is_away) {
  Boards boards(config(), {"a", "b", "c", "d"});
  boards.round();
  boards.round();
  const double before = *boards.model.loss();
  boards.round({"d"}, {});
  TEST_ASSERT_EQUAL_UINT64(3, boards.model.boards().size());
  TEST_ASSERT_EQUAL_UINT64(1, boards.model.away());
  TEST_ASSERT_EQUAL_UINT64(0, boards.model.left());
  // The hardest board is gone, and its last loss stays in the mean.
  TEST_ASSERT_TRUE(*boards.model.loss() > 0.8 * before);
  TEST_ASSERT_EQUAL_STRING("d", boards.model.absences()[0].name.c_str());
  TEST_ASSERT_EQUAL_UINT32(3, boards.model.absences()[0].from);
}

TEST(who_was_seen_waiting_takes_part_from_the_next_round_on) {
  Boards boards(config(), {"a", "b"});
  boards.round();
  std::map<std::string, Contribution> all;
  all["a"] = boards.of("a", 0.0, 1.0);
  all["b"] = boards.of("b", 1.0, 1.0);
  all["b"].adds = {"aa"};
  boards.model.apply(boards.how, all, {}, {});
  TEST_ASSERT_EQUAL_UINT64(3, boards.model.boards().size());
  TEST_ASSERT_EQUAL_STRING("aa", boards.model.boards()[1].name.c_str());
  TEST_ASSERT_EQUAL_UINT32(2, boards.model.boards()[1].since);
}

TEST(a_saved_model_goes_on_bit_for_bit_and_a_damaged_one_is_refused) {
  Boards boards(config(), {"a", "b", "c", "d"});
  for (int k = 0; k < 10; ++k) boards.round();
  const Bytes saved = boards.model.save();
  const std::string bytes(reinterpret_cast<const char*>(saved.data()), saved.size());
  const Result<GroupModel> read = GroupModel::load(boards.how, bytes);
  TEST_ASSERT_TRUE(read.has_value());
  Boards again = boards;
  again.model = *read;
  boards.round();
  again.round();
  TEST_ASSERT_TRUE(boards.model.x() == again.model.x());
  TEST_ASSERT_EQUAL_UINT32(boards.model.digest(), again.model.digest());
  for (std::size_t cut = 0; cut < bytes.size(); cut += 37) {
    TEST_ASSERT_FALSE(
        GroupModel::load(boards.how, std::string_view(bytes).substr(0, cut)).has_value());
  }
  GroupConfig other = boards.how;
  other.dimension = kDimension + 1;
  TEST_ASSERT_FALSE(GroupModel::load(other, bytes).has_value());
}

TEST(a_model_before_its_first_step_is_sent_without_its_zeros) {
  for (const GroupStep step : {GroupStep::kAdapted, GroupStep::kAdam}) {
    GroupConfig how = config(step);
    how.dimension = 10'000;
    std::vector<float> start(how.dimension, 0.5F);
    GroupModel model(how, 7, start, {"a", "b", "c", "d"});
    const Bytes saved = model.save();
    // The parameters, and a little of each board.
    TEST_ASSERT_TRUE(saved.size() < 4 * how.dimension + 1000);
    auto read = GroupModel::load(
        how, std::string_view(reinterpret_cast<const char*>(saved.data()), saved.size()));
    TEST_ASSERT_TRUE(read.has_value());
    std::map<std::string, Contribution> all;
    for (const char* name : {"a", "b", "c", "d"}) {
      std::vector<float> wanted(how.dimension, 0.25F);
      all[name].changes = model.changes_of(how, name, wanted);
    }
    for (int round = 0; round < 5; ++round) {
      model.apply(how, all, {}, {});
      read->apply(how, all, {}, {});
    }
    TEST_ASSERT_TRUE(model.x() != start);
    TEST_ASSERT_TRUE(model.save() == read->save());
  }
}

TEST(the_best_model_on_held_out_rows_is_kept) {
  GroupConfig wild = config(GroupStep::kFixed);
  wild.rate = 0.45;  // it overshoots far before it comes back
  Boards boards(wild, {"a", "b"});
  boards.held_rows = 10;
  double best = 1e9;
  std::vector<float> best_x;
  for (int k = 0; k < 12; ++k) {
    const std::vector<float> x = boards.model.x();
    boards.round();
    const double loss = boards.model.held_out()->held_loss;
    if (loss < best) {
      best = loss;
      best_x = x;
    }
  }
  TEST_ASSERT_TRUE(boards.model.best() == best_x);
}

TEST(a_contribution_with_numbers_none_can_have_is_refused) {
  Boards boards(config(), {"a", "b"});
  const Contribution good = boards.of("a", 0.0, 1.0);
  Contribution bad = good;
  bad.weight = -1.0;
  TEST_ASSERT_FALSE(boards.model.check(boards.how, bad).has_value());
  bad = good;
  bad.judged.held_right = 3;
  TEST_ASSERT_FALSE(boards.model.check(boards.how, bad).has_value());
  bad = good;
  bad.changes += "x";
  TEST_ASSERT_FALSE(boards.model.check(boards.how, bad).has_value());
}

TEST(averages_of_local_steps_come_to_the_mean_too) {
  GroupConfig how = config(GroupStep::kAveraged);
  how.rate = 0.7;
  how.momentum = 0.5;
  GroupModel model(how, 3, std::vector<float>(kDimension, 0.0F), {"a", "b"});
  std::map<std::string, std::vector<float>> left;
  for (int round = 0; round < 60; ++round) {
    std::map<std::string, Contribution> all;
    for (const auto& [name, place] : {std::pair("a", 1.0F), std::pair("b", 3.0F)}) {
      std::vector<float>& wanted = left[name];
      wanted.resize(kDimension, 0.0F);
      // Three local steps of a tenth towards its own place, and what was left out before.
      for (std::size_t i = 0; i < kDimension; ++i) wanted[i] += 0.27F * (model.x()[i] - place);
      all[name].changes = model.changes_of(how, name, wanted);
    }
    model.apply(how, all, {}, {});
  }
  for (const float x : model.x()) TEST_ASSERT_TRUE(std::abs(x - 2.0F) < 0.05F);
}

TEST(the_trimmed_mean_withstands_as_many_wrong_vectors_as_are_trimmed) {
  std::vector<std::vector<float>> vectors;
  for (int k = 0; k < 7; ++k) vectors.push_back({1.0F + 0.01F * static_cast<float>(k)});
  vectors.push_back({-1e6F});
  const std::vector<double> weights(8, 1.0);
  TEST_ASSERT_TRUE(mean_of(vectors, weights, {})[0] < -1000.0F);
  TEST_ASSERT_TRUE(std::abs(mean_of(vectors, weights, {1, 0.0})[0] - 1.03F) < 0.02F);
}

TEST(clipping_takes_the_length_of_a_wrong_vector) {
  std::vector<std::vector<float>> vectors = {
      {1.0F, 0.0F}, {1.0F, 0.1F}, {1.0F, -0.1F}, {-500.0F, 0.0F}};
  const std::vector<double> weights = {1, 1, 1, 1e9};
  const std::vector<float> mean = mean_of(vectors, weights, {0, 1.0});
  TEST_ASSERT_TRUE(mean[0] > 0.45F && mean[0] < 0.55F);
}

TEST(a_name_that_no_board_has_is_refused_wherever_it_comes) {
  Boards boards(config(), {"a", "b"});
  const Contribution good = boards.of("a", 0.0, 1.0);
  for (const char* name :
       {"X y", "", "-a", "all", "n_1", "\xC3\xA4", "n-1\n", "a-name-of-more-than-32-characters"}) {
    Contribution bad = good;
    bad.adds = {"n-7", name};
    TEST_ASSERT_FALSE_MESSAGE(boards.model.check(boards.how, bad).has_value(), name);
    if (std::string_view(name).size() > 32) continue;  // an archive takes no longer one
    TEST_ASSERT_FALSE_MESSAGE(loads_group_of(boards.how, {"a", name}), name);
    GroupModel model(boards.how, 7, std::vector<float>(kDimension, 0.0F), {"a", name});
    std::map<std::string, Contribution> all = {{"a", good}, {name, good}};
    model.apply(boards.how, all, {}, {});
    all.erase(name);
    model.apply(boards.how, all, {name}, {});  // an absence
    TEST_ASSERT_FALSE_MESSAGE(loads(boards.how, model), name);
  }
  Contribution fine = good;
  fine.adds = {"n-7", "0", "a-name-of-32-characters-at-most-x"};
  fine.adds.back().resize(32);
  TEST_ASSERT_TRUE(boards.model.check(boards.how, fine).has_value());
  TEST_ASSERT_TRUE(loads_group_of(boards.how, {"a", "b"}));
}

TEST(a_model_without_boards_of_no_group_or_with_a_board_twice_is_refused) {
  const GroupConfig how = config();
  TEST_ASSERT_FALSE(loads_group_of(how, {}));
  TEST_ASSERT_FALSE(loads_group_of(how, {"a", "a"}));
  GroupModel model(how, 7, std::vector<float>(kDimension, 0.0F), {"a"});
  Bytes saved = model.save();
  std::fill(saved.begin(), saved.begin() + 8, std::uint8_t{0});
  TEST_ASSERT_FALSE(loads_saved(how, saved));
}

TEST(a_loss_a_weight_or_a_count_beyond_all_bounds_is_refused_wherever_it_comes) {
  Boards boards(config(), {"a", "b"});
  const Contribution good = boards.of("a", 0.0, 1.0);
  const auto with = [&](const auto& change) {
    Contribution out = good;
    change(out);
    return out;
  };
  for (const Contribution& bad :
       {with([](Contribution& c) { c.judged.loss = 1e300; }),
        with([](Contribution& c) { c.judged.loss = -1.1e30; }),
        with([](Contribution& c) { c.judged.held_loss = 1e300; }),
        with([](Contribution& c) { c.judged.held_rows = kHeldRowsMax + 1; }),
        with([](Contribution& c) { c.judged.held_right = 1; }),
        with([](Contribution& c) { c.judged.loss = std::nan(""); }),
        with([](Contribution& c) { c.weight = std::nan(""); }),
        with([](Contribution& c) { c.weight = 1e13; })}) {
    TEST_ASSERT_FALSE(boards.model.check(boards.how, bad).has_value());
    GroupModel model = boards.model;
    model.apply(boards.how, {{"a", good}, {"b", bad}}, {}, {});
    TEST_ASSERT_FALSE(loads(boards.how, model));
  }
  // Of a board that is away only what counts is remembered.
  for (const std::pair<double, double>& bad : {std::pair(1e13, 1.0), std::pair(1.0, 1e300)}) {
    GroupModel model = boards.model;
    model.apply(boards.how, {{"a", good}, {"b", with([&](Contribution& c) {
                                             c.weight = bad.first;
                                             c.judged.loss = bad.second;
                                           })}},
                {}, {});
    model.apply(boards.how, {{"a", good}}, {"b"}, {});
    TEST_ASSERT_FALSE(loads(boards.how, model));
  }
}

TEST(the_largest_that_is_taken_leaves_every_number_finite_and_the_model_whole) {
  for (const GroupStep step :
       {GroupStep::kAdapted, GroupStep::kFixed, GroupStep::kAdam, GroupStep::kAveraged}) {
    GroupConfig how = config(step);
    how.rate = 10.0;
    how.momentum = 0.999;
    GroupModel model(how, 7, std::vector<float>(kDimension, 0.0F), {"a", "b"});
    for (int round = 0; round < 50; ++round) {
      std::map<std::string, Contribution> all;
      for (const char* name : {"a", "b"}) {
        std::vector<float> wanted(kDimension, round % 7 == 0 ? -3e38F : 3e38F);
        all[name].weight = kWeightMax;
        all[name].judged = {kLossMax, kLossMax, kHeldRowsMax, kHeldRowsMax};
        all[name].changes = model.changes_of(how, name, wanted);
        for (const float left : wanted) TEST_ASSERT_TRUE(std::abs(left) <= kScaleMax);
        TEST_ASSERT_TRUE(model.check(how, all[name]).has_value());
      }
      model.apply(how, all, {}, {});
      TEST_ASSERT_TRUE(std::isfinite(*model.loss()));
      TEST_ASSERT_EQUAL_UINT32(2 * kHeldRowsMax, model.held_out()->held_rows);
      TEST_ASSERT_TRUE(loads(how, model));
    }
  }
}
