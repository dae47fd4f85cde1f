#include "agent/view/event_log.hpp"

#include <fstream>

#include "tests/harness/unit.hpp"

using namespace laird;
using namespace laird::agent;
using json::Value;

namespace {

mqtt::NodeEvent event(std::uint64_t epoch, std::uint64_t seq, const std::string& text = "x") {
  mqtt::NodeEvent out;
  out.epoch = epoch;
  out.seq = seq;
  out.unix_ms = static_cast<std::int64_t>(epoch * 1000 + seq);
  out.kind = "task";
  out.text = text;
  return out;
}

std::string seqs(const Value& page) {
  std::string out;
  for (const Value& e : page.find("events")->items()) {
    out += std::to_string(e.find("seq")->as_integer()) + " ";
  }
  return out;
}

bool more(const Value& page) { return page.find("more")->as_bool(); }

}  // namespace

TEST(events_outlive_a_restart_in_order) {
  const test::TemporaryFolder folder;
  const std::string path = folder.path() + "/events.jsonl";
  {
    EventLog log(path);
    mqtt::NodeEvent late = event(1, 1);
    late.historical = true;
    log.add(late);
    log.add(event(1, 2));
  }
  EventLog log(path);
  log.add(event(2, 1));
  TEST_ASSERT_EQUAL_STRING("1 2 1 ", seqs(event_page(log.events(), 0, {})).c_str());
  TEST_ASSERT_TRUE(log.events().front().text.find("hist") == std::string::npos);
  TEST_ASSERT_EQUAL_STRING("2 1 ", seqs(event_page(log.events(), 1002, {})).c_str());
}

TEST(a_torn_or_foreign_line_is_left_out_and_spoils_nothing) {
  const test::TemporaryFolder folder;
  const std::string path = folder.path() + "/events.jsonl";
  { EventLog(path).add(event(1, 1)); }
  std::ofstream(path, std::ios::app) << "rubbish\n5 {\"s\":\"laird.event/1.0\"}\n1002 {\"s\":\"lai";
  EventLog log(path);
  log.add(event(1, 3));
  TEST_ASSERT_EQUAL_STRING("1 3 ", seqs(event_page(EventLog(path).events(), 0, {})).c_str());
}

TEST(the_oldest_go_from_memory_and_file) {
  const test::TemporaryFolder folder;
  const std::string path = folder.path() + "/events.jsonl";
  EventLog log(path);
  for (std::uint64_t i = 1; i <= 3 * kEventsKeptMax; ++i) log.add(event(1, i));
  TEST_ASSERT_EQUAL_UINT64(kEventsKeptMax, log.events().size());
  const EventLog again(path);
  TEST_ASSERT_EQUAL_UINT64(kEventsKeptMax, again.events().size());
  TEST_ASSERT_EQUAL_UINT64(3 * kEventsKeptMax, again.events().back().place.seq);
  std::ifstream in(path, std::ios::ate | std::ios::binary);
  TEST_ASSERT_TRUE(in.tellg() < static_cast<long>(2 * kEventsKeptMax * 160));
}

TEST(pages_meet_without_gap_or_overlap) {
  const test::TemporaryFolder folder;
  EventLog log(folder.path() + "/events.jsonl");
  for (std::uint64_t i = 1; i <= kEventsKeptMax; ++i) log.add(event(1, i, std::string(200, 'y')));
  std::vector<std::int64_t> all;
  std::optional<EventPlace> before;
  int pages = 0;
  for (bool left = true; left && pages < 100; ++pages) {
    const Value page = event_page(log.events(), 0, before);
    TEST_ASSERT_TRUE(json::to_text(page).size() < kEventPageBytesMax + 100);
    std::vector<std::int64_t> here;
    for (const Value& e : page.find("events")->items()) {
      here.push_back(e.find("seq")->as_integer());
    }
    all.insert(all.begin(), here.begin(), here.end());
    before = EventPlace{1, static_cast<std::uint64_t>(here.front())};
    left = more(page);
  }
  TEST_ASSERT_TRUE(pages > 1);
  TEST_ASSERT_EQUAL_UINT64(kEventsKeptMax, all.size());
  for (std::size_t i = 0; i < all.size(); ++i) {
    TEST_ASSERT_EQUAL_INT64(static_cast<std::int64_t>(i + 1), all[i]);
  }
}
