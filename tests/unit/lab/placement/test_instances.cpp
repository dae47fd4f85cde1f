#include "lab/placement/instances.hpp"

#include <cmath>

#include "lab/placement/gap.hpp"
#include "tests/harness/unit.hpp"

using namespace laird;
using namespace laird::lab;

TEST(the_papers_fleet_is_four_nanos_two_xaviers_and_an_orin_or_two) {
  for (const std::size_t boards : {std::size_t{7}, std::size_t{8}}) {
    const placement::Instance i = paper_instance(5, boards);
    TEST_ASSERT_EQUAL(boards, i.boards.size());
    TEST_ASSERT_EQUAL_STRING("orin", i.boards[0].kind.c_str());
    TEST_ASSERT_EQUAL_STRING(boards == 7 ? "xavier" : "orin", i.boards[1].kind.c_str());
    TEST_ASSERT_EQUAL_STRING("nano-4", i.boards.back().name.c_str());
    TEST_ASSERT_EQUAL(6, i.tasks.size());
  }
  TEST_ASSERT_EQUAL(120, paper_instance(100, 7).tasks.size());
}

TEST(a_seed_gives_the_same_instance_and_another_one_another) {
  const auto hash = [](const char* name) { return find_instance(name)->hash; };
  TEST_ASSERT_EQUAL_STRING(hash("gen:30:8:1").c_str(), hash("gen:30:8:1").c_str());
  TEST_ASSERT_TRUE(hash("gen:30:8:1") != hash("gen:30:8:2"));
  TEST_ASSERT_TRUE(placement::check(find_instance("gen:200:100:5")->instance).has_value());
}

TEST(names_that_mean_nothing_are_refused_with_an_example) {
  for (const char* name :
       {"gen:0:8:1", "gen:10:x:1", "gen:99999:8:1", "paper:7", "paper5:0", "paper5:-1"}) {
    const auto found = find_instance(name);
    TEST_ASSERT_FALSE_MESSAGE(found.has_value(), name);
    TEST_ASSERT_TRUE_MESSAGE(found.error().context.find("such as") != std::string::npos, name);
  }
  TEST_ASSERT_FALSE(find_instance("no/such/file").has_value());
}

TEST(a_generalized_assignment_problem_is_read_and_solved) {
  // Two agents, three jobs: costs, uses, capacities. The cheapest that fits costs 1 + 2 + 5.
  const Result<GapProblem> p = parse_gap("2 3  1 9 5  9 2 6   3 3 3  3 3 3   6 3");
  TEST_ASSERT_TRUE(p.has_value());
  TEST_ASSERT_EQUAL_DOUBLE(8.0, search_gap(*p, 0.05, 1).cost);
  if (const auto solver = make_ilp_solver()) {
    const GapRun exact = ilp_gap(*p, *solver, 5.0);
    TEST_ASSERT_TRUE(exact.proved && std::fabs(exact.cost - 8.0) < 1e-6);
  }
  for (const char* bad : {"", "2", "0 3", "2 3 1 2 3", "2 1 1 1 1 1 0 5", "1 1 -1 1 1"}) {
    TEST_ASSERT_FALSE_MESSAGE(parse_gap(bad).has_value(), bad);
  }
}
