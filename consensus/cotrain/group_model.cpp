#include "consensus/cotrain/group_model.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

#include "base/exact_math.hpp"
#include "base/require.hpp"
#include "consensus/cotrain/robust_mean.hpp"

namespace laird::consensus {
namespace {

constexpr double kProbeLength = 0.1;          // of the first step, which shows the curvature
constexpr double kCurvatureForgotten = 0.97;  // in a round
// The first rounds of a group whose steps adapt themselves take none.
constexpr std::uint32_t kListensFor = 2;
// After a change of who takes part, z changes for another reason than the step.
constexpr std::uint32_t kSettlesAfter = 5;
constexpr double kAdamMean = 0.9;
constexpr double kAdamSquare = 0.99;
constexpr double kAdamLeast = 1e-4;
constexpr double kNumberMax = kScaleMax;
constexpr std::size_t kNameBytesMax = 32;
constexpr std::size_t kAddsMax = 8;
constexpr std::size_t kChangesBytesMax = std::size_t{1} << 27;

void archive_floats(Archive& ar, std::vector<float>& v, std::size_t limit) {
  auto n = static_cast<std::uint32_t>(v.size());
  ar(n);
  if (ar.failed() || n > limit) return ar.fail();
  if (ar.reading()) v.resize(n);
  for (float& value : v) {
    auto bits = std::bit_cast<std::uint32_t>(value);
    ar(bits);
    if (ar.failed()) return;
    value = std::bit_cast<float>(bits);
  }
}

// A vector that is all zeros need not travel: it is written as an empty one.
void archive_unless_zero(Archive& ar, std::vector<float>& v, std::size_t limit) {
  std::vector<float> none;
  const bool is_zero = std::all_of(v.begin(), v.end(), [](float x) { return x == 0.0F; });
  archive_floats(ar, !ar.reading() && is_zero ? none : v, limit);
}

bool all_sound(const std::vector<float>& v) {
  return std::all_of(v.begin(), v.end(), [](float x) { return std::abs(x) <= kScaleMax; });
}

double bounded(double v) { return std::isnan(v) ? 0.0 : std::clamp(v, -kNumberMax, kNumberMax); }
float bounded_float(double v) { return static_cast<float>(bounded(v)); }
float less(float v, double step) {
  const float out = v - bounded_float(step);
  return std::isnan(out) ? 0.0F : std::clamp(out, -kScaleMax, kScaleMax);
}

// As a board's name is at the broker: nothing else may be told to an agent.
bool is_board_name(std::string_view name) {
  const auto fits = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-';
  };
  return !name.empty() && name.size() <= kNameBytesMax && name.front() != '-' && name != "all" &&
         std::all_of(name.begin(), name.end(), fits);
}

bool is_sound_weight(double weight) { return weight >= 0.0 && weight <= kWeightMax; }
bool is_sound_loss(double loss) { return std::abs(loss) <= kLossMax; }

bool is_in(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

double length_of(const std::vector<float>& v) {
  double sum = 0.0;
  for (const float value : v) sum += static_cast<double>(value) * static_cast<double>(value);
  return std::sqrt(sum);
}

}  // namespace

bool is_sound(const Judgement& judged) {
  return is_sound_loss(judged.loss) && is_sound_loss(judged.held_loss) &&
         judged.held_right <= judged.held_rows && judged.held_rows <= kHeldRowsMax;
}

void Judgement::archive(Archive& ar) {
  ar(loss);
  ar(held_loss);
  ar(held_right);
  ar(held_rows);
}

void Contribution::archive(Archive& ar) {
  ar(weight);
  ar(judged);
  std::uint32_t count = static_cast<std::uint32_t>(adds.size());
  ar(count);
  if (count > kAddsMax) return ar.fail();
  if (ar.reading()) adds.resize(count);
  for (std::string& name : adds) ar.text(name, kNameBytesMax);
  ar.text(changes, kChangesBytesMax);
}

void GroupBoard::archive(Archive& ar) {
  ar.text(name, kNameBytesMax);
  ar(weight);
  ar(since);
  ar(judged);
}

void Absence::archive(Archive& ar) {
  ar.text(name, kNameBytesMax);
  ar(from);
  ar(to);
  ar(left);
  ar(weight);
  ar(loss);
}

GroupModel::GroupModel(const GroupConfig& config, std::uint64_t lineage, std::vector<float> start,
                       std::vector<std::string> boards)
    : lineage_(lineage), x_(std::move(start)) {
  LAIRD_REQUIRE(x_.size() == config.dimension, "the start has the model's dimension");
  LAIRD_REQUIRE(lineage != 0 && boards.size() <= kGroupBoardsMax, "a group has a name and a limit");
  momentum_.assign(x_.size(), 0.0F);
  if (config.step == GroupStep::kAdam) square_.assign(x_.size(), 0.0F);
  std::sort(boards.begin(), boards.end());
  for (std::string& name : boards) {
    GroupBoard board;
    board.name = std::move(name);
    if (config.tracks()) board.told.assign(x_.size(), 0.0F);
    boards_.push_back(std::move(board));
  }
  seal();
}

const GroupBoard* GroupModel::board(std::string_view name) const {
  for (const GroupBoard& board : boards_) {
    if (board.name == name) return &board;
  }
  return nullptr;
}

std::size_t GroupModel::away() const {
  return static_cast<std::size_t>(std::count_if(absences_.begin(), absences_.end(),
                                                [](const Absence& a) { return a.to == 0; }));
}

std::size_t GroupModel::left() const {
  return static_cast<std::size_t>(std::count_if(
      absences_.begin(), absences_.end(), [](const Absence& a) { return a.to == 0 && a.left; }));
}

std::optional<double> GroupModel::loss() const {
  double sum = 0.0;
  double weights = 0.0;
  for (const GroupBoard& board : boards_) {
    sum += board.weight * board.judged.loss;
    weights += board.weight;
  }
  for (const Absence& absence : absences_) {
    if (absence.to != 0) continue;
    sum += absence.weight * absence.loss;
    weights += absence.weight;
  }
  if (round_ == 0 || !(weights > 0.0)) return std::nullopt;
  return sum / weights;
}

std::optional<Judgement> GroupModel::held_out() const {
  Judgement out;
  double loss_sum = 0.0;
  for (const GroupBoard& board : boards_) {
    out.held_right += board.judged.held_right;
    out.held_rows += board.judged.held_rows;
    loss_sum += board.judged.held_loss * board.judged.held_rows;
  }
  if (round_ == 0 || out.held_rows == 0) return std::nullopt;
  out.held_loss = loss_sum / out.held_rows;
  return out;
}

std::string GroupModel::changes_of(const GroupConfig& config, std::string_view self,
                                   std::vector<float>& wanted) const {
  const GroupBoard* own = board(self);
  std::vector<float> held;
  if (own != nullptr && config.tracks()) held = own->told;
  held.resize(x_.size(), 0.0F);
  Bytes out;
  put_delta(out, wanted, held, config.coding);
  for (std::size_t i = 0; i < held.size(); ++i) wanted[i] = less(wanted[i], held[i]);
  return {reinterpret_cast<const char*>(out.data()), out.size()};
}

Status GroupModel::check(const GroupConfig& config, const Contribution& from) const {
  if (!is_sound_weight(from.weight) || !is_sound(from.judged) || from.adds.size() > kAddsMax ||
      !std::all_of(from.adds.begin(), from.adds.end(), is_board_name)) {
    return fail(Code::kInvalid, "a co-training message with numbers no round can have");
  }
  return check_delta(from.changes, x_.size(), config.coding.rho);
}

void GroupModel::apply(const GroupConfig& config, const std::map<std::string, Contribution>& from,
                       const std::vector<std::string>& without,
                       const std::vector<std::string>& left) {
  const std::vector<float> before = config.tracks() ? mean_told(config) : std::vector<float>();
  if (!without.empty()) settled_ = round_ + kSettlesAfter;
  note_absences(without, left);
  std::erase_if(boards_, [&](const GroupBoard& b) { return is_in(without, b.name); });
  for (GroupBoard& board : boards_) {
    const auto found = from.find(board.name);
    LAIRD_REQUIRE(found != from.end(), "every board that takes part has contributed");
    board.weight = found->second.weight;
    board.judged = found->second.judged;
    if (!config.tracks()) continue;
    const Status added = add_delta(found->second.changes, board.told, config.coding.rho);
    LAIRD_REQUIRE(added.has_value(), "a contribution was checked when it came");
  }
  keep_best();
  const std::vector<float> z = config.tracks() ? mean_told(config) : mean_changed(config, from);
  take_step(config, before, z);
  ++round_;
  admit(from, config.tracks());
  seal();
}

std::vector<float> GroupModel::mean_told(const GroupConfig& config) const {
  std::vector<const std::vector<float>*> told;
  std::vector<double> weights;
  for (const GroupBoard& board : boards_) {
    told.push_back(&board.told);
    weights.push_back(board.weight);
  }
  return mean_of(told, weights, {config.trim, config.clip}, x_.size());
}

// A block of coordinates at a time: with millions of them and many boards, all boards' changes
// would not fit a board's memory.
std::vector<float> GroupModel::mean_changed(const GroupConfig& config,
                                            const std::map<std::string, Contribution>& from) const {
  const std::size_t n = boards_.size();
  const auto readers = [&] {
    std::vector<DeltaReader> out;
    for (const GroupBoard& board : boards_) {
      Result<DeltaReader> opened =
          DeltaReader::open(from.at(board.name).changes, config.coding.rho);
      LAIRD_REQUIRE(opened.has_value(), "a contribution was checked when it came");
      out.push_back(std::move(*opened));
    }
    return out;
  };
  std::vector<std::vector<float>> blocks(n);
  std::vector<const std::vector<float>*> pointers;
  std::vector<double> weights;
  for (std::size_t k = 0; k < n; ++k) {
    pointers.push_back(&blocks[k]);
    weights.push_back(boards_[k].weight);
  }
  const auto each_block = [&](const auto& use) {
    std::vector<DeltaReader> all = readers();
    for (std::size_t at = 0; at < x_.size(); at += kDeltaBlock) {
      const std::size_t size = std::min(kDeltaBlock, x_.size() - at);
      for (std::size_t k = 0; k < n; ++k) {
        blocks[k].assign(size, 0.0F);
        const bool read = all[k].add_to(blocks[k]);
        LAIRD_REQUIRE(read, "a contribution was checked when it came");
      }
      use(at, size);
    }
  };
  std::vector<double> lengths(n, 0.0);
  if (config.clip > 0.0) {
    each_block([&](std::size_t, std::size_t) {
      for (std::size_t k = 0; k < n; ++k) {
        for (const float v : blocks[k]) {
          lengths[k] += static_cast<double>(v) * static_cast<double>(v);
        }
      }
    });
    for (double& length : lengths) length = std::sqrt(length);
  }
  const std::vector<double> factors = factors_of(lengths, config.clip);
  std::vector<float> out(x_.size());
  each_block([&](std::size_t at, std::size_t size) {
    mean_into(std::span(out).subspan(at, size), pointers, weights, {config.trim, config.clip},
              factors);
  });
  return out;
}

void GroupModel::take_step(const GroupConfig& config, const std::vector<float>& before,
                           const std::vector<float>& z) {
  const std::size_t n = x_.size();
  if (config.step == GroupStep::kAdam) {
    const double rounds = round_ + 1.0;
    const double mean_part = 1.0 - exact::exp(rounds * exact::log(kAdamMean));
    const double square_part = 1.0 - exact::exp(rounds * exact::log(kAdamSquare));
    for (std::size_t i = 0; i < n; ++i) {
      const double g = static_cast<double>(z[i]);
      const double m = kAdamMean * static_cast<double>(momentum_[i]) + (1.0 - kAdamMean) * g;
      const double v = kAdamSquare * static_cast<double>(square_[i]) + (1.0 - kAdamSquare) * g * g;
      momentum_[i] = bounded_float(m);
      square_[i] = bounded_float(v);
      x_[i] =
          less(x_[i], config.rate * (m / mean_part) / (std::sqrt(v / square_part) + kAdamLeast));
    }
    return;
  }
  double rate = config.rate;
  double keeps = config.momentum;
  if (config.step == GroupStep::kAdapted) {
    // Until what the boards have told is near their gradients, a step would show nothing.
    if (round_ < kListensFor) return;
    // A step as long as this shows how the gradient changes along it.
    const double length = length_of(z);
    if (moved_ > 0.0 && round_ >= settled_) {
      double changed = 0.0;
      for (std::size_t i = 0; i < n; ++i) {
        const double d = static_cast<double>(z[i]) - static_cast<double>(before[i]);
        changed += d * d;
      }
      curvature_ = bounded(std::max(std::sqrt(changed) / moved_, curvature_ * kCurvatureForgotten));
    }
    if (curvature_ > 0.0) {
      rate = config.rate / curvature_;
    } else {
      rate = length > 0.0 ? kProbeLength / length : 0.0;
      keeps = 0.0;
    }
  }
  double moved = 0.0;
  const bool averaged = config.step == GroupStep::kAveraged;
  for (std::size_t i = 0; i < n; ++i) {
    const double g = static_cast<double>(z[i]);
    const double m = keeps * static_cast<double>(momentum_[i]) + g;
    momentum_[i] = bounded_float(m);
    // Averages step along what the momentum will be (Nesterov); gradients along what it is.
    const double step = bounded(rate * (averaged ? g + config.momentum * m : m));
    x_[i] = less(x_[i], step);
    moved += step * step;
  }
  moved_ = std::sqrt(moved);
}

void GroupModel::note_absences(const std::vector<std::string>& without,
                               const std::vector<std::string>& left) {
  for (const std::string& name : without) {
    const GroupBoard* gone = board(name);
    if (gone == nullptr) continue;
    // The oldest one that is over makes room.
    if (absences_.size() >= kAbsencesMax) {
      const auto over = std::find_if(absences_.begin(), absences_.end(),
                                     [](const Absence& a) { return a.to != 0; });
      absences_.erase(over == absences_.end() ? absences_.begin() : over);
    }
    absences_.push_back({name, round_ + 1, 0, is_in(left, name), gone->weight, gone->judged.loss});
  }
}

// Whoever a board of the group has seen waiting takes part from the next round on.
void GroupModel::admit(const std::map<std::string, Contribution>& from, bool tracks) {
  for (const auto& [by, contribution] : from) {
    if (board(by) == nullptr) continue;
    for (const std::string& name : contribution.adds) {
      if (board(name) != nullptr || boards_.size() >= kGroupBoardsMax || name.empty()) continue;
      GroupBoard fresh;
      fresh.name = name;
      fresh.since = round_;
      for (Absence& absence : absences_) {
        if (absence.name != name || absence.to != 0) continue;
        absence.to = round_;
        fresh.since = 0;
      }
      settled_ = round_ + kSettlesAfter;
      if (tracks) fresh.told.assign(x_.size(), 0.0F);
      const auto at =
          std::lower_bound(boards_.begin(), boards_.end(), name,
                           [](const GroupBoard& b, const std::string& n) { return b.name < n; });
      boards_.insert(at, std::move(fresh));
    }
  }
}

// The judgements that have just come are of x as it is before the step.
void GroupModel::keep_best() {
  Judgement sum;
  double loss = 0.0;
  for (const GroupBoard& board : boards_) {
    sum.held_rows += board.judged.held_rows;
    loss += board.judged.held_loss * board.judged.held_rows;
  }
  if (sum.held_rows == 0) return;
  loss /= sum.held_rows;
  if (!best_.empty() && loss >= best_loss_) return;
  best_ = x_;
  best_loss_ = loss;
  best_round_ = round_;
}

void GroupModel::seal() {
  std::uint64_t hash = 0xCBF29CE484222325ULL;
  const auto mix = [&hash](std::uint64_t v) { hash = (hash ^ v) * 0x100000001B3ULL; };
  for (const float v : x_) mix(std::bit_cast<std::uint32_t>(v));
  for (const GroupBoard& board : boards_) {
    for (const char c : board.name) mix(static_cast<std::uint8_t>(c));
  }
  digest_ = static_cast<std::uint32_t>(hash ^ (hash >> 32));
}

void GroupModel::archive(Archive& ar, std::uint32_t dimension_max) {
  ar(lineage_);
  ar(round_);
  archive_floats(ar, x_, dimension_max);
  archive_unless_zero(ar, momentum_, dimension_max);
  archive_unless_zero(ar, square_, dimension_max);
  ar(curvature_);
  ar(moved_);
  ar(settled_);
  auto boards = static_cast<std::uint32_t>(boards_.size());
  ar(boards);
  if (boards > kGroupBoardsMax) return ar.fail();
  if (ar.reading()) boards_.resize(boards);
  for (GroupBoard& board : boards_) {
    ar(board);
    archive_unless_zero(ar, board.told, dimension_max);
    if (ar.failed()) return;
  }
  auto absences = static_cast<std::uint32_t>(absences_.size());
  ar(absences);
  if (absences > kAbsencesMax) return ar.fail();
  if (ar.reading()) absences_.resize(absences);
  for (Absence& absence : absences_) ar(absence);
  archive_floats(ar, best_, dimension_max);
  ar(best_round_);
  ar(best_loss_);
}

Bytes GroupModel::save() const {
  Bytes out;
  Archive ar = Archive::writer(out);
  // Writing changes nothing, and a copy would be as large as the model.
  const_cast<GroupModel*>(this)->archive(ar, kGroupDimensionMax);
  return out;
}

Result<GroupModel> GroupModel::load(const GroupConfig& config, std::string_view bytes) {
  GroupModel read;
  Archive ar = Archive::reader(bytes);
  read.archive(ar, config.dimension);
  if (ar.failed() || !ar.at_end()) {
    return fail(Code::kInvalid, "a group's model that is cut or too long");
  }
  read.fill_up(config);
  if (!read.has_sound_numbers(config) || !read.has_sound_boards(config)) {
    return fail(Code::kInvalid,
                "a group's model of another size, or with names or numbers none can have: is the "
                "trainer, its data's shape and \"fleet\" the same there?");
  }
  read.seal();
  return read;
}

void GroupModel::fill_up(const GroupConfig& config) {
  const auto fill = [&](std::vector<float>& v) {
    if (v.empty()) v.assign(config.dimension, 0.0F);
  };
  fill(momentum_);
  if (config.step == GroupStep::kAdam) fill(square_);
  if (!config.tracks()) return;
  for (GroupBoard& board : boards_) fill(board.told);
}

bool GroupModel::has_sound_numbers(const GroupConfig& config) const {
  const std::size_t n = config.dimension;
  const bool sizes = x_.size() == n && momentum_.size() == n &&
                     (best_.empty() || best_.size() == n) &&
                     square_.size() == (config.step == GroupStep::kAdam ? n : 0);
  const bool counts = lineage_ != 0 && round_ <= kRoundMax && best_round_ <= round_ &&
                      settled_ <= round_ + kSettlesAfter;
  return sizes && counts && all_sound(x_) && all_sound(momentum_) && all_sound(square_) &&
         all_sound(best_) && std::isfinite(curvature_) && curvature_ >= 0.0 &&
         std::isfinite(moved_) && moved_ >= 0.0 && std::isfinite(best_loss_);
}

// A group without boards would make every round at once.
bool GroupModel::has_sound_boards(const GroupConfig& config) const {
  const std::size_t told = config.tracks() ? config.dimension : 0;
  const bool boards = std::all_of(boards_.begin(), boards_.end(), [&](const GroupBoard& b) {
    return is_board_name(b.name) && is_sound_weight(b.weight) && b.since <= round_ &&
           is_sound(b.judged) && b.told.size() == told && all_sound(b.told);
  });
  const bool absences = std::all_of(absences_.begin(), absences_.end(), [&](const Absence& a) {
    return is_board_name(a.name) && a.from <= round_ && a.to <= round_ &&
           is_sound_weight(a.weight) && is_sound_loss(a.loss);
  });
  const auto unsorted =
      std::adjacent_find(boards_.begin(), boards_.end(),
                         [](const GroupBoard& a, const GroupBoard& b) { return a.name >= b.name; });
  return !boards_.empty() && boards && absences && unsorted == boards_.end();
}

std::uint32_t GroupModel::dimension_of(std::string_view saved) {
  GroupModel head;
  std::uint32_t dimension = 0;
  Archive ar = Archive::reader(saved);
  ar(head.lineage_);
  ar(head.round_);
  ar(dimension);
  return ar.failed() ? 0 : dimension;
}

}  // namespace laird::consensus
