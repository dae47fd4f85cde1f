#include "lab/cotrain/group_sim.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <optional>

#include "base/random.hpp"

namespace laird::lab {
namespace {

using consensus::GroupPeer;
using consensus::GroupRounds;
using Random = laird::RandomOf<Range::kUnbiased>;

constexpr std::uint32_t kDimension = 24;
constexpr DurationNs kStep = 5 * kMillisecond;
constexpr DurationNs kSaveEvery = 3 * kSecond;
constexpr DurationNs kTakenOut = 15 * kSecond;

struct Message {
  TimeNs at = 0;
  std::uint64_t order = 0;
  std::size_t from = 0;
  Bytes bytes;
};

struct Board {
  std::string name;
  std::vector<float> bowl;  // its rows' best parameters
  std::unique_ptr<GroupRounds> rounds;
  TimeNs busy_until = 0;
  bool computing = false;
  bool present = false;  // its agent is there
  TimeNs stopped_until = 0;
  TimeNs back_at = -1;
  bool left = false;  // taken out of the fleet
  bool never_back = false;
  std::uint64_t attempt = 1;
  std::optional<Bytes> saved;
  TimeNs saved_at = 0;
  std::vector<Bytes> parcels;  // once done
  bool done = false;
  std::vector<float> result;
  std::string note;
  std::map<std::size_t, TimeNs> served;
  std::vector<Message> inbox;
  double bytes = 0.0;
};

class GroupSim {
 public:
  explicit GroupSim(const GroupSimConfig& config) : config_(config), random_(config.seed) {
    rounds_.model.dimension = kDimension;
    rounds_.model.coding = {0.25, 0.5};
    rounds_.model.momentum = 0.6;  // few weights: what was told is soon right
    rounds_.rounds = config.rounds;
    if (config.trouble == Trouble::kSilent) rounds_.wait = 4 * kSecond;
    boards_.resize(config.boards);
    for (std::size_t b = 0; b < boards_.size(); ++b) {
      boards_[b].name = "n-" + std::to_string(b + 1);
      for (std::uint32_t i = 0; i < kDimension; ++i) {
        boards_[b].bowl.push_back(static_cast<float>(4.0 * random_.unit() - 2.0));
      }
    }
    victim_ = random_.below(static_cast<std::uint32_t>(boards_.size()));
    trouble_round_ = 5 + random_.below(config.rounds - 10);
    const bool late = config.trouble == Trouble::kLate || config.trouble == Trouble::kAfterTheEnd;
    for (std::size_t b = 0; b < boards_.size(); ++b) {
      if (late && b == victim_) continue;
      boards_[b].back_at = static_cast<TimeNs>(random_.below(1500)) * kMillisecond;
    }
  }

  GroupSimResult run() {
    while (now_ < config_.limit && !over()) {
      now_ += kStep;
      make_trouble();
      for (std::size_t b = 0; b < boards_.size(); ++b) work(b);
    }
    return judge();
  }

 private:
  [[nodiscard]] bool over() const {
    return std::all_of(boards_.begin(), boards_.end(),
                       [](const Board& b) { return b.done || b.never_back; });
  }

  [[nodiscard]] std::uint32_t newest_round() const {
    std::uint32_t out = 0;
    for (const Board& b : boards_) {
      if (b.rounds) out = std::max(out, b.rounds->round());
      if (b.done) out = config_.rounds;
    }
    return out;
  }

  void kill(Board& board, DurationNs away) {
    board.present = false;
    board.rounds.reset();
    board.computing = false;
    board.inbox.clear();
    board.back_at = away < 0 ? -1 : now_ + away;
    board.never_back = away < 0;
  }

