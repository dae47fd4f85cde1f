#include "agent/board_power/power_knobs.hpp"

#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <atomic>
#include <mutex>
#include <thread>

#include "power/boards/catalogue.hpp"
#include "power/helper/session.hpp"
#include "tests/harness/unit.hpp"
#include "tests/unit/power/fake_sysfs.hpp"

using namespace laird;
using agent::Loop;
using agent::PowerKnobs;
using laird::power::KnobResult;
using laird::power::Rung;
using laird::test::put;

namespace {

constexpr const char* kGpu = "/sys/devices/platform/17000000.gpu/devfreq/17000000.gpu";
constexpr std::int64_t kTop = 1'020'000'000;
constexpr std::int64_t kMiddle = 612'000'000;

// A socket that PowerKnobs connects to; each connection is served by `serve(fd)` on one thread.
class Helper {
 public:
  explicit Helper(std::function<void(int fd)> serve) : path_(folder_.path() + "/priv.sock") {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    path_.copy(address.sun_path, path_.size());
    listener_ = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    TEST_ASSERT_EQUAL_INT(
        0, ::bind(listener_, reinterpret_cast<const sockaddr*>(&address), sizeof address));
    TEST_ASSERT_EQUAL_INT(0, ::listen(listener_, 4));
    thread_ = std::thread([this, serve = std::move(serve)] {
      for (int fd = 0; (fd = ::accept(listener_, nullptr, nullptr)) >= 0;) {
        serve(fd);
        ::close(fd);
        ++served_;
      }
    });
  }
  ~Helper() {
    ::shutdown(listener_, SHUT_RDWR);
    thread_.join();
    ::close(listener_);
  }
  [[nodiscard]] std::vector<std::string> command() const { return {path_}; }
  // Connections that came to their end, and so restored what they had set.
  void wait_served(int count) const {
    for (int i = 0; i < 1000 && served_ < count; ++i) ::poll(nullptr, 0, 10);
    TEST_ASSERT_EQUAL_INT(count, served_);
  }

 private:
  test::TemporaryFolder folder_;
  std::string path_;
  int listener_ = -1;
  std::atomic<int> served_ = 0;
  std::thread thread_;
};

// A helper that answers by rule: no answer for an empty one, hangs up at "bye".
std::function<void(int)> scripted(std::function<std::string(const std::string&)> rule) {
  return [rule = std::move(rule)](int fd) {
    std::string line;
    for (char c = 0; ::read(fd, &c, 1) == 1;) {
      if (c != '\n') {
        line += c;
        continue;
      }
      const std::string answer = rule(std::exchange(line, ""));
      if (answer == "bye") return;
      const std::string text = answer + "\n";
      if (!answer.empty() && ::write(fd, text.data(), text.size()) < 0) return;
    }
  };
}

// The answers of a whole board: three clocks, modes 0 (15W) and 1 (25W, in force) of an Orin Nano.
std::string usual(const std::string& request) {
  if (request == "list gpu-max-freq") return "ok 306000000 612000000 1020000000";
  if (request == "list nvpmodel") return "ok 0 1";
  if (request == "get nvpmodel") return "ok 1";
  if (request == "get gpu-max-freq") return "ok 1020000000 306000000 1020000000";
  if (request.starts_with("set ")) return "ok " + request.substr(request.rfind(' ') + 1);
  return "error invalid: unknown";
}

// What the real helper sees: a GPU, a program that keeps its mode in a file, two live modes.
struct Tree {
  Tree() {
    place.root = folder.path();
    put(place.root + kGpu + "/max_freq", std::to_string(kTop) + "\n");
    put(place.root + kGpu + "/min_freq", "306000000\n");
    put(place.root + kGpu + "/available_frequencies", "306000000 612000000 1020000000\n");
    std::filesystem::create_directories(place.root + "/sys/class/devfreq");
    std::filesystem::create_directory_symlink(place.root + kGpu,
                                              place.root + "/sys/class/devfreq/17000000.gpu");
    put(place.root + place.live_modes, "0\n1\n");
    ::chmod((place.root + place.live_modes).c_str(), 0644);
    const std::string program = place.root + place.nvpmodel;
    put(program, "#!/bin/sh\nf=" + place.root +
                     "/mode\n[ \"$1\" = -m ] && echo $2 > $f\n[ \"$1\" = -q ] && cat $f\nexit 0\n");
    ::chmod(program.c_str(), 0755);
    put(place.root + "/mode", "1\n");
  }
  [[nodiscard]] std::function<void(int)> helper() const {
    return [this](int fd) {
      auto session = power::priv::Session::open(place, place.root + "/journal");
      if (session) power::priv::serve(*session, fd, fd, -1);
    };
  }
  [[nodiscard]] std::string read(const std::string& path) const {
    std::ifstream in(place.root + path);
    std::string out;
    std::getline(in, out);
    return out;
  }
  [[nodiscard]] std::string clock() const { return read(std::string(kGpu) + "/max_freq"); }

