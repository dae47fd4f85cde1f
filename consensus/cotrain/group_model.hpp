// The model that a group of boards trains: the same bits on every board after every round.
//
// Source: gradient tracking, equations (31)-(32) of the co-optimization paper (Doostmohammadian et
// al. 2025), on the complete graph: every board hears every other one, so mixing with the weights
// 1/n gives the mean in one step, all y_i are equal, and z is the mean of what the boards told of
// their gradients. What a board tells is the quantized change against what it told before (EF21:
// Richtarik, Sokolov, Fatkhullin 2021), so nothing that was rounded is lost. Steps: heavy ball with
// the step c / L, L the curvature seen along the path; Adam on the mean (Reddi et al. 2021); or,
// for boards that make local steps, Nesterov's momentum over the mean of their changes.
// Symbols: x parameters, m momentum, v mean square of z, told_i what board i has told, w_i its
// rows, z = sum w_i told_i / sum w_i.
// Assumptions: every board applies the same contributions in the same order (group_rounds.hpp).
// Deviations: z is the told, not the exact gradient; with `trim` it is the trimmed mean (Yin et al.
// 2018) instead of the weighted one.
//
// Everything here is a function of the contributions: float and double arithmetic in a fixed order,
// exact_math for exp and log, so boards of different make agree to the bit. Every number of a model
// is held within kScaleMax, whatever the contributions are: a model can always be saved and loaded.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/archive.hpp"
#include "base/error.hpp"
#include "consensus/cotrain/delta_codec.hpp"

namespace laird::consensus {

inline constexpr std::uint32_t kGroupDimensionMax = 16'000'000;
// Where each board's told vector is kept: there are as many as boards.
inline constexpr std::uint32_t kTrackedDimensionMax = 2'000'000;
inline constexpr std::size_t kGroupBoardsMax = 64;
inline constexpr std::size_t kAbsencesMax = 64;  // that are remembered; more are counted as one
inline constexpr std::uint32_t kRoundMax = 1'000'000'000;
// What a board may say of itself. Sums over a group are finite then, and counts of rows fit.
inline constexpr double kWeightMax = 1e12;
inline constexpr double kLossMax = 1e30;
inline constexpr std::uint32_t kHeldRowsMax = UINT32_MAX / kGroupBoardsMax;

enum class GroupStep : std::uint8_t {
  kAdapted,   // heavy ball, the step from the curvature
  kFixed,     // heavy ball with the step `rate`
  kAdam,      // Adam with the step `rate`
  kAveraged,  // the contributions are changes after local steps: their mean, with momentum
};

struct GroupConfig {
  std::uint32_t dimension = 0;
  GroupStep step = GroupStep::kAdapted;
  double rate = 0.35;
  double momentum = 0.9;
  DeltaCoding coding;
  std::uint32_t trim = 0;  // contributions dropped at either end of each coordinate
  double clip = 0.0;       // a contribution's length, in medians of the group; 0: as it is

  // Whether each board's told vector is kept by all.
  [[nodiscard]] bool tracks() const { return step != GroupStep::kAveraged; }
};

// What a board says of its rows at the model of the round before: numbers for people and targets.
struct Judgement {
  double loss = 0.0;
  double held_loss = 0.0;
  std::uint32_t held_right = 0;
  std::uint32_t held_rows = 0;  // 0: the board has no held-out rows
  void archive(Archive& ar);
};

// Whether the other boards would take it.
[[nodiscard]] bool is_sound(const Judgement& judged);

struct Contribution {
  double weight = 1.0;  // rows
  Judgement judged;
  std::vector<std::string> adds;  // boards that wait to be taken in
  std::string changes;            // delta_codec

  void archive(Archive& ar);
};

struct GroupBoard {
  std::string name;
  double weight = 0.0;
  std::uint32_t since = 0;  // the first round it took part in
  Judgement judged;         // in the last round that it took part in
  std::vector<float> told;  // where the group tracks
  void archive(Archive& ar);
};

// The rounds from..to were made without a board; to is 0 while it is away.
struct Absence {
  std::string name;
  std::uint32_t from = 0;
  std::uint32_t to = 0;
  bool left = false;  // for good
  double weight = 0.0;
  double loss = 0.0;
  void archive(Archive& ar);
};

class GroupModel {
 public:
  GroupModel() = default;
  // Founds a group. `lineage` tells it from others of the same task.
  GroupModel(const GroupConfig& config, std::uint64_t lineage, std::vector<float> start,
             std::vector<std::string> boards);

