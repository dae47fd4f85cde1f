// virtual_fleet: real agents in one process, in virtual time, under faults from a seed.
//
//   virtual_fleet --seed 7 --seeds 3 --hours 20 --boards 6
//   virtual_fleet --seed 7 --disk-every 40
//   virtual_fleet --seed 7 --hours 5 --movable yes    tasks that move; alone: only they are checked
//   virtual_fleet --seed 7 --hours 1 --keep lives     the boards' folders, journals included
//   virtual_fleet --seed 7 --calm yes                 nothing is broken: work and operators alone
//
// One world for each seed, one after the other. Prints what happened and ends with 0, or prints the
// seed and what went wrong there and ends with 1.
//
// With --disk-every N: a small fleet whose only fault is one board's disk, which is full, fails,
// is read-only or stands still from one write of its journal on; a world for each of the four and
// for every Nth write of a quarter of an hour, 1 for all of them.
#include <malloc.h>
#include <signal.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <string>
#include <utility>

#include "tests/virtual/fake_disk.hpp"
#include "tests/virtual/fleet_world.hpp"
#include "tests/virtual/planted.hpp"

namespace {

using namespace laird;

double cpu_seconds() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

int usage() {
  std::fprintf(
      stderr,
      "usage: virtual_fleet [--seed N] [--seeds COUNT] [--hours H] [--boards N]\n"
      "                     [--plant fence|answer|report|hold] [--disk-every N] [--keep DIR]\n"
      "                     [--calm yes|no] [--movable yes|alone]\n"
      "example: virtual_fleet --seed 7 --seeds 3 --hours 20 --boards 6\n");
  return 2;
}

unsigned long long as_count(unsigned long long value) { return value; }

void print(const test::WorldCounts& c, double cpu_s) {
  const double hours = static_cast<double>(c.board_time) / static_cast<double>(kHour);
  std::printf(
      "%.0f board-hours in %.1f s of one core: %.0f a minute; %llu turns\n"
      "faults: %llu kills, %llu power cuts, %llu freezes, %llu cut links, %llu broker stops, "
      "%llu bad disks, %llu clocks set, %llu trainers\n"
      "work: %llu commands, %llu carried out, %llu sent again later; %llu tasks accepted, %llu "
      "reached their target; %llu events replayed\n",
      hours, cpu_s, hours / cpu_s * 60.0, as_count(c.turns), as_count(c.kills),
      as_count(c.power_cuts), as_count(c.freezes), as_count(c.cuts), as_count(c.broker_stops),
      as_count(c.bad_disks), as_count(c.clock_jumps), as_count(c.trainer_faults),
      as_count(c.commands), as_count(c.commands_done), as_count(c.commands_repeated),
      as_count(c.accepted), as_count(c.succeeded), as_count(c.replayed_events));
  if (c.at_work > 0) {
    std::printf(
        "titles: %llu times another board took a task over; looked %llu times at tasks at work\n",
        as_count(c.moved), as_count(c.at_work));
  }
}

// A folder in memory where there is one: the journals are written for real.
std::string make_folder() {
  const bool in_memory = ::access("/dev/shm", W_OK) == 0;
  std::string out = in_memory ? "/dev/shm" : std::filesystem::temp_directory_path().string();
  out += "/laird-virtual-XXXXXX";
  return ::mkdtemp(out.data()) == nullptr ? "" : out;
}

// Where the worlds' folders are copied to; empty: nowhere.
std::string& kept() {
  static std::string folder;
  return folder;
}

// Lives in that world, and takes its folder away afterwards.
struct Lived {
  test::WorldCounts counts;
  std::string failure;
};

Lived live(test::WorldOptions& options) {
  Lived out;
  {
    test::FleetWorld world(options);
    if (!world.run()) out.failure = world.failure();
    out.counts = world.counts();
  }
  std::error_code ignored;
  if (!kept().empty()) {
    const std::filesystem::path name = "seed-" + std::to_string(options.seed);
    std::filesystem::create_directories(kept(), ignored);
    std::filesystem::copy(options.folder, std::filesystem::path(kept()) / name,
                          std::filesystem::copy_options::recursive, ignored);
  }
  if (!out.failure.empty() && std::getenv("LAIRD_KEEP") != nullptr) {
    std::printf("kept: %s\n", options.folder.c_str());
  } else {
    std::filesystem::remove_all(options.folder, ignored);
  }
  return out;
}

int run_world(test::WorldOptions options) {
  options.folder = make_folder();
  if (options.folder.empty()) {
    std::fprintf(stderr, "cannot make a folder for the boards: %s\n", std::strerror(errno));
    return 2;
  }
  const double began = cpu_seconds();
  const auto [counts, failure] = live(options);
  print(counts, cpu_seconds() - began);
  if (failure.empty()) {
    std::printf("seed %llu: all is well\n", as_count(options.seed));
  } else {
    std::printf("FAILED seed %llu: %s\nagain: virtual_fleet --seed %llu --hours %g --boards %zu\n",
                as_count(options.seed), failure.c_str(), as_count(options.seed),
                static_cast<double>(options.faults_for) / static_cast<double>(kHour),
                options.boards);
  }
  std::fflush(stdout);
  return failure.empty() ? 0 : 1;
}

// Every `every`th write of a board's journal, each with every fault of its disk.
int run_disk_trials(test::WorldOptions options, std::uint64_t every) {
  using Fault = test::FakeDisk::Fault;
  static constexpr std::pair<Fault, const char*> kFaults[] = {{Fault::kFull, "full"},
                                                              {Fault::kIo, "failing"},
                                                              {Fault::kReadOnly, "read-only"},
                                                              {Fault::kSlow, "slow"}};
  options.boards = 3;
  options.faults_for = 15 * kMinute;
  options.disk.emplace();
  options.disk->board = options.seed % options.boards;
  options.disk->at_write = UINT64_MAX;
  options.folder = make_folder();
  const Lived sound = live(options);
  const std::uint64_t writes = sound.counts.trial_writes;
  std::uint64_t trials = 0;
  std::uint64_t met = 0;
  std::string failure = sound.failure;
  for (std::uint64_t at = 1; at <= writes && failure.empty(); at += every) {
    for (const auto& [fault, name] : kFaults) {
      options.disk->fault = fault;
      options.disk->at_write = at;
      options.folder = make_folder();
      const Lived lived = live(options);
      ++trials;
      met += lived.counts.bad_disks;
      if (lived.failure.empty()) continue;
      failure = lived.failure;
      std::printf("FAILED seed %llu, disk %s from write %llu on: %s\n", as_count(options.seed),
                  name, as_count(at), failure.c_str());
      break;
    }
  }
  std::printf("seed %llu: %llu writes of a journal, %llu trials, %llu met their fault%s\n",
              as_count(options.seed), as_count(writes), as_count(trials), as_count(met),
              failure.empty() ? ": all is well" : "");
  std::fflush(stdout);
  return failure.empty() && met == trials && trials > 0 ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  test::WorldOptions options;
  std::uint64_t seeds = 1;
  std::uint64_t disk_every = 0;
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string name = argv[i];
    const std::string value = argv[i + 1];
    if (name == "--seed") {
      options.seed = std::strtoull(value.c_str(), nullptr, 10);
    } else if (name == "--seeds") {
      seeds = std::strtoull(value.c_str(), nullptr, 10);
    } else if (name == "--hours") {
      options.faults_for =
          static_cast<DurationNs>(std::strtod(value.c_str(), nullptr) * static_cast<double>(kHour));
    } else if (name == "--boards") {
      options.boards = std::strtoull(value.c_str(), nullptr, 10);
    } else if (name == "--movable" && (value == "yes" || value == "alone")) {
      options.movable = true;
      options.titles_alone = value == "alone";
    } else if (name == "--keep") {
      kept() = value;
    } else if (name == "--calm" && (value == "yes" || value == "no")) {
      options.calm = value == "yes";
    } else if (name == "--disk-every") {
      disk_every = std::strtoull(value.c_str(), nullptr, 10);
    } else if (name == "--plant" && value == "fence") {
      test::planted().no_fence = true;
    } else if (name == "--plant" && value == "answer") {
      test::planted().answer_before_journal = true;
    } else if (name == "--plant" && value == "report") {
      test::planted().report_waits = true;
    } else if (name == "--plant" && value == "hold") {
      test::planted().no_hold = true;
    } else {
      return usage();
    }
  }
  if (argc % 2 == 0 || options.boards < 2 || options.boards > 64 || seeds == 0) return usage();
  ::signal(SIGPIPE, SIG_IGN);
  // Memory that is given back to the kernel is asked for again at the next snapshot.
  ::mallopt(M_MMAP_THRESHOLD, 64 << 20);
  ::mallopt(M_TRIM_THRESHOLD, 256 << 20);
  test::FakeDisk::install();
  for (std::uint64_t i = 0; i < seeds; ++i, ++options.seed) {
    const int code = disk_every > 0 ? run_disk_trials(options, disk_every) : run_world(options);
    if (code != 0) return code;
  }
  return 0;
}
