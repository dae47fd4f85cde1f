// virtual_fleet: real agents in one process, in virtual time, under faults from a seed.
//
//   virtual_fleet --seed 7 --seeds 3 --hours 20 --boards 6
//
// One world for each seed, one after the other. Prints what happened and ends with 0, or prints the
// seed and what went wrong there and ends with 1.
#include <malloc.h>
#include <signal.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <string>

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
  std::fprintf(stderr,
               "usage: virtual_fleet [--seed N] [--seeds COUNT] [--hours H] [--boards N]\n"
               "                     [--plant fence|answer]\n"
               "example: virtual_fleet --seed 7 --seeds 3 --hours 20 --boards 6\n");
  return 2;
}

unsigned long long as_count(unsigned long long value) { return value; }

void print(const test::WorldCounts& c, double cpu_s) {
  const double hours = static_cast<double>(c.board_time) / static_cast<double>(kHour);
  std::printf(
      "%.0f board-hours in %.1f s of one core: %.0f a minute; %llu turns\n"
      "faults: %llu kills, %llu power cuts, %llu freezes, %llu cut links, %llu broker stops, "
      "%llu full disks, %llu clocks set, %llu trainers\n"
      "work: %llu commands, %llu tasks accepted, %llu reached their target; %llu events replayed\n",
      hours, cpu_s, hours / cpu_s * 60.0, as_count(c.turns), as_count(c.kills),
      as_count(c.power_cuts), as_count(c.freezes), as_count(c.cuts), as_count(c.broker_stops),
      as_count(c.full_disks), as_count(c.clock_jumps), as_count(c.trainer_faults),
      as_count(c.commands), as_count(c.accepted), as_count(c.succeeded),
      as_count(c.replayed_events));
}

// A folder in memory where there is one: the journals are written for real.
std::string make_folder() {
  const bool in_memory = ::access("/dev/shm", W_OK) == 0;
  std::string out = in_memory ? "/dev/shm" : std::filesystem::temp_directory_path().string();
  out += "/laird-virtual-XXXXXX";
  return ::mkdtemp(out.data()) == nullptr ? "" : out;
}

int run_world(test::WorldOptions options) {
  options.folder = make_folder();
  if (options.folder.empty()) {
    std::fprintf(stderr, "cannot make a folder for the boards: %s\n", std::strerror(errno));
    return 2;
  }
  const double began = cpu_seconds();
  std::string failure;
  test::WorldCounts counts;
  {
    test::FleetWorld world(options);
    if (!world.run()) failure = world.failure();
    counts = world.counts();
  }
  print(counts, cpu_seconds() - began);
  const bool kept = !failure.empty() && std::getenv("LAIRD_KEEP") != nullptr;
  if (failure.empty()) {
    std::printf("seed %llu: all is well\n", as_count(options.seed));
  } else {
    std::printf("FAILED seed %llu: %s\nagain: virtual_fleet --seed %llu --hours %g --boards %zu\n",
                as_count(options.seed), failure.c_str(), as_count(options.seed),
                static_cast<double>(options.faults_for) / static_cast<double>(kHour),
                options.boards);
  }
  std::error_code ignored;
  if (kept) {
    std::printf("kept: %s\n", options.folder.c_str());
  } else {
    std::filesystem::remove_all(options.folder, ignored);
  }
  std::fflush(stdout);
  return failure.empty() ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  test::WorldOptions options;
  std::uint64_t seeds = 1;
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
    } else if (name == "--plant" && value == "fence") {
      test::planted().no_fence = true;
    } else if (name == "--plant" && value == "answer") {
      test::planted().answer_before_journal = true;
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
    if (const int code = run_world(options); code != 0) return code;
  }
  return 0;
}
