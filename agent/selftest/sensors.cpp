// The board's own account of itself, its sensors, and its meters against tegrastats.
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <map>
#include <memory>

#include "agent/selftest/selftest.hpp"
#include "config/units.hpp"
#include "os/child_process.hpp"
#include "os/fd.hpp"
#include "os/line_splitter.hpp"
#include "power/readers/sysfs/sysfs_inventory.hpp"
#include "power/readers/sysfs/sysfs_reader.hpp"
#include "power/readers/tegrastats/tegrastats_reading.hpp"

namespace laird::agent::selftest {
namespace {

using json::Value;

constexpr std::size_t kRawLinesMax = 60;
// Two meters of one rail, read at different moments of the same seconds.
constexpr double kAgreePart = 0.05;
constexpr double kAgreeMw = 150.0;

Value texts(const std::vector<std::string>& all) {
  Value out = Value::array();
  for (const std::string& text : all) out.add(text);
  return out;
}

std::string listed(const std::vector<std::string>& all) {
  std::string out;
  for (const std::string& text : all) out += (out.empty() ? "" : ", ") + text;
  return out;
}

std::string watts(double mw) {
  char out[32];
  std::snprintf(out, sizeof out, "%.2f W", mw / 1000.0);
  return out;
}

// Means of rails and of the total.
struct Means {
  std::map<std::string, std::pair<double, int>> rails;
  double total_mw = 0;
  std::int64_t resolution_mw = 0;
  int totals = 0;
  int readings = 0;

