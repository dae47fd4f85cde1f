// Parsing tegrastats against two ways people write it in C++, and what live reading costs.
//
// The corpus is every capture below LAIRD_SHARED_DATA/tegrastats, or lines made here when there are
// none. Each parser does the same job: take the line apart and find total power.
#include <benchmark/benchmark.h>
#include <fcntl.h>
#include <time.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <regex>
#include <sstream>

#include "os/line_splitter.hpp"
#include "power/boards/catalogue.hpp"
#include "power/model/governor.hpp"
#include "power/model/meter.hpp"
#include "power/readers/sysfs/sysfs_sampler.hpp"
#include "power/readers/tegrastats/tegrastats_reading.hpp"

namespace {

using namespace laird;
using namespace laird::power;

std::string made_up_lines() {
  std::string out;
  for (int i = 0; i < 10'000; ++i) {
    out +=
        "01-02-2026 03:04:05 RAM " + std::to_string(1000 + i % 500) +
        "/7620MB (lfb 28x4MB) SWAP 0/3810MB (cached 0MB) CPU [1%@1344,2%@1344,3%@1344,4%@1344,"
        "5%@729,6%@729] EMC_FREQ 3%@2133 GR3D_FREQ 40%@[306] NVDEC off NVJPG off VIC off OFA off "
        "APE 200 cpu@40.5C soc2@39.937C gpu@41.562C tj@41.75C VDD_IN " +
        std::to_string(5000 + i % 700) +
        "mW/5216mW VDD_CPU_GPU_CV 1080mW/1080mW VDD_SOC 1402mW/1402mW\n";
  }
  return out;
}

const std::string& corpus() {
  static const std::string text = [] {
    std::string all;
    const char* shared = std::getenv("LAIRD_SHARED_DATA");
    const std::string folder = std::string(shared == nullptr ? "" : shared) + "/tegrastats";
    std::error_code error;
    for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
      if (entry.path().extension() != ".log") continue;
      std::ifstream in(entry.path(), std::ios::binary);
      all.append(std::istreambuf_iterator<char>(in), {});
      if (!all.empty() && all.back() != '\n') all += '\n';
    }
    return all.empty() ? made_up_lines() : all;
  }();
  return text;
}

const Board& generic() {
  static const Board board = *find_board("generic", "");
  return board;
}

void report(benchmark::State& state, std::size_t lines, std::int64_t check) {
  state.SetBytesProcessed(static_cast<std::int64_t>(state.iterations()) *
                          static_cast<std::int64_t>(corpus().size()));
  state.SetItemsProcessed(static_cast<std::int64_t>(state.iterations()) *
                          static_cast<std::int64_t>(lines));
  // The same for every parser, or they did not do the same job.
  state.counters["sum_of_totals_mw"] = static_cast<double>(check);
}

void laird_parse(benchmark::State& state) {
  const auto line = std::make_unique<Line>();
  std::size_t lines = 0;
  std::int64_t sum = 0;
  for (auto _ : state) {
    lines = 0;
    sum = 0;
    LineSplitter stream(kLineBytesMax, Overlong::kSkip);
    stream.feed(corpus(), [&](std::string_view text) {
      parse_line(text, *line);
      sum += total_of(*line, generic()).mw;
      ++lines;
    });
  }
  report(state, lines, sum);
}

// The same from a file on the page cache, read in blocks: what a program does.
void laird_parse_from_file(benchmark::State& state) {
  const std::string path =
      (std::filesystem::temp_directory_path() / ("laird-bench-" + std::to_string(getpid())))
          .string();
  std::ofstream(path, std::ios::binary) << corpus();
  const auto line = std::make_unique<Line>();
  std::vector<char> block(256 * 1024);
  std::size_t lines = 0;
  std::int64_t sum = 0;
  for (auto _ : state) {
    lines = 0;
    sum = 0;
    LineSplitter stream(kLineBytesMax, Overlong::kSkip);
    const int fd = ::open(path.c_str(), O_RDONLY);
    for (ssize_t n = 0; (n = ::read(fd, block.data(), block.size())) > 0;) {
      stream.feed(std::string_view(block.data(), static_cast<std::size_t>(n)),
                  [&](std::string_view text) {
                    parse_line(text, *line);
                    sum += total_of(*line, generic()).mw;
                    ++lines;
                  });
    }
    ::close(fd);
  }
  std::filesystem::remove(path);
  report(state, lines, sum);
}

