#include "power/model/board.hpp"

#include <algorithm>

namespace laird::power {

std::string_view name(Scope scope) {
  switch (scope) {
    case Scope::kUnknown: return "unknown";
    case Scope::kRailSum: return "rail-sum";
    case Scope::kModule: return "module";
    case Scope::kBoard: return "board";
  }
  return "unknown";
}

std::string_view name(LaneKind kind) { return kind == LaneKind::kGpu ? "gpu" : "cpu"; }

std::string_view name(Feeds feeds) {
  switch (feeds) {
    case Feeds::kAll: return "all";
    case Feeds::kGpu: return "gpu";
    case Feeds::kCpu: return "cpu";
    case Feeds::kSoc: return "soc";
    case Feeds::kMemory: return "memory";
    case Feeds::kIo: return "io";
    case Feeds::kMixed: return "mixed";
  }
  return "mixed";
}

std::string_view name(Evidence evidence) {
  switch (evidence) {
    case Evidence::kSourced: return "sourced";
    case Evidence::kCaptured: return "captured";
    case Evidence::kDerived: return "derived";
    case Evidence::kChosen: return "chosen";
    case Evidence::kUnconfirmed: return "unconfirmed";
  }
  return "unconfirmed";
}

std::string TotalRule::text() const {
  std::string out;
  for (const std::string& rail : rails) {
    if (!out.empty()) out += " + ";
    out += rail;
  }
  return out;
}

std::int64_t Board::memory_for_tasks_bytes(std::int64_t machine_bytes) const {
  const std::int64_t total = machine_bytes > 0 ? machine_bytes : memory_bytes;
  return std::max<std::int64_t>(0, total - memory_reserve_bytes);
}

const EvidenceEntry* Board::evidence_for(std::string_view path) const {
  const EvidenceEntry* best = nullptr;
  for (const EvidenceEntry& entry : evidence) {
    const bool speaks =
        path == entry.of || (path.starts_with(entry.of) && path.size() > entry.of.size() &&
                             path[entry.of.size()] == '/');
    if (speaks && (best == nullptr || entry.of.size() > best->of.size())) best = &entry;
  }
  return best;
}

const Rail* Board::rail(std::string_view rail_name) const {
  for (const Rail& rail : rails) {
    if (rail.name == rail_name) return &rail;
  }
  return nullptr;
}

}  // namespace laird::power