  void make_trouble() {
    Board& victim = boards_[victim_];
    if (config_.trouble == Trouble::kChurn && now_ > 5 * kSecond && random_.chance(0.001) &&
        newest_round() < config_.rounds) {
      Board& next = boards_[random_.below(static_cast<std::uint32_t>(boards_.size()))];
      if (next.present && !next.done)
        kill(next, static_cast<DurationNs>(500 + random_.below(4000)) * kMillisecond);
    }
    if (config_.trouble == Trouble::kGone && victim.never_back && now_ > struck_at_ + kTakenOut) {
      victim.left = true;
    }
    if (struck_) return;
    const bool all_done = std::all_of(boards_.begin(), boards_.end(),
                                      [&](const Board& b) { return b.done || &b == &victim; });
    if (config_.trouble == Trouble::kAfterTheEnd ? !all_done : newest_round() < trouble_round_)
      return;
    struck_ = true;
    struck_at_ = now_;
    switch (config_.trouble) {
      case Trouble::kBrokerOff: off_until_ = now_ + 10 * kSecond; break;
      case Trouble::kStopped: victim.stopped_until = now_ + 8 * kSecond; break;
      case Trouble::kKilled: kill(victim, 6 * kSecond); break;
      case Trouble::kGone:
      case Trouble::kSilent: kill(victim, -1); break;
      case Trouble::kLate: victim.back_at = now_; break;
      case Trouble::kAfterTheEnd: victim.back_at = now_ + 5 * kSecond; break;
      case Trouble::kNone:
      case Trouble::kChurn: break;
    }
  }

  void start(Board& board) {
    board.back_at = -1;
    board.present = true;
    ++board.attempt;
    board.rounds = std::make_unique<GroupRounds>(
        rounds_, board.name, std::vector<float>(kDimension, 0.0F), board.attempt);
    if (board.saved) {
      const std::string_view bytes(reinterpret_cast<const char*>(board.saved->data()),
                                   board.saved->size());
      auto model = consensus::GroupModel::load(rounds_.model, bytes);
      if (model) board.rounds->restore(std::move(*model));
    }
    board.saved_at = now_;
  }

  // What the agents know: their words are retained at the broker.
  [[nodiscard]] std::map<std::string, GroupPeer> peers_of(const Board& self) const {
    std::map<std::string, GroupPeer> out;
    for (const Board& other : boards_) {
      if (&other == &self || (other.attempt == 1 && !other.present)) continue;
      out[other.name] = other.left      ? GroupPeer::kLeft
                        : other.done    ? GroupPeer::kDone
                        : other.present ? GroupPeer::kAtWork
                                        : GroupPeer::kAway;
    }
    return out;
  }

  void work(std::size_t at) {
    Board& board = boards_[at];
    if (board.back_at >= 0 && now_ >= board.back_at) start(board);
    if (!board.present || now_ < board.stopped_until) return;
    std::sort(board.inbox.begin(), board.inbox.end(), [](const Message& a, const Message& b) {
      return std::pair(a.at, a.order) < std::pair(b.at, b.order);
    });
    if (board.done) return serve(at);
    board.rounds->set_peers(peers_of(board), now_);
    hear(board);
    static_cast<void>(board.rounds->tick(now_));
    compute(board);
    for (consensus::ToPeer& message : board.rounds->take_outgoing())
      send(at, message.to, message.bytes);
    if (now_ - board.saved_at >= kSaveEvery && board.rounds->model().known()) {
      board.saved = board.rounds->model().save();
      board.saved_at = now_;
    }
    if (!board.rounds->finished()) return;
    board.done = true;
    board.result = board.rounds->model().x();
    board.note = board.rounds->note();
    board.parcels = board.rounds->parcels();
    board.rounds.reset();
  }

  void hear(Board& board) {
    std::size_t taken = 0;
    while (taken < board.inbox.size() && board.inbox[taken].at <= now_) {
      const Message& m = board.inbox[taken++];
      const std::string_view bytes(reinterpret_cast<const char*>(m.bytes.data()), m.bytes.size());
      static_cast<void>(board.rounds->hear(boards_[m.from].name, bytes, now_));
    }
    board.inbox.erase(board.inbox.begin(),
                      board.inbox.begin() + static_cast<std::ptrdiff_t>(taken));
  }

  // The agent of a board that is done answers whoever still speaks of the task.
  void serve(std::size_t at) {
    Board& board = boards_[at];
    for (const Message& m : board.inbox) {
      if (m.at > now_) continue;
      TimeNs& served = board.served.try_emplace(m.from, -kHour).first->second;
      if (now_ - served < 5 * kSecond) continue;
      served = now_;
      for (const Bytes& bytes : board.parcels) send(at, boards_[m.from].name, bytes);
    }
    std::erase_if(board.inbox, [this](const Message& m) { return m.at <= now_; });
  }