void laird_parse_to_json(benchmark::State& state) {
  const auto line = std::make_unique<Line>();
  std::size_t lines = 0;
  std::string out;
  for (auto _ : state) {
    lines = 0;
    out.clear();
    LineSplitter stream(kLineBytesMax, Overlong::kSkip);
    stream.feed(corpus(), [&](std::string_view text) {
      parse_line(text, *line);
      append_json(*line, generic(), out);
      ++lines;
    });
    benchmark::DoNotOptimize(out.data());
  }
  report(state, lines, 0);
}

// Total by the same rules from rails gathered as name and value.
std::int64_t total_of_pairs(const std::vector<std::pair<std::string, long>>& rails) {
  for (const TotalRule& rule : generic().totals) {
    std::int64_t sum = 0;
    std::size_t found = 0;
    for (const std::string& wanted : rule.rails) {
      for (const auto& [name, mw] : rails) {
        if (name != wanted) continue;
        sum += mw;
        ++found;
        break;
      }
    }
    if (found == rule.rails.size()) return sum;
  }
  return 0;
}

// Words split by a stream, each looked at: what most scripts in C++ do.
void istringstream_parse(benchmark::State& state) {
  std::size_t lines = 0;
  std::int64_t sum = 0;
  for (auto _ : state) {
    lines = 0;
    sum = 0;
    std::istringstream in(corpus());
    for (std::string text; std::getline(in, text); ++lines) {
      std::istringstream words(text);
      std::vector<std::pair<std::string, long>> rails;
      std::vector<std::pair<std::string, double>> zones;
      std::string last;
      for (std::string word; words >> word; last = word) {
        const std::size_t at = word.find('@');
        if (at != std::string::npos && word.back() == 'C') {
          zones.emplace_back(word.substr(0, at), std::strtod(word.c_str() + at + 1, nullptr));
        } else if (word.find('/') != std::string::npos && last != "RAM" && last != "SWAP" &&
                   last != "IRAM") {
          rails.emplace_back(last, std::strtol(word.c_str(), nullptr, 10));
        }
      }
      benchmark::DoNotOptimize(zones.data());
      sum += total_of_pairs(rails);
    }
  }
  report(state, lines, sum);
}

