#include "agent/board_power/power_knobs.hpp"

#include <poll.h>
#include <sys/epoll.h>

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "agent/settings/settings.hpp"
#include "power/boards/power_modes.hpp"
#include "power/model/clock_levels.hpp"

namespace laird::agent {
namespace {

using power::KnobResult;
using power::Rung;

constexpr int kAnswerMs = 1000;
// Switching a power mode back takes the helper this long on a slow board; it starts with that.
constexpr int kFirstAnswerMs = 5000;
// A helper of an agent that was killed may still be putting things back.
constexpr int kConnectTries = 5;
constexpr std::int32_t kClockFloorPermille = 300;

std::vector<std::int64_t> numbers_of(const power::priv::Reply& reply) {
  std::vector<std::int64_t> out;
  if (!reply.ok) return out;
  const char* at = reply.text.c_str() + 2;
  for (char* end = nullptr;; at = end) {
    const long long value = std::strtoll(at, &end, 10);
    if (end == at) return out;
    out.push_back(value);
  }
}

// "15W", "MAXN_SUPER", "30W_6CORE": the watts a mode is named after; 0 for none.
std::int64_t watts_of_name(const std::string& name) {
  char* end = nullptr;
  const long long watts = std::strtoll(name.c_str(), &end, 10);
  return end != name.c_str() && *end == 'W' && watts > 0 && watts < 10'000 ? watts : 0;
}

bool is_socket(const std::string& path) { return path.ends_with(".sock"); }

}  // namespace

PowerKnobs::PowerKnobs(Loop& loop, const std::vector<std::string>& helper,
                       const power::Board& board, Emit emit, Log log)
    : loop_(loop), helper_(helper), emit_(std::move(emit)), log_(std::move(log)) {
  if (helper_.empty()) return;
  for (int i = 0; i < kConnectTries && clocks_hz_.empty() && modes_.empty(); ++i) {
    if (!connect()) continue;
    clocks_hz_ = ask("list gpu-max-freq", kFirstAnswerMs);
    std::sort(clocks_hz_.begin(), clocks_hz_.end());
    find_modes(board);
    if (client_ != nullptr && client_->gone()) hang_up();
    if (client_ != nullptr) break;
    ::poll(nullptr, 0, 100);
  }
  if (client_ == nullptr)
    log_(LogLevel::kWarning, "power: the privileged helper does not answer: " + helper_[0]);
}

std::unique_ptr<PowerKnobs> PowerKnobs::open(Loop& loop, const std::vector<std::string>& helper,
                                             const power::Board& board, Emit emit, Log log) {
  return std::unique_ptr<PowerKnobs>(
      new PowerKnobs(loop, helper, board, std::move(emit), std::move(log)));
}

PowerKnobs::~PowerKnobs() { hang_up(); }

void PowerKnobs::hang_up() {
  if (client_ == nullptr) return;
  loop_.forget(client_->fd());
  client_.reset();
}

bool PowerKnobs::connect() {
  hang_up();
  const std::vector<std::string> arguments(helper_.begin() + 1, helper_.end());
  Result<power::priv::Client> made = is_socket(helper_[0])
                                         ? power::priv::Client::connect(helper_[0])
                                         : power::priv::Client::spawn(helper_[0], arguments);
  if (!made) {
    log_(LogLevel::kWarning, "power: " + made.error().context);
    return false;
  }
  client_ = std::make_unique<power::priv::Client>(std::move(*made));
  if (!loop_.watch(client_->fd(), EPOLLIN, [this](std::uint32_t) { on_readable(); })) {
    client_.reset();
    return false;
  }
  return true;
}

// For the start only, before the loop runs. An answer to an earlier request, one that came too late
// for it, is passed over.
std::vector<std::int64_t> PowerKnobs::ask(const std::string& request, int wait_ms) {
  if (client_ == nullptr || !client_->send(request)) return {};
  pollfd entry{client_->fd(), POLLIN, 0};
  while (!client_->gone()) {
    while (const auto reply = client_->poll()) {
      if (reply->request == request) return numbers_of(*reply);
    }
    if (::poll(&entry, 1, wait_ms) <= 0) return {};
  }
  return {};
}

// Modes that switch without a reboot and are named after fewer watts than the one in force.
void PowerKnobs::find_modes(const power::Board& board) {
  const std::vector<std::int64_t> live = ask("list nvpmodel", kAnswerMs);
  if (live.empty()) return;
  const std::vector<std::int64_t> now = ask("get nvpmodel", kAnswerMs);
  if (now.empty() || std::find(live.begin(), live.end(), now[0]) == live.end()) return;
  // The machine's own names first: ids mean other modes from one release to the next.
  const power::ModeTable table = power::read_mode_table("");
  const auto watts = [&](std::int64_t id) -> std::int64_t {
    const std::string* name = nullptr;
    for (const power::PowerMode& mode : board.modes) {
      if (mode.id == id && table.modes.empty()) name = &mode.name;
    }
    for (const power::ModeTable::Mode& mode : table.modes) {
      if (mode.id == id) name = &mode.name;
    }
    if (name == nullptr) return 0;
    const std::int64_t named = watts_of_name(*name);
    return named > 0 ? named : board.power_mw_max / 1000;
  };
  const std::int64_t top = watts(now[0]);
  if (top <= 0) return;
  for (const std::int64_t id : live) {
    const std::int64_t w = watts(id);
    if (w <= 0 || w >= top || modes_.size() + 1 >= power::kRungLevelsMax) continue;
    modes_.push_back({id, static_cast<std::int32_t>(w * power::kLevelFull / top)});
  }
  if (modes_.empty()) return;
  modes_.push_back({now[0], power::kLevelFull});
  std::sort(modes_.begin(), modes_.end(),
            [](const Mode& a, const Mode& b) { return a.level_permille < b.level_permille; });
}

void PowerKnobs::offer(power::GovernorConfig& governor) const {
  power::RungConfig& clock = governor.rungs[Rung::kDevfreq];
  const std::vector<std::int32_t> levels = power::levels_of_clocks(clocks_hz_);
  if (levels.size() >= 2) {
    clock.available = true;
    clock.levels = levels;
    clock.floor_permille = std::max(kClockFloorPermille, levels.front());
  }
  if (modes_.size() < 2) return;
  power::RungConfig& mode = governor.rungs[Rung::kNvpmodel];
  mode.available = true;
  mode.floor_permille = modes_.front().level_permille;
  for (const Mode& m : modes_) mode.levels.push_back(m.level_permille);
}

std::string PowerKnobs::describe() const {
  if (helper_.empty())
    return "no privileged helper: the GPU's clock and power modes are left alone";
  if (client_ == nullptr) return "the privileged helper does not answer";
  std::string out = clocks_hz_.size() < 2
                        ? "no GPU clock to set"
                        : "GPU clock in " + std::to_string(clocks_hz_.size()) + " steps";
  out += modes_.empty() ? ", no live power modes" : ", power modes";
  for (const Mode& mode : modes_) out += " " + std::to_string(mode.id);
  return out;
}

std::int32_t PowerKnobs::level_of_clock(std::int64_t hz) const {
  if (clocks_hz_.empty() || clocks_hz_.back() <= 0) return power::kLevelFull;
  return static_cast<std::int32_t>(
      std::clamp<std::int64_t>(hz * power::kLevelFull / clocks_hz_.back(), 0, power::kLevelFull));
}

void PowerKnobs::report(Rung rung, KnobResult outcome, std::int32_t permille, std::string note) {
  emit_(core::PowerKnobSet{rung, outcome, permille, core::clipped(std::move(note))});
}

void PowerKnobs::send(Rung rung, const std::string& request) {
  if (client_ == nullptr || !client_->send(request)) {
    hang_up();
    // A helper that is gone has put everything back.
    report(rung, KnobResult::kRefused, power::kLevelFull, "the privileged helper does not answer");
  }
}

void PowerKnobs::set(const core::SetPowerKnob& command) {
  if (helper_.empty()) return;
  if (client_ == nullptr && !connect()) {
    report(command.rung, KnobResult::kRefused, power::kLevelFull, "no privileged helper");
    return;
  }
  if (command.rung == Rung::kDevfreq && !clocks_hz_.empty()) {
    clock_wanted_hz_ = power::clock_of_level(clocks_hz_, command.level_permille);
    // First the range as it is now: a clock that is pinned has a floor at its ceiling.
    send(command.rung, "get gpu-max-freq");
  }
  if (command.rung == Rung::kNvpmodel && !modes_.empty()) {
    const Mode* best = &modes_.front();
    for (const Mode& mode : modes_) {
      if (mode.level_permille <= command.level_permille) best = &mode;
    }
    send(command.rung, "set nvpmodel " + std::to_string(best->id));
  }
}

void PowerKnobs::on_readable() {
  while (client_ != nullptr) {
    const auto reply = client_->poll();
    if (!reply) break;
    on_reply(*reply);
  }
  if (client_ == nullptr || !client_->gone()) return;
  hang_up();
  log_(LogLevel::kWarning, "power: the privileged helper is gone, and has put back what was set");
  if (clocks_hz_.size() >= 2)
    report(Rung::kDevfreq, KnobResult::kRefused, power::kLevelFull, "gone");
  if (modes_.size() >= 2) report(Rung::kNvpmodel, KnobResult::kRefused, power::kLevelFull, "gone");
}

void PowerKnobs::on_reply(const power::priv::Reply& reply) {
  if (reply.request == "get gpu-max-freq") on_clock_range(reply);
  if (reply.request.starts_with("set gpu-max-freq")) on_clock_set(reply);
  if (reply.request.starts_with("set nvpmodel")) on_mode_set(reply);
}

void PowerKnobs::on_clock_range(const power::priv::Reply& reply) {
  const std::vector<std::int64_t> values = numbers_of(reply);
  if (values.size() != 3) {
    report(Rung::kDevfreq, KnobResult::kRefused, power::kLevelFull, reply.text);
    return;
  }
  const bool pinned = values[1] >= values[2] && clock_wanted_hz_ < values[2];
  if (pinned) {
    report(Rung::kDevfreq, KnobResult::kPinned, level_of_clock(values[0]),
           "its lowest clock is its highest; jetson_clocks does that");
    return;
  }
  clock_hz_ = values[0];
  const auto allowed = std::lower_bound(clocks_hz_.begin(), clocks_hz_.end(), values[1]);
  const std::int64_t low = allowed == clocks_hz_.end() ? clocks_hz_.back() : *allowed;
  send(Rung::kDevfreq, "set gpu-max-freq " + std::to_string(std::max(clock_wanted_hz_, low)));
}

// A clock that was rounded is taken for what it is. One that did not move at all, or the other way,
// is a refusal: a governor that is told "done" would ask for it again for ever and never come to
// the next rung.
void PowerKnobs::on_clock_set(const power::priv::Reply& reply) {
  const std::vector<std::int64_t> values = numbers_of(reply);
  if (values.empty()) {
    report(Rung::kDevfreq, KnobResult::kRefused, level_of_clock(clock_hz_), reply.text);
    return;
  }
  const std::int64_t before = std::exchange(clock_hz_, values[0]);
  const std::string asked_text = reply.request.substr(reply.request.rfind(' ') + 1);
  const std::int64_t asked = std::strtoll(asked_text.c_str(), nullptr, 10);
  const bool moved = asked < before ? values[0] < before : values[0] > before;
  const bool stuck = asked != before && asked != values[0] && !moved;
  std::string note;
  if (stuck) note = "it stays at " + std::to_string(values[0]) + " Hz, asked for " + asked_text;
  if (!stuck && asked != values[0]) note = asked_text + " Hz became " + std::to_string(values[0]);
  report(Rung::kDevfreq, stuck ? KnobResult::kRefused : KnobResult::kDone,
         level_of_clock(values[0]), std::move(note));
}

// nvpmodel may say that all went well and leave the mode as it was: what it reads back counts.
void PowerKnobs::on_mode_set(const power::priv::Reply& reply) {
  const std::vector<std::int64_t> values = numbers_of(reply);
  if (values.empty()) {
    report(Rung::kNvpmodel, KnobResult::kRefused, power::kLevelFull, reply.text);
    return;
  }
  const bool as_asked = reply.request.ends_with(" " + std::to_string(values[0]));
  std::int32_t level = power::kLevelFull;
  for (const Mode& mode : modes_) {
    if (mode.id == values[0]) level = mode.level_permille;
  }
  report(Rung::kNvpmodel, as_asked ? KnobResult::kDone : KnobResult::kRefused, level,
         as_asked ? "" : "mode " + std::to_string(values[0]) + " is in force");
}

}  // namespace laird::agent