  test::TemporaryFolder folder;
  power::priv::Place place;
};

// PowerKnobs on a loop of its own, with everything it said.
struct Knobs {
  explicit Knobs(const std::vector<std::string>& helper) {
    loop = std::move(*Loop::create(clock));
    knobs = PowerKnobs::open(
        *loop, helper, *power::find_board("orin-nano-8gb", ""),
        [this](core::EventBody body) { said.push_back(std::get<core::PowerKnobSet>(body)); },
        [this](agent::LogLevel, const std::string& text) { log += text + "\n"; });
  }
  // What came of a move.
  core::PowerKnobSet set(Rung rung, std::int32_t permille) {
    const std::size_t before = said.size();
    knobs->set(core::SetPowerKnob{rung, permille});
    for (int i = 0; i < 100 && said.size() == before; ++i) {
      TEST_ASSERT_TRUE(loop->run_once(100 * kMillisecond).has_value());
    }
    TEST_ASSERT_EQUAL_UINT64(before + 1, said.size());
    return said.back();
  }
  [[nodiscard]] power::GovernorConfig offered() const {
    power::GovernorConfig out;
    knobs->offer(out);
    return out;
  }
  [[nodiscard]] bool offers(Rung rung) const { return offered().rungs[rung].available; }

  SystemClock clock;
  std::unique_ptr<Loop> loop;
  std::unique_ptr<PowerKnobs> knobs;
  std::vector<core::PowerKnobSet> said;
  std::string log;
};

void expect(const core::PowerKnobSet& got, Rung rung, KnobResult outcome, std::int32_t permille) {
  TEST_ASSERT_TRUE(got.rung == rung);
  TEST_ASSERT_EQUAL_INT_MESSAGE(static_cast<int>(outcome), static_cast<int>(got.outcome),
                                got.note.c_str());
  TEST_ASSERT_EQUAL_INT32_MESSAGE(permille, got.actual_permille, got.note.c_str());
}

}  // namespace

TEST(clocks_and_live_modes_are_offered_as_levels) {
  const Helper helper(scripted(usual));
  const Knobs knobs(helper.command());
  const power::GovernorConfig offered = knobs.offered();
  const auto& clock = offered.rungs[Rung::kDevfreq];
  const auto& mode = offered.rungs[Rung::kNvpmodel];
  TEST_ASSERT_TRUE(clock.available && mode.available);
  TEST_ASSERT_TRUE((clock.levels == std::vector<std::int32_t>{300, 600, 1000}));
  TEST_ASSERT_TRUE((mode.levels == std::vector<std::int32_t>{600, 1000}));  // 15 W of 25 W
  TEST_ASSERT_EQUAL_STRING("GPU clock in 3 steps, power modes 0 1",
                           knobs.knobs->describe().c_str());
}