  void add(const power::PowerReading& reading) {
    ++readings;
    for (const power::RailReading& rail : reading.rails) {
      auto& [sum, count] = rails[rail.name];
      sum += static_cast<double>(rail.mw);
      ++count;
    }
    if (!reading.total_mw) return;
    total_mw += static_cast<double>(*reading.total_mw);
    resolution_mw = std::max(resolution_mw, reading.resolution_mw);
    ++totals;
  }
  [[nodiscard]] double total() const { return totals == 0 ? 0 : total_mw / totals; }
  [[nodiscard]] Value as_json() const {
    Value by_rail = Value::object();
    for (const auto& [rail, mean] : rails) by_rail.set(rail, mean.first / mean.second);
    return Value::object()
        .set("readings", readings)
        .set("total_mw", totals == 0 ? Value() : Value(total()))
        .set("rails_mw", std::move(by_rail));
  }
};

// tegrastats as a child, its lines as they come.
class Tegrastats {
 public:
  [[nodiscard]] static Result<std::unique_ptr<Tegrastats>> start(const std::string& program,
                                                                 DurationNs every) {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0) return fail_errno(errno, "pipe");
    const Fd write_end(ends[1]);
    auto out = std::unique_ptr<Tegrastats>(new Tegrastats(Fd(ends[0])));
    ChildSpec spec;
    spec.argv = {program, "--interval", std::to_string(every / kMillisecond)};
    spec.output = write_end.get();
    spec.own_session = true;
    spec.dies_with_parent = true;
    const Result<pid_t> pid = start_child(spec);
    LAIRD_TRY(pid);
    out->pid_ = *pid;
    return out;
  }
  ~Tegrastats() {
    if (pid_ <= 0) return;
    ::kill(-pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
  Tegrastats(const Tegrastats&) = delete;
  Tegrastats& operator=(const Tegrastats&) = delete;

  [[nodiscard]] int fd() const { return fd_.get(); }
  template <class Take>
  void drain(Take&& take) {
    char block[4096];
    for (ssize_t n = 0; (n = ::read(fd_.get(), block, sizeof block)) > 0;) {
      std::string_view rest(block, static_cast<std::size_t>(n));
      while (const std::optional<std::string_view> line = lines_.next(rest)) take(*line);
    }
  }

 private:
  explicit Tegrastats(Fd fd) : fd_(std::move(fd)) {}
  Fd fd_;
  pid_t pid_ = -1;
  LineSplitter lines_{power::kLineBytesMax, Overlong::kSkip};
};

Finding compare(const Means& sysfs, const Means& tegrastats, const std::string& program) {
  if (tegrastats.readings == 0) {
    return failed("meters", program + " printed no line that could be read",
                  "run it by hand and send what it prints");
  }
  if (sysfs.totals == 0 || tegrastats.totals == 0) {
    return failed("meters",
                  std::string(sysfs.totals == 0 ? "sysfs" : program) +
                      " gave no total: the board's rules name rails that are not there",
                  "send the report: the board file needs another total rule");
  }
  const double apart = std::abs(sysfs.total() - tegrastats.total());
  const double allowed = std::max(
      {kAgreePart * tegrastats.total(), kAgreeMw, 2.0 * static_cast<double>(sysfs.resolution_mw)});
  const std::string said = "sysfs says " + watts(sysfs.total()) + ", " + program + " " +
                           watts(tegrastats.total()) + ", in the mean";
  if (apart <= allowed) return passed("meters", said);
  return failed("meters", said + ": more than " + watts(allowed) + " apart",
                "send the report: one of them counts a rail twice or not at all");
}

}  // namespace

Finding check_board(const Board& board) {
  Value machine = Value::object();
  machine.set("compatible", texts(board.machine.compatible))
      .set("model", board.machine.model)
      .set("l4t", board.machine.l4t)
      .set("jetpack", power::jetpack_of(board.machine.l4t))
      .set("boot_spec", board.machine.boot_spec)
      .set("nvpmodel", board.machine.nvpmodel_file)
      .set("memory_bytes", board.machine.memory_bytes)
      .set("cpu_cores", board.machine.cpu_cores);
  const std::string title = board.found.board.title + " (" + board.found.board.name + ")";
  Finding out;
  if (!board.machine.is_jetson()) {
    out = skipped("board", "this is no Jetson, or its device tree is hidden: " + title);
  } else if (board.found.board.name == "generic") {
    out = failed("board", "a Jetson that laird has no file for: " + board.machine.model,
                 "send the report: its device tree and sensors are what a board file is made of");
  } else {
    out = passed("board", title + ", " + listed(board.found.evidence));
  }
  out.measured.set("board", board.found.board.name)
      .set("machine", std::move(machine))
      .set("evidence", texts(board.found.evidence))
      .set("uncertain", texts(board.found.uncertainty));
  return out;
}

Finding check_sensors(const Options& options, const Board& board) {
  const power::SysfsInventory found = power::discover_sysfs(options.root);
  std::vector<std::string> rails;
  for (const power::Channel& channel : found.channels) rails.push_back(channel.rail);
  std::vector<std::string> missing;
  for (const power::Sensor& sensor : board.found.board.sensors) {
    for (const std::string& rail : sensor.rails) {
      if (rail != "NC" && std::find(rails.begin(), rails.end(), rail) == rails.end()) {
        missing.push_back(rail);
      }
    }
  }
  std::vector<std::string> zones;
  for (const power::Zone& zone : found.zones) zones.push_back(zone.name);
  Finding out;
  if (!board.machine.is_jetson() && rails.empty()) {
    out = skipped("sensors", "no power sensor in sysfs, as on a machine that is no Jetson");
  } else if (!missing.empty()) {
    out = failed("sensors",
                 "the board's file expects " + listed(missing) + "; sysfs has " +
                     (rails.empty() ? "none" : listed(rails)),
                 "a module may load late: try again; if it stays so, send the report");
  } else {
    out =
        passed("sensors", std::to_string(rails.size()) + " rails, " + std::to_string(zones.size()) +
                              " temperatures, " + std::to_string(found.cpu_clocks.size()) +
                              " cpu clocks" + (found.gpu_clock.empty() ? "" : ", the gpu's clock") +
                              (found.gpu_load.empty() ? "" : " and load"));
  }
  Value channels = Value::array();
  for (const power::Channel& channel : found.channels) {
    channels.add(Value::object()
                     .set("rail", channel.rail)
                     .set("path", channel.path)
                     .set("current_path", channel.current_path));
  }
  out.measured.set("channels", std::move(channels))
      .set("zones", texts(zones))
      .set("gpu_clock", found.gpu_clock)
      .set("gpu_load", found.gpu_load)
      .set("cooling", texts(found.cooling))
      .set("notes", texts(found.notes))
      .set("missing", texts(missing));
  return out;
}

Finding check_meters(const Options& options, const Board& board, std::vector<std::string>& raw) {
  const DurationNs every = std::max(options.measuring / 20, 100 * kMillisecond);
  if (power::discover_sysfs(options.root).channels.empty()) {
    return skipped("meters", "no power sensor in sysfs to compare with tegrastats");
  }
  const Result<std::unique_ptr<Tegrastats>> child = Tegrastats::start(options.tegrastats, every);
  if (!child) return skipped("meters", "cannot run tegrastats: " + child.error().context);
  power::SysfsReader sysfs(options.root, board.found.board, every);
  Means by_sysfs;
  Means by_tegrastats;
  auto line = std::make_unique<power::Line>();
  const TimeNs until = power::monotonic_now() + options.measuring;
  for (TimeNs now = 0; (now = power::monotonic_now()) < until;) {
    pollfd entries[] = {{(*child)->fd(), POLLIN, 0}, {sysfs.fd(), POLLIN, 0}};
    ::poll(entries, 2, static_cast<int>(every / kMillisecond / 4 + 1));
    while (const std::optional<power::PowerReading> reading = sysfs.poll(now)) {
      by_sysfs.add(*reading);
    }
    (*child)->drain([&](std::string_view text) {
      if (raw.size() < kRawLinesMax) raw.emplace_back(text);
      power::parse_line(text, *line);
      if (!line->has_memory) return;
      by_tegrastats.add(
          power::reading_of(*line, board.found.board, now, power::Source::kTegrastats));
    });
    // A child that has ended leaves its pipe readable for ever.
    if ((entries[0].revents & POLLHUP) != 0) ::poll(nullptr, 0, 50);
  }
  Finding out = compare(by_sysfs, by_tegrastats, options.tegrastats);
  out.measured.set("sysfs", by_sysfs.as_json()).set("tegrastats", by_tegrastats.as_json());
  return out;
}

}  // namespace laird::agent::selftest
