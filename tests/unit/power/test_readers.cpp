#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <thread>

#include "power/boards/catalogue.hpp"
#include "power/readers/modelled_reader.hpp"
#include "power/readers/recorded_reader.hpp"
#include "power/readers/recording.hpp"
#include "power/readers/tegrastats/tegrastats_reader.hpp"
#include "tests/harness/unit.hpp"
#include "tests/unit/power/fake_sysfs.hpp"

using namespace laird;
using namespace laird::power;
using laird::test::put;

namespace {

std::string line_at(const char* time, int mw) {
  return std::string(time) + (*time ? " " : "") + "RAM 1/2MB (lfb 1x4MB) VDD_IN " +
         std::to_string(mw) + "mW/1mW\n";
}

std::vector<PowerReading> decode(const std::string& text, DurationNs interval = kSecond) {
  static const Board board = *find_board("generic", "");
  std::vector<PowerReading> out;
  RecordingDecoder decoder(board, interval);
  const auto take = [&](PowerReading r) { out.push_back(std::move(r)); };
  decoder.feed(text, take);
  decoder.finish(take);
  return out;
}

// Polls for up to three seconds with the real clock.
std::optional<PowerReading> wait(Reader& reader) {
  for (int i = 0; i < 300; ++i) {
    if (auto reading = reader.poll(monotonic_now())) return reading;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return std::nullopt;
}

}  // namespace

TEST(lines_of_one_second_are_spread_over_it) {
  const auto r = decode(line_at("01-01-2026 00:00:00", 1) + line_at("01-01-2026 00:00:00", 2) +
                        line_at("01-01-2026 00:00:01", 3) + line_at("01-01-2026 00:00:05", 4));
  TEST_ASSERT_EQUAL_UINT64(4, r.size());
  TEST_ASSERT_EQUAL_INT64(0, r[0].at);
  TEST_ASSERT_EQUAL_INT64(kSecond / 2, r[1].at);
  TEST_ASSERT_EQUAL_INT64(kSecond, r[2].at);
  TEST_ASSERT_EQUAL_INT64(5 * kSecond, r[3].at);
}

TEST(lines_without_time_are_an_interval_apart) {
  const auto r = decode(line_at("", 1) + "date\n\n" + line_at("", 2), 100 * kMillisecond);
  TEST_ASSERT_EQUAL_UINT64(2, r.size());
  TEST_ASSERT_EQUAL_INT64(100 * kMillisecond, r[1].at);
}

TEST(a_capture_plays_at_its_own_pace_or_faster_or_at_once) {
  const test::TemporaryFolder folder;
  const std::string path = folder.path() + "/x.log";
  put(path, line_at("01-01-2026 00:00:00", 1000) + line_at("01-01-2026 00:00:02", 2000) +
                line_at("01-01-2026 00:00:04", 3000));
  const Board board = *find_board("generic", "");
  for (const double speed : {1.0, 10.0}) {
    auto reader = RecordedReader::open(path, board, kSecond, speed);
    TEST_ASSERT_TRUE(reader.has_value());
    const TimeNs start = 100 * kSecond;
    const auto step = static_cast<DurationNs>(2e9 / speed);
    TEST_ASSERT_EQUAL_INT64(1000, *(*reader)->poll(start)->total_mw);
    TEST_ASSERT_FALSE((*reader)->poll(start + step - 1).has_value());
    TEST_ASSERT_EQUAL_INT64(start + step, (*reader)->next_poll_at(start));
    TEST_ASSERT_EQUAL_INT64(start + step, (*reader)->poll(start + step)->at);
    TEST_ASSERT_EQUAL_INT64(3000, *(*reader)->poll(start + 10 * step)->total_mw);
    TEST_ASSERT_FALSE((*reader)->poll(start + 10 * step).has_value());
    TEST_ASSERT_TRUE((*reader)->status(start).ended);
  }
  auto at_once = RecordedReader::open(path, board, kSecond, 0);
  int n = 0;
  while ((*at_once)->poll(0)) ++n;
  TEST_ASSERT_EQUAL_INT(3, n);
  TEST_ASSERT_FALSE(RecordedReader::open(path + "?", board, kSecond, 1).has_value());
}

TEST(a_child_process_is_followed_and_started_again_when_it_ends) {
  const test::TemporaryFolder folder;
  const std::string program = folder.path() + "/tegrastats";
  // Says one line and ends: each start is one more line in the log.
  put(program, "#!/bin/sh\necho start $1 $2 >> " + folder.path() +
                   "/starts\necho 'RAM 1/2MB (lfb 1x4MB) VDD_IN 4321mW/4000mW'\n");
  ::chmod(program.c_str(), 0755);
  const auto reader = TegrastatsReader::child(program, *find_board("generic", ""), kSecond);
  const auto first = wait(*reader);
  TEST_ASSERT_TRUE(first.has_value());
  TEST_ASSERT_EQUAL_INT64(4321, *first->total_mw);
  TEST_ASSERT_TRUE(first->source == Source::kTegrastats);
  const auto second = wait(*reader);
  TEST_ASSERT_TRUE(second.has_value());
  std::ifstream starts(folder.path() + "/starts");
  std::string words;
  std::getline(starts, words);
  TEST_ASSERT_EQUAL_STRING("start --interval 1000", words.c_str());
}

TEST(a_program_that_is_not_there_is_tried_less_and_less_often) {
  const auto reader =
      TegrastatsReader::child("/nonexistent/tegrastats", *find_board("generic", ""), kSecond);
  int starts = 0;
  TimeNs due = -1;
  for (TimeNs now = 0; now < 10 * kMinute; now += kSecond) {
    TEST_ASSERT_FALSE(reader->poll(now).has_value());
    // The child's end is seen a moment later.
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    const TimeNs next = reader->next_poll_at(now);
    if (next > now + kSecond && next != due) {
      due = next;
      ++starts;
    }
  }
  TEST_ASSERT_TRUE(starts >= 3 && starts <= 20);
  TEST_ASSERT_FALSE(reader->status(10 * kMinute).working);
}

TEST(a_flood_on_a_pipe_is_bounded_and_the_newest_is_kept) {
  int ends[2];
  TEST_ASSERT_EQUAL_INT(0, ::pipe(ends));
  const auto reader = TegrastatsReader::from_fd(ends[0], *find_board("generic", ""), kSecond);
  std::string flood;
  for (int i = 1; i <= 500; ++i) flood += line_at("", i);
  TEST_ASSERT_EQUAL_INT64(static_cast<std::int64_t>(flood.size()),
                          ::write(ends[1], flood.data(), flood.size()));
  ::close(ends[1]);
  int n = 0;
  std::int64_t last = 0;
  while (auto reading = reader->poll(1)) {
    ++n;
    last = *reading->total_mw;
  }
  TEST_ASSERT_TRUE(n <= 32);
  TEST_ASSERT_EQUAL_INT64(500, last);
  TEST_ASSERT_TRUE(reader->status(1).ended);
}

TEST(the_modelled_board_follows_its_load_and_says_it_is_modelled) {
  const Board board = *find_board("orin-nano-8gb", "");
  ModelledReader reader(board, kSecond);
  const auto idle = reader.poll(0);
  TEST_ASSERT_INT64_WITHIN(40, board.model.idle_mw, *idle->total_mw);
  TEST_ASSERT_TRUE(idle->source == Source::kModelled);
  TEST_ASSERT_FALSE(reader.poll(kSecond / 2).has_value());
  reader.set_load(kSecond, ModelledLoad{1.0, 0.5, 1000, 1000});
  const auto busy = reader.poll(3 * kSecond);
  TEST_ASSERT_INT64_WITHIN(
      40, board.model.idle_mw + board.model.gpu_dynamic_mw + board.model.cpu_dynamic_mw / 2,
      *busy->total_mw);
  TEST_ASSERT_TRUE(*busy->hottest_mc() > *idle->hottest_mc());
  reader.set_load(4 * kSecond, ModelledLoad{1.0, 0.0, 500, 1000});
  const auto slow = reader.poll(6 * kSecond);
  // Half the clock takes more than half off the GPU's dynamic power.
  TEST_ASSERT_TRUE(*slow->total_mw < board.model.idle_mw + board.model.gpu_dynamic_mw / 2);
}

TEST(a_reading_survives_the_archive) {
  PowerReading a = decode(line_at("01-01-2026 00:00:00", 1234)).front();
  a.zones.push_back(ZoneReading{"cpu", 50'000});
  Bytes bytes;
  Archive writer = Archive::writer(bytes);
  a.archive(writer);
  PowerReading b;
  Archive reader = Archive::reader(bytes);
  b.archive(reader);
  TEST_ASSERT_FALSE(reader.failed());
  TEST_ASSERT_TRUE(reader.at_end());
  TEST_ASSERT_EQUAL_INT64(1234, *b.total_mw);
  TEST_ASSERT_EQUAL_INT64(50'000, *b.hottest_mc());
  TEST_ASSERT_EQUAL_STRING("VDD_IN", b.total_rule.c_str());
}
