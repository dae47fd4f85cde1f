#include "lab/placement/gap.hpp"

#include <algorithm>
#include <filesystem>
#include <sstream>

#include "agent/placement/search/row_search.hpp"
#include "config/schema.hpp"
#include "lab/placement/runs.hpp"

namespace laird::lab {
namespace {

constexpr std::size_t kFileMax = 4UL * 1024 * 1024;

// Each agent as a board with one row, its capacity being 1.
placement::Rows rows_of_problem(const GapProblem& p) {
  placement::Rows out;
  out.groups = p.agents;
  out.rows = 1;
  for (std::size_t a = 0; a < p.agents; ++a) {
    out.group_of.push_back(a);
    out.boards.push_back({static_cast<int>(a)});
  }
  for (std::size_t i = 0; i < p.use.size(); ++i) {
    out.time_s.push_back(1);
    out.part_s.push_back(static_cast<double>(p.use[i]) /
                         static_cast<double>(p.capacity[i % p.agents]));
  }
  return out;
}

// Each job, the one that is hardest to place first, where it is cheapest and still fits.
placement::Assignment greedy(const GapProblem& p) {
  std::vector<double> left(p.capacity.begin(), p.capacity.end());
  placement::Assignment out(p.jobs, 0);
  for (std::size_t j = 0; j < p.jobs; ++j) {
    int best = -1;
    for (std::size_t a = 0; a < p.agents; ++a) {
      if (p.use[j * p.agents + a] > left[a]) continue;
      if (best < 0 ||
          p.cost[j * p.agents + a] < p.cost[j * p.agents + static_cast<std::size_t>(best)]) {
        best = static_cast<int>(a);
      }
    }
    const auto at = static_cast<std::size_t>(best < 0 ? 0 : best);
    out[j] = static_cast<int>(at);
    left[at] -= p.use[j * p.agents + at];
  }
  return out;
}

}  // namespace

Result<GapProblem> parse_gap(const std::string& text) {
  std::istringstream in(text);
  GapProblem out;
  const auto bad = [](const char* what) { return fail(Code::kInvalid, what); };
  if (!(in >> out.agents >> out.jobs)) return bad("expected the numbers of agents and jobs");
  if (out.agents < 1 || out.agents > 1000 || out.jobs < 1 || out.jobs > 20000) {
    return bad("expected 1 to 1000 agents and 1 to 20000 jobs");
  }
  for (std::vector<int>* table : {&out.cost, &out.use}) {
    table->resize(out.agents * out.jobs);
    for (std::size_t a = 0; a < out.agents; ++a) {
      for (std::size_t j = 0; j < out.jobs; ++j) {
        int& v = (*table)[j * out.agents + a];
        if (!(in >> v) || v < 0) return bad("expected costs and uses, none negative");
      }
    }
  }
  out.capacity.resize(out.agents);
  for (int& c : out.capacity) {
    if (!(in >> c) || c <= 0) return bad("expected a capacity above 0 for each agent");
  }
  return out;
}

Result<std::vector<GapProblem>> read_gap_problems(const std::string& folder) {
  const Result<std::string> table = config::read_file(folder + "/data.csv", kFileMax);
  LAIRD_TRY(table);
  std::vector<GapProblem> out;
  std::istringstream lines(*table);
  std::string line;
  std::getline(lines, line);  // the names of the columns
  while (std::getline(lines, line)) {
    const std::string path = line.substr(0, line.find(','));
    const std::string best = line.substr(line.rfind(',') + 1);
    if (path.empty() || !std::filesystem::exists(folder + "/" + path)) continue;
    const Result<std::string> text = config::read_file(folder + "/" + path, kFileMax);
    LAIRD_TRY(text);
    Result<GapProblem> problem = parse_gap(*text);
    if (!problem) return fail(Code::kInvalid, path + ": " + problem.error().context);
    problem->name = path;
    problem->best_known = std::atof(best.c_str());
    out.push_back(std::move(*problem));
  }
  if (out.empty()) return fail(Code::kNotFound, folder + "/data.csv names no file that is there");
  return out;
}

GapRun search_gap(const GapProblem& problem, double seconds, std::uint64_t seed) {
  GapRun out;
  const double from = cpu_seconds();
  const placement::Rows rows = rows_of_problem(problem);
  const std::vector<double> cost(problem.cost.begin(), problem.cost.end());
  double mean = 0.0;
  for (const double c : cost) mean += c / static_cast<double>(cost.size());
  placement::Steering steering(
      UINT64_MAX / 2, [&](const placement::Progress&) { return cpu_seconds() - from < seconds; });
  placement::RowSearch search(rows, {}, seed);
  // What a unit of load costs is not known: rounds try dearer and cheaper prices for it in turn.
  double price =
      4.0 * mean * static_cast<double>(problem.jobs) / static_cast<double>(problem.agents);
  placement::Assignment start = greedy(problem);
  for (std::uint64_t steps = 400'000; !steering.stopped(); steps += steps / 2) {
    search.start(start);
    const bool found = search.economise(cost, 1.0, price, steps, steering);
    if (found && (out.cost < 0.0 || search.best_cost() < out.cost)) {
      out.cost = search.best_cost();
      start = search.best();
    }
    price *= found ? 0.8 : 2.0;
  }
  out.cpu_s = cpu_seconds() - from;
  return out;
}

GapRun ilp_gap(const GapProblem& problem, IlpSolver& solver, double seconds) {
  GapRun out;
  const double from = cpu_seconds();
  Ilp ilp;
  for (const int c : problem.cost) (void)ilp.add_column(c, 1.0, true);
  for (std::size_t j = 0; j < problem.jobs; ++j) {
    IlpRow row{{}, 1.0, 1.0};
    for (std::size_t a = 0; a < problem.agents; ++a) {
      row.terms.emplace_back(static_cast<int>(j * problem.agents + a), 1.0);
    }
    ilp.rows.push_back(std::move(row));
  }
  for (std::size_t a = 0; a < problem.agents; ++a) {
    IlpRow row{{}, 0.0, static_cast<double>(problem.capacity[a])};
    for (std::size_t j = 0; j < problem.jobs; ++j) {
      const std::size_t i = j * problem.agents + a;
      row.terms.emplace_back(static_cast<int>(i), static_cast<double>(problem.use[i]));
    }
    ilp.rows.push_back(std::move(row));
  }
  const Result<IlpAnswer> answer = solver.solve(ilp, seconds);
  if (answer) {
    out.cost = answer->cost;
    out.proved = answer->proved;
  }
  out.cpu_s = cpu_seconds() - from;
  return out;
}

}  // namespace laird::lab
