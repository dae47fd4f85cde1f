#include "agent/trainer_host/trainer.hpp"

#include <filesystem>
#include <fstream>
#include <vector>

#include "agent/trainer_host/cell_processes.hpp"
#include "tests/harness/unit.hpp"

using namespace laird;
using namespace laird::agent;

namespace {

// A trainer of a few lines of shell in a process of its own, and what becomes of its words.
struct OneTrainer {
  explicit OneTrainer(const std::string& script) {
    test::skip_if_emulated();
    std::ofstream(folder.path() + "/trainer.sh") << script;
    settings.state_dir = folder.path() + "/state";
    settings.trainers["shell"].argv = {"/bin/sh", folder.path() + "/trainer.sh"};
    settings.cell.tmp_bytes = 1'000'000;
    std::filesystem::create_directories(settings.state_dir + "/tasks");
    Result<Process> started = processes.start({"shell", "t-1", 0}, nullptr);
    TEST_ASSERT_TRUE(started.has_value());
    id = started->id;
    trainer = std::make_unique<Trainer>(host, core::ProcessRef{1, 1}, core::TaskSpec{}, false,
                                        nullptr, std::move(*started), folder.path() + "/log");
    trainer->begin(settings.state_dir + "/tasks/t-1");
  }
  ~OneTrainer() {
    trainer->kill();
    static_cast<void>(processes.collect(id));
  }

  template <class Event>
  const Event* last() const {
    return events.empty() ? nullptr : std::get_if<Event>(&events.back());
  }
  template <class Done>
  void run_until(Done done) {
    while (!done()) {
      TEST_ASSERT_TRUE(loop->run_once(kMinute).has_value());
      ++wakes;
    }
  }

  test::TemporaryFolder folder;
  SystemClock clock;
  Settings settings;
  CellProcesses processes{settings, "", [](LogLevel, const std::string&) {}};
  std::unique_ptr<Loop> loop = std::move(*Loop::create(clock));
  std::vector<core::EventBody> events;
  TrainerHost host{
      *loop, processes, [this](core::EventBody e) { events.push_back(std::move(e)); }, {}, {}};
  std::unique_ptr<Trainer> trainer;
  int id = 0;
  int wakes = 0;
};

// Reports one sample after another until it has done what it may.
constexpr const char* kChatty = R"(
say() { eval "echo '$1' >&$LAIRD_FD"; }
hear() { eval "read -r line <&$LAIRD_FD"; }
hear
say '{"type":"ready","v":1,"samples":0}'
n=0
while hear; do
  until=${line##*:}; until=${until%\}}
  while [ $n -lt $until ]; do
    n=$((n + 1)); sleep 0.002
    say '{"type":"progress","samples":'$n',"loss":0.5}'
  done
done
)";

}  // namespace

TEST(a_chatty_trainer_wakes_the_agent_by_the_round_and_no_end_is_lost) {
  OneTrainer one(kChatty);
  one.run_until([&] { return one.last<core::TrainerReady>() != nullptr; });
  std::uint64_t until = 0;
  for (int grant = 0; grant < 3; ++grant) {
    until += 200;
    one.wakes = 0;
    one.events.clear();
    const TimeNs began = one.loop->now();
    one.trainer->run(core::RunTrainer{{1, 1}, until, 1000});
    one.run_until([&] {
      const auto* report = one.last<core::TrainerProgressed>();
      return report != nullptr && report->samples >= until;
    });
    // However slow the machine: one look a round, and some more towards the end.
    const auto rounds = static_cast<int>((one.loop->now() - began) / kReportRound);
    TEST_ASSERT_TRUE(one.wakes <= 2 * rounds + 40);
    TEST_ASSERT_TRUE(one.events.size() <= static_cast<std::size_t>(rounds) + 3);
    std::uint64_t before = until - 200;
    for (const core::EventBody& event : one.events) {
      const auto& report = std::get<core::TrainerProgressed>(event);
      TEST_ASSERT_TRUE(report.samples > before);
      before = report.samples;
    }
  }
}

TEST(an_answer_is_heard_in_the_middle_of_chatter) {
  OneTrainer one(R"(
say() { eval "echo '$1' >&$LAIRD_FD"; }
eval "read -r line <&$LAIRD_FD"
say '{"type":"ready","v":1,"samples":0}'
eval "read -r line <&$LAIRD_FD"
n=0
while [ $n -lt 100 ]; do
  n=$((n + 1)); sleep 0.002
  say '{"type":"progress","samples":'$n',"loss":0.5}'
done
say '{"type":"checkpointed","samples":100,"loss":0.5}'
sleep 100
)");
  one.run_until([&] { return one.last<core::TrainerReady>() != nullptr; });
  one.trainer->run(core::RunTrainer{{1, 1}, 1000, 1000});
  one.run_until([&] { return one.events.size() > 1; });
  one.trainer->pause();
  one.run_until([&] { return one.last<core::TrainerCheckpointed>() != nullptr; });
  // What it reported last goes before.
  const auto& report = std::get<core::TrainerProgressed>(one.events[one.events.size() - 2]);
  TEST_ASSERT_EQUAL_UINT64(100, report.samples);
}

TEST(what_a_chatty_trainer_said_before_it_died_is_heard) {
  OneTrainer one(R"(
say() { eval "echo '$1' >&$LAIRD_FD"; }
eval "read -r line <&$LAIRD_FD"
say '{"type":"ready","v":1,"samples":0}'
eval "read -r line <&$LAIRD_FD"
for n in 1 2 3 4 5 6 7 8 9; do say '{"type":"progress","samples":'$n',"loss":0.5}'; done
)");
  one.run_until([&] { return one.last<core::TrainerReady>() != nullptr; });
  one.trainer->run(core::RunTrainer{{1, 1}, 1000, 1000});
  while (!one.processes.has_ended(one.id)) {
  }
  one.trainer->ended(one.processes.collect(one.id));
  TEST_ASSERT_TRUE(one.last<core::TrainerExited>() != nullptr);
  const auto& report = std::get<core::TrainerProgressed>(one.events[one.events.size() - 2]);
  TEST_ASSERT_EQUAL_UINT64(9, report.samples);
}

TEST(what_a_trainer_may_not_say_yet_is_a_breach_that_names_it) {
  OneTrainer early(R"(
say() { eval "echo '$1' >&$LAIRD_FD"; }
say '{"type":"progress","samples":1,"loss":0.5}'
sleep 100
)");
  early.run_until([&] { return early.last<core::TrainerFailed>() != nullptr; });
  TEST_ASSERT_EQUAL_STRING(
      "its trainer broke the protocol: it said \"progress\" before it was ready",
      early.last<core::TrainerFailed>()->why.c_str());
  OneTrainer twice(R"(
say() { eval "echo '$1' >&$LAIRD_FD"; }
say '{"type":"ready","v":1,"samples":0}'
say '{"type":"ready","v":1,"samples":0}'
sleep 100
)");
  twice.run_until([&] { return twice.last<core::TrainerFailed>() != nullptr; });
  TEST_ASSERT_EQUAL_STRING(
      "its trainer broke the protocol: it said \"ready\" when it was ready already",
      twice.last<core::TrainerFailed>()->why.c_str());
}
