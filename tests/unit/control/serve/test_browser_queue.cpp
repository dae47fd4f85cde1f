#include "control/serve/browser_queue.hpp"

#include "tests/harness/unit.hpp"

using namespace laird::control::serve;

namespace {

BrowserQueue::Text text(std::size_t size, char letter = 'x') {
  return std::make_shared<const std::string>(size, letter);
}

}  // namespace

TEST(what_is_put_in_comes_out_in_order_and_in_pieces) {
  BrowserQueue queue;
  queue.put(text(2, 'a'));
  TEST_ASSERT_TRUE(queue.offer(text(1, 'b')));
  queue.written(1);
  TEST_ASSERT_TRUE(queue.next() == "a");
  queue.written(1);
  TEST_ASSERT_TRUE(queue.next() == "b");
  queue.written(1);
  TEST_ASSERT_TRUE(queue.empty());
  TEST_ASSERT_FALSE(queue.needs_whole());
}

TEST(a_slow_browser_is_bounded_and_gets_the_whole_picture_when_there_is_room) {
  BrowserQueue queue;
  queue.put(text(100, 'a'));
  queue.written(40);
  while (queue.offer(text(100'000))) TEST_ASSERT_TRUE(queue.bytes() <= kQueueBytesMax);
  // What was half written is written to its end: a browser reads no halves.
  TEST_ASSERT_EQUAL_UINT64(60, queue.next().size());
  TEST_ASSERT_FALSE(queue.needs_whole());
  TEST_ASSERT_FALSE(queue.offer(text(1)));
  queue.written(60);
  TEST_ASSERT_TRUE(queue.needs_whole());
  queue.put(text(3));
  TEST_ASSERT_TRUE(queue.offer(text(1)));
}
