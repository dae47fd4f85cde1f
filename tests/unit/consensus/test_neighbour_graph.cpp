#include "consensus/neighbour_graph.hpp"

#include <algorithm>
#include <numeric>
#include <queue>

#include "tests/harness/unit.hpp"

using namespace laird::consensus;

namespace {

std::vector<NodeId> first(NodeId n) {
  std::vector<NodeId> ids(n);
  std::iota(ids.begin(), ids.end(), NodeId{0});
  return ids;
}

std::size_t reached(const NeighbourGraph& graph, NodeId from) {
  std::vector<bool> seen(graph.members().size());
  std::queue<NodeId> todo;
  todo.push(from);
  seen[from] = true;
  std::size_t count = 1;
  while (!todo.empty()) {
    for (const NodeId n : graph.neighbours(todo.front())) {
      if (seen[n]) continue;
      seen[n] = true;
      ++count;
      todo.push(n);
    }
    todo.pop();
  }
  return count;
}

}  // namespace

TEST(the_neighbour_graph_is_connected_and_symmetric_at_every_size) {
  for (const NodeId n : {2U, 3U, 4U, 5U, 7U, 8U, 20U, 100U, 500U}) {
    const NeighbourGraph graph(first(n));
    TEST_ASSERT_EQUAL_UINT64(n, reached(graph, 0));
    for (NodeId i = 0; i < n; ++i) {
      const auto near = graph.neighbours(i);
      TEST_ASSERT_TRUE(near.size() <= 2 * kCyclesMax);
      for (const NodeId j : near) {
        const auto back = graph.neighbours(j);
        TEST_ASSERT_TRUE(j != i);
        TEST_ASSERT_TRUE(std::binary_search(back.begin(), back.end(), i));
      }
    }
  }
}

TEST(the_neighbour_graph_does_not_depend_on_the_order_of_the_list) {
  std::vector<NodeId> backwards = first(50);
  std::reverse(backwards.begin(), backwards.end());
  backwards.push_back(7);
  const NeighbourGraph a(first(50));
  const NeighbourGraph b(backwards);
  for (NodeId i = 0; i < 50; ++i) TEST_ASSERT_TRUE(a.neighbours(i) == b.neighbours(i));
}

TEST(a_new_member_changes_few_edges) {
  const NeighbourGraph before(first(100));
  const NeighbourGraph after(first(101));
  std::size_t changed = 0;
  for (NodeId i = 0; i < 100; ++i) {
    const auto a = before.neighbours(i);
    for (const NodeId n : after.neighbours(i)) {
      if (!std::binary_search(a.begin(), a.end(), n)) ++changed;
    }
  }
  TEST_ASSERT_TRUE(changed <= 8);
}

TEST(genesis_adds_up_to_the_whole) {
  for (const NodeId n : {1U, 3U, 7U, 100U, 999U}) {
    const NeighbourGraph graph(first(n));
    Parts sum = 0;
    for (NodeId i = 0; i < n; ++i) sum += graph.genesis(i);
    TEST_ASSERT_EQUAL_INT64(kWhole, sum);
  }
  TEST_ASSERT_EQUAL_INT64(0, NeighbourGraph(first(3)).genesis(9));
}

TEST(metropolis_weights_are_symmetric_and_leave_something_for_the_node_itself) {
  for (const NodeId n : {2U, 5U, 30U}) {
    const NeighbourGraph graph(first(n));
    for (NodeId i = 0; i < n; ++i) {
      double sum = 0;
      for (const auto& [j, w] : metropolis_weights(graph, i)) {
        sum += w;
        for (const auto& [k, back] : metropolis_weights(graph, j)) {
          TEST_ASSERT_TRUE(k != i || w == back);
        }
      }
      TEST_ASSERT_TRUE(sum > 0 && sum < 1);
    }
  }
}