  [[nodiscard]] bool known() const { return lineage_ != 0; }
  [[nodiscard]] std::uint64_t lineage() const { return lineage_; }
  [[nodiscard]] std::uint32_t round() const { return round_; }
  [[nodiscard]] std::uint32_t digest() const { return digest_; }
  [[nodiscard]] const std::vector<float>& x() const { return x_; }
  [[nodiscard]] const std::vector<GroupBoard>& boards() const { return boards_; }
  [[nodiscard]] const std::vector<Absence>& absences() const { return absences_; }
  [[nodiscard]] const GroupBoard* board(std::string_view name) const;
  [[nodiscard]] std::size_t away() const;  // boards that took part and do not now
  [[nodiscard]] std::size_t left() const;  // those of them that left for good

  // The boards' judgements of x before the last round, by rows, absent boards by their last word.
  // None before the first round.
  [[nodiscard]] std::optional<double> loss() const;
  // Over all held-out rows of the boards that took part in the last round.
  [[nodiscard]] std::optional<Judgement> held_out() const;
  // The parameters with the least held-out loss so far; x where no board holds rows out.
  [[nodiscard]] const std::vector<float>& best() const { return best_.empty() ? x_ : best_; }
  [[nodiscard]] std::uint32_t best_round() const { return best_.empty() ? round_ : best_round_; }

  // What `self` would contribute: changes that bring its told vector to `wanted`, or `wanted`
  // itself, which then keeps what was left out.
  [[nodiscard]] std::string changes_of(const GroupConfig& config, std::string_view self,
                                       std::vector<float>& wanted) const;
  // Whether this may be applied; a group never applies what one of its boards would refuse.
  [[nodiscard]] Status check(const GroupConfig& config, const Contribution& from) const;
  // The next round: of every board but those in `without` there is a contribution. `left`: those of
  // `without` that left for good.
  void apply(const GroupConfig& config, const std::map<std::string, Contribution>& from,
             const std::vector<std::string>& without, const std::vector<std::string>& left);

  [[nodiscard]] Bytes save() const;
  // All or nothing; of another dimension, or with numbers no group has: refused.
  [[nodiscard]] static Result<GroupModel> load(const GroupConfig& config, std::string_view bytes);
  void archive(Archive& ar, std::uint32_t dimension_max);
  // How many parameters a saved model has; 0 for what is none.
  [[nodiscard]] static std::uint32_t dimension_of(std::string_view saved);

 private:
  [[nodiscard]] std::vector<float> mean_told(const GroupConfig& config) const;
  [[nodiscard]] std::vector<float> mean_changed(
      const GroupConfig& config, const std::map<std::string, Contribution>& from) const;
  void take_step(const GroupConfig& config, const std::vector<float>& before,
                 const std::vector<float>& z);
  void note_absences(const std::vector<std::string>& without, const std::vector<std::string>& left);
  void admit(const std::map<std::string, Contribution>& from, bool tracks);
  void keep_best();
  void fill_up(const GroupConfig& config);
  void seal();
  [[nodiscard]] bool has_sound_numbers(const GroupConfig& config) const;
  [[nodiscard]] bool has_sound_boards(const GroupConfig& config) const;

  std::uint64_t lineage_ = 0;
  std::uint32_t round_ = 0;
  std::vector<float> x_;
  std::vector<float> momentum_;
  std::vector<float> square_;       // of Adam alone
  double curvature_ = 0.0;          // 0: not seen yet
  double moved_ = 0.0;              // the length of the last step
  std::uint32_t settled_ = 0;       // the round from which the curvature is looked at again
  std::vector<GroupBoard> boards_;  // by name
  std::vector<Absence> absences_;
  std::vector<float> best_;
  std::uint32_t best_round_ = 0;
  double best_loss_ = 0.0;
  std::uint32_t digest_ = 0;
};

}  // namespace laird::consensus