TEST(a_move_is_read_back_and_put_back_when_the_agent_ends) {
  const Tree tree;
  const Helper helper(tree.helper());
  {
    Knobs knobs(helper.command());
    expect(knobs.set(Rung::kDevfreq, 600), Rung::kDevfreq, KnobResult::kDone, 600);
    TEST_ASSERT_EQUAL_STRING("612000000", tree.clock().c_str());
    expect(knobs.set(Rung::kNvpmodel, 600), Rung::kNvpmodel, KnobResult::kDone, 600);
    TEST_ASSERT_EQUAL_STRING("0", tree.read("/mode").c_str());
    expect(knobs.set(Rung::kDevfreq, 300), Rung::kDevfreq, KnobResult::kDone, 300);
    expect(knobs.set(Rung::kDevfreq, 1000), Rung::kDevfreq, KnobResult::kDone, 1000);
    expect(knobs.set(Rung::kDevfreq, 300), Rung::kDevfreq, KnobResult::kDone, 300);
  }
  helper.wait_served(1);
  TEST_ASSERT_EQUAL_STRING("1020000000", tree.clock().c_str());
  TEST_ASSERT_EQUAL_STRING("1", tree.read("/mode").c_str());
}

TEST(what_a_crash_left_behind_is_put_back_before_the_modes_are_looked_at) {
  const Tree tree;
  put(tree.place.root + kGpu + "/max_freq", "306000000\n");
  put(tree.place.root + "/mode", "0\n");
  put(tree.place.root + "/journal", "gpu-max-freq 1020000000\nnvpmodel 1\n");
  const Helper helper(tree.helper());
  Knobs knobs(helper.command());
  TEST_ASSERT_EQUAL_STRING("1020000000", tree.clock().c_str());
  TEST_ASSERT_EQUAL_STRING("1", tree.read("/mode").c_str());
  // Taken for the mode in force, the leftover one would leave nothing below it to switch to.
  TEST_ASSERT_TRUE(knobs.offers(Rung::kNvpmodel));
  expect(knobs.set(Rung::kNvpmodel, 700), Rung::kNvpmodel, KnobResult::kDone, 600);
}

TEST(a_clock_that_was_rounded_is_taken_for_what_it_is) {
  const Helper helper(scripted([](const std::string& request) {
    return request.starts_with("set gpu") ? "ok 920000000" : usual(request);
  }));
  Knobs knobs(helper.command());
  const core::PowerKnobSet got = knobs.set(Rung::kDevfreq, 600);
  expect(got, Rung::kDevfreq, KnobResult::kDone, 901);
  TEST_ASSERT_EQUAL_STRING("612000000 Hz became 920000000", got.note.c_str());
}

TEST(a_clock_or_a_mode_that_stays_where_it_was_is_a_refusal) {
  const Helper helper(scripted([](const std::string& request) -> std::string {
    if (request.starts_with("set gpu")) return "ok 1020000000";
    if (request.starts_with("set nvpmodel")) return "ok 1";
    return usual(request);
  }));
  Knobs knobs(helper.command());
  const core::PowerKnobSet clock = knobs.set(Rung::kDevfreq, 600);
  expect(clock, Rung::kDevfreq, KnobResult::kRefused, 1000);
  TEST_ASSERT_EQUAL_STRING("it stays at 1020000000 Hz, asked for 612000000", clock.note.c_str());
  const core::PowerKnobSet mode = knobs.set(Rung::kNvpmodel, 600);
  expect(mode, Rung::kNvpmodel, KnobResult::kRefused, 1000);
  TEST_ASSERT_EQUAL_STRING("mode 1 is in force", mode.note.c_str());
}

