#include "agent/trainer_host/door_check.hpp"

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <filesystem>
#include <map>

#include "tests/harness/unit.hpp"

using namespace laird;
using namespace laird::agent;

namespace {

class OwnClock final : public Clock {
 public:
  [[nodiscard]] TimeNs boot_ns() override { return now; }
  [[nodiscard]] TimeNs wall_ns() override { return now; }
  TimeNs now = kSecond;
};

// Checks whose other ends the test holds.
class HeldProcesses final : public Processes {
 public:
  struct Held {
    Fd socket;
    Fd output;
    Fd news;
    bool killed = false;
    bool ended = false;
    Ending ending;
  };
  [[nodiscard]] Result<Process> start(const ProcessSpec& spec, const Cgroup*) override {
    TEST_ASSERT_TRUE(spec.check);
    TEST_ASSERT_TRUE(spec.fresh);
    std::array<int, 2> pair{};
    std::array<int, 2> out{};
    std::array<int, 2> news{};
    TEST_ASSERT_EQUAL_INT(0, ::socketpair(AF_UNIX, SOCK_STREAM, 0, pair.data()));
    TEST_ASSERT_EQUAL_INT(0, ::pipe2(out.data(), O_NONBLOCK));
    TEST_ASSERT_EQUAL_INT(0, ::socketpair(AF_UNIX, SOCK_STREAM, 0, news.data()));
    news_fds.emplace_back(news[0]);
    Held one;
    one.socket.reset(pair[1]);
    one.output.reset(out[1]);
    one.news.reset(news[1]);
    const int id = next++;
    held.emplace(id, std::move(one));
    return Process{id, Fd(pair[0]), Fd(out[0]), news[0]};
  }
  void signal_all(int id, int signal) override {
    held.at(id).killed = signal == SIGKILL;
    if (signal == SIGKILL) end(id, SIGKILL);
  }
  [[nodiscard]] bool has_ended(int id) override { return held.at(id).ended; }
  Ending collect(int id) override { return held.at(id).ending; }
  [[nodiscard]] bool can_check() const override { return checks; }

  void end(int id, int status, const std::string& said = "", const std::string& why = "") {
    Held& one = held.at(id);
    TEST_ASSERT_EQUAL_INT(static_cast<int>(said.size()),
                          ::write(one.output.get(), said.data(), said.size()));
    one.output.reset();
    one.ended = true;
    one.ending = {status, why};
    TEST_ASSERT_EQUAL_INT(1, ::send(one.news.get(), "x", 1, 0));
  }

  std::map<int, Held> held;
  std::vector<Fd> news_fds;
  int next = 1;
  bool checks = true;
};

constexpr int kExited1 = 1 << 8;

struct Door {
  OwnClock clock;
  Loop loop{clock, std::move(*open_epoll())};
  HeldProcesses processes;
  test::TemporaryFolder folder;
  DoorCheck door{loop, processes, folder.path() + "/tasks", 5 * kSecond};
  TrainerProgram trainer{{"/usr/bin/laird-train", "mlp"}, {}, false, false};
  std::vector<std::string> answers;

  void check(const std::string& params = "{}") {
    core::TaskSpec spec;
    spec.name = "t";
    spec.trainer = "mlp";
    spec.params = params;
    door.check(spec, trainer,
               [this](std::string problem) { answers.push_back(std::move(problem)); });
  }
  void turn(int times = 5) {
    for (int i = 0; i < times; ++i) TEST_ASSERT_TRUE(loop.run_once(0).has_value());
  }
};

}  // namespace

TEST(the_trainers_words_refuse_the_task) {
  Door one;
  one.check("{\"epoch\":1}");
  one.turn();
  std::array<char, 64> got{};
  TEST_ASSERT_EQUAL_INT(11,
                        ::recv(one.processes.held.at(1).socket.get(), got.data(), got.size(), 0));
  // The end of it is told, so that the program knows that it has all.
  TEST_ASSERT_EQUAL_INT(0,
                        ::recv(one.processes.held.at(1).socket.get(), got.data(), got.size(), 0));
  TEST_ASSERT_EQUAL_UINT64(0, one.answers.size());
  one.processes.end(1, kExited1, "-:1: /epoch: unknown key\n-: /data: missing\n");
  one.turn();
  TEST_ASSERT_EQUAL_UINT64(1, one.answers.size());
  TEST_ASSERT_EQUAL_STRING("/epoch: unknown key; /data: missing", one.answers[0].c_str());
}

TEST(one_that_finds_nothing_lets_it_in) {
  Door one;
  one.check();
  one.turn();
  one.processes.end(1, 0, "-: ok rows=3\n");
  one.turn();
  TEST_ASSERT_EQUAL_UINT64(1, one.answers.size());
  TEST_ASSERT_EQUAL_STRING("", one.answers[0].c_str());
}

TEST(a_check_that_takes_too_long_is_ended_and_keeps_nobody_out) {
  Door one;
  one.check();
  one.turn();
  one.clock.now += 6 * kSecond;
  one.turn();
  TEST_ASSERT_TRUE(one.processes.held.at(1).killed);
  TEST_ASSERT_EQUAL_UINT64(1, one.answers.size());
  TEST_ASSERT_EQUAL_STRING("", one.answers[0].c_str());
}

TEST(one_that_dies_or_cannot_be_started_keeps_nobody_out) {
  Door one;
  one.check();
  one.check();
  one.turn();
  one.processes.end(1, SIGSEGV, "half a word");
  one.processes.end(2, SIGKILL, "", "its cell could not be made");
  one.turn();
  TEST_ASSERT_EQUAL_UINT64(2, one.answers.size());
  TEST_ASSERT_EQUAL_STRING("", one.answers[0].c_str());
  TEST_ASSERT_EQUAL_STRING("", one.answers[1].c_str());
}

TEST(trainers_without_a_check_are_not_started) {
  Door one;
  one.trainer.argv = {"/opt/own"};
  one.check();
  TEST_ASSERT_EQUAL_UINT64(1, one.answers.size());
  one.trainer.checks = true;
  one.check();
  TEST_ASSERT_EQUAL_UINT64(1, one.answers.size());
  one.processes.checks = false;
  one.check();
  TEST_ASSERT_EQUAL_UINT64(2, one.answers.size());
}

TEST(only_so_many_are_checked_at_once) {
  Door one;
  for (int i = 0; i < 5; ++i) one.check();
  TEST_ASSERT_EQUAL_UINT64(4, one.processes.held.size());
  TEST_ASSERT_EQUAL_UINT64(1, one.answers.size());
  one.processes.end(2, 0);
  one.turn();
  one.check();
  TEST_ASSERT_EQUAL_UINT64(5, one.processes.held.size());
}
