#include "tests/virtual/board.hpp"

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <utility>

#include "agent/settings/settings_loader.hpp"
#include "tests/virtual/fake_disk.hpp"

namespace laird::test {
namespace {

constexpr std::uint64_t kProgram = 1;
constexpr agent::Footprint kFootprint{10'000, 1'000};

[[noreturn]] void give_up(const std::string& text) {
  std::fprintf(stderr, "%s\n", text.c_str());
  std::abort();
}

}  // namespace

Board::Board(std::string name, std::string folder, const std::string& config, Timeline& time,
             Chance& chance, FakeBroker& broker, std::int64_t drift_ppm)
    : name_(std::move(name)),
      folder_(std::move(folder)),
      config_path_(folder_ + "/laird.json"),
      time_(time),
      broker_(broker),
      clock_(time, drift_ppm),
      trainers_(time, chance),
      machine_{clock_,
               trainers_,
               [this](mqtt::Options options) -> Result<std::unique_ptr<mqtt::Connection>> {
                 const int fd = VirtualPoller::kFirstOwn;
                 options.client_id = name_;  // by which the world knows its links
                 auto made = std::make_unique<FakeConnection>(
                     broker_, std::move(options), fd, [this](bool something) {
                       if (poller_ == nullptr) return;
                       if (something) {
                         poller_->signal(VirtualPoller::kFirstOwn);
                       } else {
                         poller_->clear(VirtualPoller::kFirstOwn);
                       }
                     });
                 connection_ = made.get();
                 return made;
               },
               [] { return kFootprint; },
               1,
               kProgram} {
  std::filesystem::create_directories(folder_);
  std::ofstream(config_path_) << config;
}

Board::~Board() { kill(); }

void Board::start() {
  if (running()) return;
  std::vector<config::Problem> problems;
  json::Value base = agent::read_config(config_path_, problems);
  agent::Settings own = agent::settings_of(base, config_path_, problems);
  for (const config::Problem& problem : problems) give_up(name_ + ": " + problem.text());
  store_.emplace(own.state_dir);
  layers_ = agent::with_remote_settings(config_path_, std::move(base), std::move(own), *store_);
  Result<std::unique_ptr<agent::Poller>> real = agent::open_epoll();
  if (!real) give_up(real.error().text());
  auto poller = std::make_unique<VirtualPoller>(std::move(*real));
  poller_ = poller.get();
  trainers_.set_poller(poller_);
  loop_ = std::make_unique<agent::Loop>(clock_, std::move(poller));
  life_.emplace(*loop_, machine_, layers_, *store_, "virtual",
                [this](agent::LogLevel level, const auto& text) {
                  if (level == agent::LogLevel::kError) last_error_ = text;
                  static const bool loud = std::getenv("LAIRD_VIRTUAL_LOG") != nullptr;
                  if (loud)
                    std::printf("%12.3f %s %d %s\n", static_cast<double>(time_.now()) * 1e-9,
                                name_.c_str(), static_cast<int>(level), text.c_str());
                });
  if (const Status ok = life_->open(); !ok) {
    // A disk that is full may not let it start; the service manager tries again.
    last_error_ = ok.error().text();
    take_down();
    time_.after(10 * kSecond, [this] { start(); });
    return;
  }
  heard_steps_ = 0;
  if (started_) started_(*this);
  turn();
}

void Board::take_down() {
  if (connection_ != nullptr) connection_->die();
  poller_ = nullptr;
  trainers_.set_poller(nullptr);
  life_.reset();
  connection_ = nullptr;
  loop_.reset();
  frozen_ = false;
}

// A process that is killed in the middle of a write is killed after it: the same to whoever reads
// the file.
void Board::kill() {
  while (turning_.standing()) turning_.go_on();
  starts_again_ = false;
  if (running()) take_down();
}

void Board::cut_power() {
  FakeDisk::cut_power(folder_);
  kill();
  FakeDisk::settle_power_cut(folder_);
  machine_.boot = ++boots_;
  clock_.reboot();
}

void Board::set_disk_fault(FakeDisk::Fault fault) {
  if (fault == FakeDisk::Fault::kSlow) slow_disk_ = true;
  FakeDisk::set_fault(folder_, fault, [this] {
    FakeDisk::set_fault(folder_, FakeDisk::Fault::kNone);
    if (!in_fiber_) return;
    stands_until_ = time_.now() + slow_write_;
    turning_.stand_still();
  });
}

TimeNs Board::next_due() {
  if (!running() || frozen_) return kNever;
  if (turning_.standing()) return std::max(time_.now(), stands_until_);
  if (poller_->has_something() || trainers_.any_ended()) return time_.now();
  const TimeNs due = loop_->next_due();
  return due == kNever ? kNever : std::max(time_.now(), clock_.world_time_of(due));
}

void Board::turn() {
  if (!running() || frozen_) return;
  if (turning_.standing()) {
    turning_.go_on();
  } else if (++turns_; slow_disk_) {
    turning_.run([this] {
      in_fiber_ = true;
      turn_once();
      in_fiber_ = false;
    });
  } else {
    turn_once();
  }
  if (std::exchange(starts_again_, false)) start();
}

void Board::turn_once() {
  if (const Status ok = loop_->run_once(0); !ok) give_up(name_ + ": " + ok.error().text());
  if (trainers_.any_ended()) life_->agent().on_child_signal();
  life_->settle();
  // The agent speaks to its trainers only in what follows from a step.
  if (life_->agent().steps() != heard_steps_ || trainers_.any_ended()) trainers_.pump();
  heard_steps_ = life_->agent().steps();
  if (!life_->agent().finished()) return;
  const bool again = life_->wants_restart();
  // A clean end says goodbye by itself.
  poller_ = nullptr;
  trainers_.set_poller(nullptr);
  life_.reset();
  connection_ = nullptr;
  loop_.reset();
  starts_again_ = again;
}

}  // namespace laird::test