TEST(a_pinned_clock_is_said_to_be_pinned_and_not_set) {
  std::atomic<int> sets = 0;
  const Helper helper(scripted([&sets](const std::string& request) -> std::string {
    if (request.starts_with("set gpu")) ++sets;
    if (request == "get gpu-max-freq") return "ok 1020000000 1020000000 1020000000";
    return usual(request);
  }));
  Knobs knobs(helper.command());
  expect(knobs.set(Rung::kDevfreq, 600), Rung::kDevfreq, KnobResult::kPinned, 1000);
  TEST_ASSERT_EQUAL_INT(0, sets);
}

TEST(a_helper_that_may_not_write_refuses_each_move_with_its_reason) {
  const Helper helper(scripted([](const std::string& request) -> std::string {
    return request.starts_with("set ") ? "error permission: max_freq: Permission denied"
                                       : usual(request);
  }));
  Knobs knobs(helper.command());
  const core::PowerKnobSet clock = knobs.set(Rung::kDevfreq, 600);
  expect(clock, Rung::kDevfreq, KnobResult::kRefused, 1000);
  TEST_ASSERT_TRUE(clock.note.find("Permission denied") != std::string::npos);
  expect(knobs.set(Rung::kNvpmodel, 600), Rung::kNvpmodel, KnobResult::kRefused, 1000);
}

TEST(a_helper_that_is_not_there_offers_nothing_and_is_named) {
  const test::TemporaryFolder folder;
  for (const std::string& path : {folder.path() + "/none", folder.path() + "/none.sock"}) {
    const Knobs knobs({path});
    TEST_ASSERT_FALSE(knobs.offers(Rung::kDevfreq) || knobs.offers(Rung::kNvpmodel));
    TEST_ASSERT_EQUAL_STRING("the privileged helper does not answer",
                             knobs.knobs->describe().c_str());
    TEST_ASSERT_TRUE_MESSAGE(knobs.log.find(path) != std::string::npos, knobs.log.c_str());
  }
  const Knobs none({});
  TEST_ASSERT_FALSE(none.offers(Rung::kDevfreq));
  TEST_ASSERT_EQUAL_STRING("", none.log.c_str());
}

TEST(a_helper_that_goes_is_reported_and_called_again) {
  const Tree tree;
  std::atomic<bool> dies = false;
  const auto real = tree.helper();
  const auto dying = scripted([&dies](const std::string& request) {
    return dies && request.starts_with("set ") ? "bye" : usual(request);
  });
  std::atomic<int> calls = 0;
  const Helper helper([&](int fd) { ++calls == 1 ? dying(fd) : real(fd); });
  Knobs knobs(helper.command());
  dies = true;
  knobs.knobs->set(core::SetPowerKnob{Rung::kDevfreq, 600});
  for (int i = 0; i < 100 && knobs.said.size() < 2; ++i) {
    TEST_ASSERT_TRUE(knobs.loop->run_once(100 * kMillisecond).has_value());
  }
  TEST_ASSERT_EQUAL_UINT64(2, knobs.said.size());  // both rungs are full again
  expect(knobs.said[0], Rung::kDevfreq, KnobResult::kRefused, 1000);
  expect(knobs.said[1], Rung::kNvpmodel, KnobResult::kRefused, 1000);
  expect(knobs.set(Rung::kDevfreq, 600), Rung::kDevfreq, KnobResult::kDone, 600);
  TEST_ASSERT_EQUAL_STRING(std::to_string(kMiddle).c_str(), tree.clock().c_str());
}

TEST(an_answer_that_comes_late_is_not_taken_for_the_next_one) {
  // The list of clocks is answered twice: once more where the modes are asked for.
  const Helper helper(scripted([](const std::string& request) -> std::string {
    if (request == "list gpu-max-freq") return "";
    if (request == "list nvpmodel") return usual("list gpu-max-freq") + "\n" + usual(request);
    return usual(request);
  }));
  const Knobs knobs(helper.command());
  TEST_ASSERT_TRUE(knobs.offers(Rung::kNvpmodel));
  TEST_ASSERT_EQUAL_STRING("no GPU clock to set, power modes 0 1", knobs.knobs->describe().c_str());
}