  void compute(Board& board) {
    if (!board.computing && board.rounds->may_contribute()) {
      board.computing = true;
      board.busy_until = now_ + static_cast<DurationNs>(10 + random_.below(60)) * kMillisecond;
    }
    if (!board.computing || now_ < board.busy_until) return;
    board.computing = false;
    if (!board.rounds->may_contribute()) return;
    const std::vector<float>& x = board.rounds->model().x();
    std::vector<float> gradient(kDimension);
    consensus::Judgement judged;
    for (std::uint32_t i = 0; i < kDimension; ++i) {
      const float curve = 0.2F + 0.1F * static_cast<float>(i % 8);
      const float d = x[i] - board.bowl[i];
      gradient[i] = curve * d;
      judged.loss += 0.5 * static_cast<double>(curve * d * d);
    }
    board.rounds->contribute(gradient, 100.0, judged, now_);
  }

  void send(std::size_t from, const std::string& to, const Bytes& bytes) {
    boards_[from].bytes += static_cast<double>(bytes.size());
    for (std::size_t b = 0; b < boards_.size(); ++b) {
      if (b == from || (!to.empty() && boards_[b].name != to)) continue;
      if (!boards_[b].present || now_ < off_until_ || random_.chance(config_.loss)) continue;
      // The link keeps the order of a sender's messages.
      TimeNs& last = arrives_[{from, b}];
      last = std::max(last, now_ + static_cast<DurationNs>(1 + random_.below(20)) * kMillisecond);
      boards_[b].inbox.push_back({last, ++order_, from, bytes});
    }
  }

  GroupSimResult judge() {
    GroupSimResult out;
    out.took = now_;
    std::vector<double> best(kDimension, 0.0);
    double members = 0.0;
    // Whoever is gone for good is in the model only as long as it was there.
    for (const Board& b : boards_) {
      if (b.never_back) continue;
      ++members;
      for (std::uint32_t i = 0; i < kDimension; ++i) best[i] += static_cast<double>(b.bowl[i]);
    }
    double start = 0.0;
    for (double& v : best) {
      v /= members;
      start += v * v;
    }
    for (const Board& b : boards_) {
      out.bytes += b.bytes / static_cast<double>(boards_.size());
      if (b.never_back) continue;
      if (!b.done) {
        out.hung = true;
        continue;
      }
      double off = 0.0;
      for (std::uint32_t i = 0; i < kDimension; ++i) {
        off += (static_cast<double>(b.result[i]) - best[i]) *
               (static_cast<double>(b.result[i]) - best[i]);
        for (const Board& c : boards_) {
          if (c.done)
            out.apart = std::max(out.apart, std::abs(static_cast<double>(b.result[i]) -
                                                     static_cast<double>(c.result[i])));
        }
      }
      out.off = std::max(out.off, std::sqrt(off / start));
      out.note = b.note;
    }
    return out;
  }

  GroupSimConfig config_;
  Random random_;
  consensus::RoundsConfig rounds_;
  std::vector<Board> boards_;
  std::map<std::pair<std::size_t, std::size_t>, TimeNs> arrives_;
  TimeNs now_ = 0;
  TimeNs off_until_ = 0;
  TimeNs struck_at_ = 0;
  bool struck_ = false;
  std::uint64_t order_ = 0;
  std::size_t victim_ = 0;
  std::uint32_t trouble_round_ = 0;
};

}  // namespace

std::string_view name(Trouble trouble) {
  switch (trouble) {
    case Trouble::kNone: return "none";
    case Trouble::kBrokerOff: return "broker-off";
    case Trouble::kStopped: return "stopped";
    case Trouble::kKilled: return "killed";
    case Trouble::kGone: return "gone";
    case Trouble::kSilent: return "silent";
    case Trouble::kLate: return "late";
    case Trouble::kAfterTheEnd: return "after-the-end";
    case Trouble::kChurn: return "churn";
  }
  return "";
}

GroupSimResult run_group(const GroupSimConfig& config) { return GroupSim(config).run(); }

}  // namespace laird::lab
