// Journals of boards in virtual time, for tests and measurements of those who read journals:
//   make-journals FOLDER BOARDS HOURS TASKS [SEED [hostile]]
// Each board lives for so many hours with so many tasks, a loss report of each every second that
// it runs and a power reading a second. Two boards and more are a fleet: their ledgers talk to one
// another, and an operator changes the budget half-way.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "agent/journal/journal.hpp"
#include "tests/harness/fake_board.hpp"

using namespace laird;

namespace {

constexpr TimeNs kWall = 1'795'000'000LL * kSecond;  // November 2026
constexpr std::int64_t kFloorMw = 5'000;
constexpr int kCommitEvery = 64;

struct Plan {
  std::string folder;
  int boards = 1;
  double hours = 1.0;
  int tasks = 4;
  unsigned seed = 1;
};

std::string node_of(int i) { return "n-" + std::to_string(i + 1); }

core::CoreConfig config_of(const Plan& plan, int index) {
  power::Board board;
  board.model.idle_mw = 4000;
  board.model.cpu_dynamic_mw = 6000;
  board.model.gpu_dynamic_mw = 9000;
  core::CoreConfig config = test::small_board("foresight");
  config.node = node_of(index);
  config.slice = 20 * kSecond;
  config.power = core::PowerConfig::for_board(board);
  config.power.governor.limit_mc = 90'000;
  if (plan.boards == 1) return config;
  core::FleetBudget& budget = config.fleet.budget;
  budget.founding_epoch = 1;
  for (int i = 0; i < plan.boards; ++i) {
    budget.founders.push_back(node_of(i));
    budget.members.push_back({node_of(i), {0, 0, kFloorMw}});
  }
  std::sort(budget.members.begin(), budget.members.end(),
            [](const auto& a, const auto& b) { return a.id < b.id; });
  std::sort(budget.founders.begin(), budget.founders.end());
  budget.total = {core::kUnlimited, core::kUnlimited, plan.boards * 9'000LL};
  return config;
}

class Life {
 public:
  Life(const Plan& plan, int index)
      : board(config_of(plan, index)), random_(plan.seed + static_cast<unsigned>(index)) {
    const std::string place = plan.folder + "/" + node_of(index) + "/journal";
    std::filesystem::create_directories(place);
    journal::Recovery recovery;
    auto opened = journal::Journal::open(place, {}, kWall, node_of(index), recovery);
    if (!opened) {
      std::fprintf(stderr, "%s\n", opened.error().text().c_str());
      std::exit(1);
    }
    log_ = std::move(*opened);
    (void)log_->close(board.state);
    board.after_step = [this](const core::Event& event, const core::Effects& commands) {
      core::Event copy = event;
      core::Effects answers = commands;
      log_->record(log_->append(copy), answers, board.state.digest());
      if (++events % kCommitEvery == 0) (void)log_->commit(false);
    };
    board.tell(core::ClockStepped{kWall + index * 3 * kMillisecond});
  }
  ~Life() { (void)log_->commit(true); }

  void submit(int number, double hours) {
    const double part = std::uniform_real_distribution<double>(0.3, 0.9)(random_);
    core::TaskSpec spec =
        test::small_task("task-" + std::to_string(number + 1),
                         static_cast<DurationNs>(hours * part * static_cast<double>(kHour)),
                         std::uniform_real_distribution<double>(0.08, 0.3)(random_));
    spec.lane = number % 2 == 0 ? core::LaneKind::kGpu : core::LaneKind::kCpu;
    spec.report_every = 1000;
    spec.memory_bytes = 1'000'000;
    test::FakeTrainer trainer;
    trainer.loss_slope = std::uniform_real_distribution<double>(0.25, 0.6)(random_);
    board.submit(std::move(spec), trainer);
  }

  void read_power() {
    std::int64_t mw = 4000;
    for (const core::Lane& lane : board.state.lanes) {
      if (lane.running.empty()) continue;
      mw += lane.config.kind == core::LaneKind::kGpu ? 9000 : 6000;
    }
    mw += std::uniform_int_distribution<std::int64_t>(-150, 150)(random_);
    heat_ += (static_cast<double>(mw) * 4e-3 + 25.0 - heat_) * 0.02;
    power::PowerReading reading;
    reading.source = power::Source::kRecorded;
    reading.total_mw = mw;
    reading.rails = {{"VDD_IN", mw}, {"VDD_CPU_GPU_CV", mw * 6 / 10}, {"VDD_SOC", mw * 2 / 10}};
    reading.zones = {{"cpu", static_cast<std::int64_t>(heat_ * 1000)}};
    reading.gpu_clock_mhz = mw > 9000 ? 624 : 306;
    reading.cpu_clock_mhz = 1510;
    reading.gpu_load_permille = board.state.lanes[0].running.empty() ? 20 : 970;
    board.tell(core::PowerSampled{reading});
  }

  // The agent is dead for a while, and then starts again.
  void be_away(TimeNs wall) {
    board.skip(kSecond);
    if (--away_s > 0) return;
    board.restart();
    board.tell(core::ClockStepped{wall});
  }

  // Says what a page, a table or a terminal must not take for its own.
  void say_hostile_things() {
    for (const std::string& bad :
         std::vector<std::string>{"<script>window.broken=1</script>", "</script><img src=x>",
                                  "\xE2\x80\xAE\xE2\x81\xA6\xE2\x80\x8B", "'\"&<>{{7*7}}${x}",
                                  "=1+1", "\x1b[2J\n\r\t", "\xFF\xFE"}) {
      board.submit(test::small_task(bad.substr(0, core::kNameBytesMax), kMinute, 0.5));
      board.tell(core::CommandRefused{bad, bad, bad, bad});
      board.tell(core::ConfigNoted{bad});
      power::PowerReading reading;
      reading.total_mw = 5000;
      reading.rails = {{bad, 5000}};
      board.tell(core::PowerSampled{reading});
      if (board.state.live.empty()) continue;
      board.tell(core::TrainerFailed{board.state.live.front().process(), bad});
      board.run_for(kSecond);
    }
  }

  test::FakeBoard board;
  std::uint64_t events = 0;
  int away_s = 0;  // for so many seconds more

 private:
  std::mt19937 random_;
  std::unique_ptr<journal::Journal> log_;
  double heat_ = 35.0;
};

void exchange(std::vector<std::unique_ptr<Life>>& lives) {
  std::vector<std::vector<core::PeerMessage>> heard(lives.size());
  for (std::size_t i = 0; i < lives.size(); ++i) {
    for (core::SendToPeer& message : lives[i]->board.sent) {
      for (std::size_t k = 0; k < lives.size(); ++k) {
        if (message.to == node_of(static_cast<int>(k))) {
          heard[k].push_back({node_of(static_cast<int>(i)), message.bytes});
        }
      }
    }
    lives[i]->board.sent.clear();
  }
  for (std::size_t k = 0; k < lives.size(); ++k) {
    if (!heard[k].empty() && lives[k]->away_s == 0)
      lives[k]->board.tell(core::PeersHeard{std::move(heard[k])});
  }
}

// Less budget for everybody, as an operator would ask for it.
void change_budget(std::vector<std::unique_ptr<Life>>& lives, const Plan& plan) {
  for (auto& life : lives) {
    core::FleetBudget budget = life->board.state.fleet.budget;
    ++budget.rev;
    budget.total[core::Resource::kPower] = plan.boards * 7'500LL;
    life->board.tell(core::OperatorCommand{1, "op-alice", "budget-2", kWall + 366 * kDay / 2,
                                           core::BudgetChanged{1, budget}});
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 5) {
    std::fprintf(stderr, "usage: make-journals FOLDER BOARDS HOURS TASKS [SEED [hostile]]\n");
    return 2;
  }
  const Plan plan{argv[1], std::atoi(argv[2]), std::atof(argv[3]), std::atoi(argv[4]),
                  argc > 5 ? static_cast<unsigned>(std::atoi(argv[5])) : 1U};
  std::vector<std::unique_ptr<Life>> lives;
  for (int i = 0; i < plan.boards; ++i) lives.push_back(std::make_unique<Life>(plan, i));
  for (auto& life : lives) {
    if (plan.boards > 1) life->board.tell(core::FleetJoined{false});
  }
  const bool hostile = argc > 6 && std::string(argv[6]) == "hostile";
  const int seconds = static_cast<int>(plan.hours * 3600);
  const int between = std::max(1, seconds / 2 / std::max(1, plan.tasks));
  for (int s = 0; s < seconds; ++s) {
    for (int i = 0; i < plan.boards; ++i) {
      if (s % between == 0 && s / between < plan.tasks) {
        lives[static_cast<std::size_t>(i)]->submit(s / between, plan.hours);
      }
    }
    for (auto& life : lives) {
      if (life->away_s > 0) {
        life->be_away(kWall + (s + 1) * kSecond);
        continue;
      }
      life->board.run_for(kSecond);
      life->read_power();
    }
    if (plan.boards > 1) exchange(lives);
    if (plan.boards > 1 && s == seconds / 2) change_budget(lives, plan);
    if (plan.boards == 1 && s == seconds / 2) lives[0]->board.tell(core::CapRequested{9, 9'000, 0});
    if (s == seconds / 4) lives[0]->away_s = 3;
    if (hostile && s == seconds / 2) lives[0]->say_hostile_things();
  }
  std::uint64_t events = 0;
  for (const auto& life : lives) events += life->events;
  std::printf("%llu events\n", static_cast<unsigned long long>(events));
  return 0;
}
