// Whatever the other boards of a co-training task say, no board of it stops: its model can be saved
// and loaded again, its numbers are finite, and its agent takes what it says of the group.
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>

#include "consensus/cotrain/delta_codec.hpp"
#include "consensus/cotrain/group_model.hpp"
#include "consensus/cotrain/group_rounds.hpp"
#include "trainer_protocol/to_agent.hpp"
#include "trainers/model/group_words.hpp"

namespace {

using namespace laird;
using namespace laird::consensus;

constexpr std::uint32_t kDimension = 5;
constexpr std::string_view kPeers[] = {"n-2", "n-3"};

std::string_view text(const Bytes& bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// The bytes as a sequence of numbers; zeros behind the end.
class Source {
 public:
  explicit Source(std::string_view bytes) : left_(bytes) {}

  template <class T>
  T next() {
    T out{};
    const std::string_view part = take(sizeof out);
    std::memcpy(&out, part.data(), part.size());
    return out;
  }
  std::string_view take(std::size_t size) {
    const std::string_view out = left_.substr(0, size);
    left_.remove_prefix(out.size());
    return out;
  }
  [[nodiscard]] bool empty() const { return left_.empty(); }

 private:
  std::string_view left_;
};

GroupConfig config_of(std::uint8_t choice) {
  GroupConfig out;
  out.dimension = kDimension;
  out.step = static_cast<GroupStep>(choice & 3U);
  out.rate = (choice & 4U) != 0 ? 10.0 : 0.35;
  out.momentum = (choice & 8U) != 0 ? 0.999 : 0.0;
  out.trim = (choice & 16U) != 0 ? 1 : 0;
  out.clip = (choice & 32U) != 0 ? 2.0 : 0.0;
  return out;
}

void check_model(const GroupConfig& config, const GroupModel& model) {
  const Bytes saved = model.save();
  const Result<GroupModel> again = GroupModel::load(config, text(saved));
  if (!again || again->save() != saved || again->digest() != model.digest()) std::abort();
  if (model.boards().empty() || !std::isfinite(model.loss().value_or(0.0))) std::abort();
  const auto held = model.held_out();
  if (held && (held->held_right > held->held_rows || !std::isfinite(held->held_loss))) std::abort();
}

void check_said(const GroupRounds& rounds) {
  std::string line =
      trainer_protocol::group_line(trainers::status_of(rounds, rounds.model().round(), true));
  line.pop_back();
  if (!trainer_protocol::parse_trainer_line(line)) std::abort();
}

void try_changes(std::string_view bytes) {
  std::vector<float> held(kDimension, kScaleMax);
  const bool good = check_delta(bytes, kDimension, 0.25).has_value();
  for (int k = 0; k < 3; ++k) {
    if (add_delta(bytes, held, 0.25).has_value() != good) std::abort();
  }
  for (const float v : held) {
    if (!(std::abs(v) <= kScaleMax)) std::abort();
  }
}

Bytes message(unsigned kind, const GroupModel& model, std::uint32_t round, std::string_view body) {
  Bytes out;
  Archive ar = Archive::writer(out);
  auto first = static_cast<std::uint8_t>(0x30U | (kind & 15U));
  std::uint8_t boards = 2;
  std::uint64_t lineage = model.lineage();
  std::uint32_t digest = model.digest();
  std::uint16_t part = 0;
  std::uint16_t parts = 1;
  ar(first);
  ar(boards);
  ar(lineage);
  ar(round);
  ar(digest);
  ar(part);
  ar(parts);
  ar.raw(body);
  return out;
}

// Well formed, with any numbers and names.
Bytes contribution_of(Source& from) {
  Contribution out;
  out.weight = from.next<double>();
  out.judged = {from.next<double>(), from.next<double>(), from.next<std::uint32_t>(),
                from.next<std::uint32_t>()};
  const std::size_t adds = from.next<std::uint8_t>() % 3U;
  for (std::size_t k = 0; k < adds; ++k) {
    out.adds.emplace_back(from.take(from.next<std::uint8_t>() % 8U));
  }
  const auto scale = from.next<float>();
  std::vector<float> held(kDimension, 0.0F);
  std::vector<float> wanted(kDimension);
  for (float& v : wanted) v = from.next<std::int8_t>();
  Bytes changes;
  put_delta(changes, wanted, held, {0.25, 1.0});
  if (changes.size() > 4) std::memcpy(changes.data(), &scale, sizeof scale);
  out.changes = text(changes);
  Bytes bytes;
  Archive ar = Archive::writer(bytes);
  ar(out);
  return bytes;
}

// A saved model of any boards, with some bytes changed.
Bytes model_of(const GroupConfig& config, Source& from) {
  std::vector<std::string> boards;
  for (std::size_t k = from.next<std::uint8_t>() % 4U; k > 0; --k) {
    boards.emplace_back(from.take(from.next<std::uint8_t>() % 8U));
  }
  const GroupModel model(config, 7, std::vector<float>(kDimension, 0.5F), std::move(boards));
  Bytes out = model.save();
  for (std::size_t k = from.next<std::uint8_t>() % 4U; k > 0; --k) {
    const std::size_t at = from.next<std::uint16_t>() % out.size();
    out[at] = from.next<std::uint8_t>();
  }
  return out;
}

// A board of three, and what the other two say to it.
void try_rounds(Source& from) {
  RoundsConfig config;
  config.model = config_of(from.next<std::uint8_t>());
  config.quorum = 1;
  config.wait = kSecond;
  TimeNs now = kHour;
  GroupRounds rounds(config, "n-1", std::vector<float>(kDimension, 0.5F), 1);
  rounds.set_peers({{"n-2", GroupPeer::kAtWork}, {"n-3", GroupPeer::kAtWork}}, now);
  if (from.next<std::uint8_t>() % 4U != 0) {
    rounds.restore(
        GroupModel(config.model, 7, std::vector<float>(kDimension, 0.5F), {"n-1", "n-2"}));
  }
  for (int k = 0; k < 60 && !from.empty(); ++k) {
    const auto what = from.next<std::uint8_t>();
    const std::string by(kPeers[what >> 4 & 1U]);
    const GroupModel& model = rounds.model();
    const auto hear = [&](const Bytes& bytes) {
      static_cast<void>(rounds.hear(by, text(bytes), now));
    };
    switch (what & 7U) {
      case 0: {
        const std::string_view raw = from.take(from.next<std::uint8_t>());
        static_cast<void>(rounds.hear(by, raw, now));
        break;
      }
      case 1: {
        const auto kind = from.next<std::uint8_t>();
        const std::uint32_t round = model.round() + from.next<std::uint8_t>() % 3U;
        hear(message(kind, model, round, from.take(from.next<std::uint8_t>())));
        if ((what & 8U) != 0) hear(message(1, model, round, text(model_of(config.model, from))));
        break;
      }
      case 2: {
        // What it is told of an earlier life of its own, or what the others contribute.
        const bool yours = (what & 8U) != 0;
        hear(message(yours ? 4 : 0, model, model.round() + 1, text(contribution_of(from))));
        break;
      }
      case 3: now += static_cast<TimeNs>(from.next<std::uint8_t>()) * 50 * kMillisecond; break;
      case 4: {
        const bool left = (what & 8U) != 0;
        rounds.set_peers(
            {{"n-2", GroupPeer::kAtWork}, {"n-3", left ? GroupPeer::kLeft : GroupPeer::kDone}},
            now);
        break;
      }
      default: {
        if (!rounds.may_contribute()) break;
        std::vector<float> wanted(kDimension, from.next<float>());
        rounds.contribute(wanted, 3.0, {}, now);
      }
    }
    static_cast<void>(rounds.tick(now));
    static_cast<void>(rounds.take_outgoing());
    check_said(rounds);
    if (rounds.model().known()) check_model(config.model, rounds.model());
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Source from({reinterpret_cast<const char*>(data), size});
  const auto choice = from.next<std::uint8_t>();
  if (choice % 4U == 0) {
    const GroupConfig config = config_of(from.next<std::uint8_t>());
    const Bytes made = choice % 8U == 0 ? model_of(config, from) : Bytes();
    const Result<GroupModel> read =
        GroupModel::load(config, made.empty() ? from.take(size) : text(made));
    if (read) check_model(config, *read);
  } else if (choice % 4U == 1) {
    try_changes(from.take(size));
  } else {
    try_rounds(from);
  }
  return 0;
}