// The regular expressions of typical parsers: rails and temperatures only.
void std_regex_parse(benchmark::State& state) {
  static const std::regex rail(R"(\b([A-Z0-9_]+) (\d+)(?:mW)?/\d+(?:mW)?(?=[ /]|$))");
  static const std::regex zone(R"((\w+)@(-?\d+\.?\d*)C)");
  // A part of the corpus is enough to know the pace.
  const std::string_view part = std::string_view(corpus()).substr(0, 400'000);
  std::size_t lines = 0;
  for (auto _ : state) {
    lines = 0;
    LineSplitter stream(kLineBytesMax, Overlong::kSkip);
    stream.feed(part, [&](std::string_view text) {
      std::vector<std::pair<std::string, long>> rails;
      std::vector<std::pair<std::string, double>> zones;
      const char* begin = text.data();
      const char* end = begin + text.size();
      for (std::cregex_iterator it(begin, end, rail), none; it != none; ++it) {
        rails.emplace_back((*it)[1].str(), std::strtol((*it)[2].str().c_str(), nullptr, 10));
      }
      for (std::cregex_iterator it(begin, end, zone), none; it != none; ++it) {
        zones.emplace_back((*it)[1].str(), std::strtod((*it)[2].str().c_str(), nullptr));
      }
      benchmark::DoNotOptimize(zones.data());
      benchmark::DoNotOptimize(total_of_pairs(rails));
      ++lines;
    });
  }
  state.SetBytesProcessed(static_cast<std::int64_t>(state.iterations()) *
                          static_cast<std::int64_t>(part.size()));
  state.SetItemsProcessed(static_cast<std::int64_t>(state.iterations()) *
                          static_cast<std::int64_t>(lines));
}

void put(const std::string& path, const std::string& text) {
  std::filesystem::create_directories(std::filesystem::path(path).parent_path());
  std::ofstream(path, std::ios::binary) << text;
}

// A tree the size of an AGX Orin's: 2 sensors, 10 zones, 12 cores, a GPU. On plain files, so the
// bus itself is not in it; waiting for the bus costs time but no processor.
void one_live_sysfs_reading(benchmark::State& state) {
  const std::string root =
      (std::filesystem::temp_directory_path() / ("laird-bench-" + std::to_string(getpid())))
          .string();
  const Board board = *find_board("agx-orin-64gb", "");
  for (int s = 0; s < 2; ++s) {
    const std::string folder = root + "/sys/bus/i2c/devices/1-004" + std::to_string(s) +
                               "/hwmon/hwmon" + std::to_string(s);
    put(folder + "/name", "ina3221\n");
    for (int c = 1; c <= 3; ++c) {
      const std::string k = std::to_string(c);
      put(folder + "/in" + k + "_label",
          board.sensors[static_cast<std::size_t>(s)].rails[static_cast<std::size_t>(c - 1)] + "\n");
      put(folder + "/in" + k + "_input", "5000\n");
      put(folder + "/curr" + k + "_input", "700\n");
    }
  }
  for (int z = 0; z < 10; ++z) {
    const std::string folder =
        root + "/sys/devices/virtual/thermal/thermal_zone" + std::to_string(z);
    put(folder + "/type", "zone" + std::to_string(z) + "\n");
    put(folder + "/temp", "45000\n");
  }
  for (int c = 0; c < 12; ++c) {
    put(root + "/sys/devices/system/cpu/cpu" + std::to_string(c) + "/cpufreq/scaling_cur_freq",
        "729600\n");
  }
  put(root + "/sys/class/devfreq/17000000.gpu/cur_freq", "612000000\n");
  put(root + "/sys/class/devfreq/17000000.gpu/device/load", "455\n");
  put(root + "/proc/stat", "cpu  100 0 100 800 0 0 0 0 0 0\n");
  put(root + "/proc/meminfo", "MemTotal: 1000 kB\nMemAvailable:  400 kB\n");
  SysfsSampler sampler(root, board);
  Meter meter(MeterConfig::for_board(board));
  TimeNs now = 0;
  // One discovery a minute falls to sixty readings, as at 1 Hz.
  timespec before{}, after{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &before);
  for (auto _ : state) {
    now += kSecond;
    const PowerReading reading = sampler.sample(now);
    meter.on_reading(reading);
    benchmark::DoNotOptimize(reading.total_mw);
  }
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &after);
  const double spent = static_cast<double>(after.tv_sec - before.tv_sec) +
                       static_cast<double>(after.tv_nsec - before.tv_nsec) * 1e-9;
  state.counters["percent_of_a_core_at_1_hz"] =
      100.0 * spent / static_cast<double>(state.iterations());
  if (meter.totals().board.uj() == 0 && state.iterations() > 2) state.SkipWithError("no energy");
  std::filesystem::remove_all(root);
}

void one_governor_step(benchmark::State& state) {
  GovernorConfig config;
  config.rungs[0].available = true;
  config.idle_mw = 5'000;
  Governor governor(config);
  governor.set_cap(0, 15'000);
  TimeNs now = 0;
  std::int64_t mw = 14'000;
  for (auto _ : state) {
    now += 100 * kMillisecond;
    mw = 14'000 + now / kSecond % 7 * 300;
    benchmark::DoNotOptimize(governor.step({now, mw, 50'000, true}));
  }
}

BENCHMARK(laird_parse)->Unit(benchmark::kMillisecond);
BENCHMARK(laird_parse_from_file)->Unit(benchmark::kMillisecond);
BENCHMARK(laird_parse_to_json)->Unit(benchmark::kMillisecond);
BENCHMARK(istringstream_parse)->Unit(benchmark::kMillisecond);
BENCHMARK(std_regex_parse)->Unit(benchmark::kMillisecond);
BENCHMARK(one_live_sysfs_reading)->Unit(benchmark::kMicrosecond);
BENCHMARK(one_governor_step)->Unit(benchmark::kNanosecond);

}  // namespace

BENCHMARK_MAIN();
