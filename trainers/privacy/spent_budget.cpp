#include "trainers/privacy/spent_budget.hpp"

#include <sys/stat.h>

#include <array>
#include <cerrno>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <sstream>

#include "consensus/cotrain/privacy_budget.hpp"
#include "json/value.hpp"
#include "os/whole_file.hpp"

namespace laird::trainers {
namespace {

constexpr int kRoundsPutBy = 16;

tl::unexpected<Error> unreadable(const std::string& path, const std::string& why) {
  return fail(
      Code::kCorrupt,
      path + ": " + why +
          "; it says what was told of the rows already, and without it nothing more is told. "
          "Remove it only if a count from nothing is right");
}

}  // namespace

Result<SpentBudget> SpentBudget::open(const std::string& folder) {
  SpentBudget out(folder + "/" + std::string(kSpentFile));
  struct stat found {};
  if (::stat(out.path_.c_str(), &found) != 0) {
    if (errno == ENOENT) return out;
    return unreadable(out.path_, std::strerror(errno));
  }
  std::ifstream file(out.path_, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  if (!file || text.str().size() > 4096) return unreadable(out.path_, "it cannot be read");
  const Result<json::Value> read = json::parse(text.str(), out.path_);
  const json::Value* spent = read ? read->find("zcdp") : nullptr;
  if (spent == nullptr || !spent->is_number() || !(spent->as_double() >= 0.0) ||
      !std::isfinite(spent->as_double())) {
    return unreadable(out.path_, "it is damaged");
  }
  out.used_ = out.put_by_ = spent->as_double();
  return out;
}

Status SpentBudget::spend(double zcdp) {
  const double after = used_ + zcdp;
  if (after > put_by_) {
    const double enough = used_ + kRoundsPutBy * zcdp;
    const json::Value line = json::Value::object().set("zcdp", enough);
    LAIRD_TRY(write_whole_file(path_, json::to_text(line) + "\n"));
    put_by_ = enough;
  }
  used_ = after;
  return {};
}

std::string privacy_words(double zcdp, double delta) {
  // Rounded up: a budget is not told smaller than it is.
  const double epsilon = std::ceil(consensus::epsilon_of(zcdp, delta) * 100.0) / 100.0;
  std::array<char, 96> text{};
  std::snprintf(text.data(), text.size(), "epsilon %.2f at delta %.3g", epsilon, delta);
  return text.data();
}

}  // namespace laird::trainers
