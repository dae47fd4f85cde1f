#include "agent/placement/search/rows.hpp"

#include <algorithm>
#include <set>

namespace laird::placement {
namespace {

// Above this many pairs of task and group only the area rows are kept: they suffice where tasks are
// small against the whole, and the rest would take too much memory.
constexpr std::size_t kAllRowsPairsMax = 400'000;
constexpr int kStepRows = 3;
constexpr std::size_t kEndRows = 3;

bool alike(const Instance& instance, std::size_t a, std::size_t b) {
  const PlannedBoard& x = instance.boards[a];
  const PlannedBoard& y = instance.boards[b];
  if (x.memory_mb != y.memory_mb || x.gpu != y.gpu || x.lanes != y.lanes) return false;
  const auto same = [](const Window& v, const Window& w) {
    return v.from_s == w.from_s && v.to_s == w.to_s;
  };
  if (!std::equal(x.closed.begin(), x.closed.end(), y.closed.begin(), y.closed.end(), same)) {
    return false;
  }
  for (std::size_t t = 0; t < instance.tasks.size(); ++t) {
    const bool there = instance.may_run(t, a);
    if (there != instance.may_run(t, b)) return false;
    const Choice& c = instance.choice(t, a);
    const Choice& d = instance.choice(t, b);
    if (there && (c.time_s != d.time_s || c.gpu != d.gpu)) return false;
  }
  return true;
}

void find_groups(const Instance& instance, Rows& out) {
  for (std::size_t b = 0; b < instance.boards.size(); ++b) {
    std::size_t g = 0;
    while (g < out.boards.size() &&
           !alike(instance, static_cast<std::size_t>(out.boards[g].front()), b)) {
      ++g;
    }
    if (g == out.boards.size()) out.boards.emplace_back();
    out.boards[g].push_back(static_cast<int>(b));
    out.group_of.push_back(g);
  }
  out.groups = out.boards.size();
}

// Up to kEndRows values of e for a resource: the smallest, the middle and the largest part of at
// most a half.
std::vector<std::int64_t> ends_of(const std::set<std::int64_t>& parts, std::int64_t whole) {
  std::vector<std::int64_t> small;
  for (const std::int64_t p : parts) {
    if (p > 0 && 2 * p <= whole) small.push_back(p);
  }
  if (small.empty()) return {};
  std::vector<std::int64_t> out = {small.front(), small[small.size() / 2], small.back()};
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return out;
}

// One resource of one board: the area, then the rounded rows.
class Resource {
 public:
  Resource(std::int64_t whole, bool area_only) : whole_(whole), area_only_(area_only) {}
  void see(std::int64_t part) { parts_.insert(part); }
  void settle() { ends_ = ends_of(parts_, whole_); }
  [[nodiscard]] static std::size_t count(bool area_only) {
    return area_only ? 1 : 1 + kStepRows + kEndRows;
  }
  void write(std::int64_t part, double time, double* row) const {
    if (whole_ <= 0) return;
    row[0] = time * static_cast<double>(part) / static_cast<double>(whole_);
    if (area_only_) return;
    for (int k = 1; k <= kStepRows; ++k) row[k] = time * rounded_by_steps(part, whole_, k);
    for (std::size_t i = 0; i < ends_.size(); ++i) {
      row[1 + kStepRows + i] = time * rounded_at_ends(part, whole_, ends_[i]);
    }
  }

 private:
  std::int64_t whole_ = 0;
  bool area_only_ = false;
  std::set<std::int64_t> parts_;
  std::vector<std::int64_t> ends_;
};

void write_group(const Instance& instance, std::size_t group, bool area_only, Rows& out) {
  const auto board = static_cast<std::size_t>(out.boards[group].front());
  const PlannedBoard& b = instance.boards[board];
  const bool serial = instance.mode == Mode::kSerial;
  Resource gpu(b.gpu, area_only);
  Resource memory(b.memory_mb, area_only);
  for (std::size_t t = 0; t < instance.tasks.size() && !serial; ++t) {
    if (!instance.may_run(t, board)) continue;
    gpu.see(instance.choice(t, board).gpu);
    memory.see(instance.tasks[t].memory_mb);
  }
  gpu.settle();
  memory.settle();
  const double lanes = lanes_of(instance, board);
  for (std::size_t t = 0; t < instance.tasks.size(); ++t) {
    if (!instance.may_run(t, board)) continue;
    const Choice& c = instance.choice(t, board);
    out.time_s[t * out.groups + group] = c.time_s;
    double* row = &out.part_s[(t * out.groups + group) * out.rows];
    const auto time = static_cast<double>(c.time_s);
    row[0] = time / lanes;
    if (serial) continue;
    gpu.write(c.gpu, time, row + 1);
    memory.write(instance.tasks[t].memory_mb, time, row + 1 + Resource::count(area_only));
  }
}

}  // namespace

double rounded_by_steps(std::int64_t part, std::int64_t whole, int k) {
  const std::int64_t scaled = (k + 1) * part;
  if (scaled % whole == 0) return static_cast<double>(part) / static_cast<double>(whole);
  const std::int64_t steps = scaled / whole;
  return static_cast<double>(steps) / static_cast<double>(k);
}

double rounded_at_ends(std::int64_t part, std::int64_t whole, std::int64_t e) {
  if (part < e) return 0.0;
  if (part > whole - e) return 1.0;
  return static_cast<double>(part) / static_cast<double>(whole);
}

Rows rows_of(const Instance& instance) {
  Rows out;
  find_groups(instance, out);
  const std::size_t pairs = instance.tasks.size() * out.groups;
  const bool area_only = pairs > kAllRowsPairsMax;
  out.rows = instance.mode == Mode::kSerial ? 1 : 1 + 2 * Resource::count(area_only);
  out.time_s.assign(pairs, 0);
  out.part_s.assign(pairs * out.rows, 0.0);
  for (std::size_t g = 0; g < out.groups; ++g) write_group(instance, g, area_only, out);
  return out;
}

}  // namespace laird::placement
