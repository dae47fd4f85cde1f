// laird-lab cotrain: quantized co-training against float32 exchange and central training.
#include "lab/cotrain/command.hpp"

#include <algorithm>
#include <cstdio>

#include "cli/command.hpp"
#include "config/schema.hpp"
#include "json/value.hpp"
#include "lab/cotrain/cotrain_run.hpp"
#include "lab/cotrain/group_sim.hpp"
#include "lab/cotrain/split_run.hpp"
#include "lab/ledger/page.hpp"
#include "plot/svg_plot.hpp"

namespace laird::lab {
namespace {

struct Options {
  std::string data = "/usr/share/datasets/fashion-mnist";
  std::string model = "softmax";
  CotrainConfig config;
  bool sweep = false;
  int groups = 0;
  bool skewed = false;
  bool poisoned = false;
  int boards = 8;
  int local_steps = 20;
  bool json = false;
  std::string html;
};

json::Value curve_value(const CotrainCurve& curve, double target) {
  json::Value v = json::Value::object();
  const Reach reach = reach_of(curve, target);
  v.set("rounds_to_target", reach.round);
  v.set("bytes_per_board_to_target", reach.bytes);
  v.set("final_accuracy_board0", curve.accuracy.empty() ? 0.0 : curve.accuracy.back());
  v.set("final_accuracy_worst_board", curve.final_worst);
  v.set("disagreement", curve.disagreement);
  return v;
}

// The gradient-tracking rate against its bound: how far each alpha gets in the same rounds.
int run_sweep(const Options& o, const ImageSet& train, const ImageSet& test) {
  json::Value all = json::Value::array();
  double bound = 0;
  for (const double factor : {0.05, 0.1, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0}) {
    CotrainConfig config = o.config;
    if (bound == 0) {
      CotrainConfig probe = config;
      probe.rounds = 1;
      bound = run_cotrain(probe, train, test, false).alpha_bound;
    }
    config.alpha = factor * bound;
    const CotrainResult r = run_cotrain(config, train, test, false);
    const double final = r.quantized.accuracy.empty() ? 0.0 : r.quantized.accuracy.back();
    json::Value v = json::Value::object();
    v.set("alpha_over_bound", factor);
    v.set("alpha", config.alpha);
    v.set("accuracy", final);
    v.set("disagreement", r.quantized.disagreement);
    v.set("diverged", r.quantized.diverged);
    if (!o.json) {
      std::printf("alpha %.4g (%.2f of the bound): accuracy %.2f%%, disagreement %.2g%s\n",
                  config.alpha, factor, final, r.quantized.disagreement,
                  r.quantized.diverged ? ", diverged" : "");
    }
    all.add(std::move(v));
  }
  if (o.json) std::printf("%s\n", json::to_text(all).c_str());
  return 0;
}

// Whole groups in virtual time, so many with each kind of trouble. Fails if one of them hangs.
int run_groups(int runs, bool as_json) {
  json::Value all = json::Value::array();
  bool hung = false;
  for (const Trouble trouble : kTroubles) {
    int hangs = 0;
    int two_models = 0;
    double apart = 0.0;
    double off = 0.0;
    for (int seed = 1; seed <= runs; ++seed) {
      GroupSimConfig config;
      config.trouble = trouble;
      config.seed = static_cast<std::uint64_t>(seed);
      const GroupSimResult r = run_group(config);
      hangs += r.hung ? 1 : 0;
      two_models += r.apart > 0.0 ? 1 : 0;
      apart = std::max(apart, r.apart);
      off = std::max(off, r.off);
    }
    hung = hung || hangs > 0;
    const std::string what(name(trouble));
    if (!as_json) {
      std::printf(
          "%-14s %d runs: %d hung, %d with two models, %.2g apart at most, %.2g from the best\n",
          what.c_str(), runs, hangs, two_models, apart, off);
    }
    json::Value v = json::Value::object();
    v.set("trouble", what).set("runs", runs).set("hung", hangs).set("two_models", two_models);
    all.add(std::move(v.set("apart", apart).set("from_best", off)));
  }
  if (as_json) std::printf("%s\n", json::to_text(all).c_str());
  return hung ? 1 : 0;
}

struct Line {
  const char* what;
  SplitConfig config;
};

json::Value run_line(const Line& line, const ImageSet& train, const ImageSet& test, double target,
                     bool as_json) {
  const SplitResult r = run_split(line.config, train, test, target);
  if (!as_json) {
    std::printf("%-52s %6.2f%%  %s  %.2f MB\n", line.what, r.accuracy,
                r.rounds_to < 0 ? "never" : ("round " + std::to_string(r.rounds_to)).c_str(),
                r.bytes / 1e6);
    std::fflush(stdout);
  }
  return json::Value::object()
      .set("what", line.what)
      .set("accuracy", r.accuracy)
      .set("rounds_to_target", r.rounds_to)
      .set("bytes_per_board", r.bytes);
}

// Gradients of whole passes beside averaged local steps, with and without a wrong board.
int run_splits(const Options& o, const ImageSet& train, const ImageSet& test) {
  SplitConfig base;
  base.boards = o.boards;
  base.rounds = o.config.rounds;
  base.samples = o.config.samples;
  base.seed = o.config.seed;
  SplitConfig pooled = base;
  pooled.boards = 1;
  pooled.density = 1.0;
  pooled.rounds = 3 * base.rounds;
  const double central = run_split(pooled, train, test, 100.0).accuracy;
  const double target = central - 0.5;
  if (!o.json) {
    std::printf("pooled rows on one board: %.2f%%; target %.2f%%\n", central, target);
  }
  std::vector<Line> lines;
  const auto both = [&](const char* passes, const char* steps, const auto& change) {
    for (const bool local : {false, true}) {
      SplitConfig config = base;
      config.local_steps = local ? o.local_steps : 0;
      change(config);
      lines.push_back({local ? steps : passes, config});
    }
  };
  if (o.skewed) {
    both("sorted: gradients of whole passes", "sorted: local steps, momentum 0.9",
         [](SplitConfig&) {});
    SplitConfig plain = base;
    plain.local_steps = o.local_steps;
    plain.momentum = 0.0;
    lines.push_back({"sorted: local steps, no momentum", plain});
    both("even: gradients of whole passes", "even: local steps, momentum 0.9",
         [](SplitConfig& c) { c.sorted = false; });
  }
  if (o.poisoned) {
    for (const bool trimmed : {false, true}) {
      const auto with = [trimmed](Poison poison) {
        return [trimmed, poison](SplitConfig& c) {
          c.sorted = false;
          c.poison = poison;
          c.trim = trimmed ? 1 : 0;
        };
      };
      both(trimmed ? "even, none wrong, trim 1: whole passes" : "even, none wrong: whole passes",
           trimmed ? "even, none wrong, trim 1: local steps" : "even, none wrong: local steps",
           with(Poison::kNone));
      both(trimmed ? "even, labels shuffled, trim 1: whole passes"
                   : "even, labels shuffled: whole passes",
           trimmed ? "even, labels shuffled, trim 1: local steps"
                   : "even, labels shuffled: local steps",
           with(Poison::kLabels));
      both(trimmed ? "even, times 100, trim 1: whole passes" : "even, times 100: whole passes",
           trimmed ? "even, times 100, trim 1: local steps" : "even, times 100: local steps",
           with(Poison::kScaled));
    }
  }
  json::Value all = json::Value::array();
  for (const Line& line : lines) all.add(run_line(line, train, test, target, o.json));
  if (o.json) {
    std::printf(
        "%s\n",
        json::to_text(
            json::Value::object().set("central_accuracy", central).set("runs", std::move(all)))
            .c_str());
  }
  return 0;
}

int run(Options o) {
  if (o.groups > 0) return run_groups(o.groups, o.json);
  o.config.model = o.model == "svm"      ? Model::kSvm
                   : o.model == "linear" ? Model::kLinear
                                         : Model::kSoftmax;
  const auto train = read_images(o.data, "train", static_cast<std::size_t>(o.config.samples));
  const auto test = read_images(o.data, "t10k", 10'000);
  if (!train || !test) {
    std::fprintf(stderr, "%s\n", (train ? test.error() : train.error()).text().c_str());
    return 1;
  }
  if (o.skewed || o.poisoned) return run_splits(o, *train, *test);
  if (o.sweep) return run_sweep(o, *train, *test);
  const CotrainResult r = run_cotrain(o.config, *train, *test, true);
  const Reach ours = reach_of(r.quantized, r.target_accuracy);
  const Reach theirs = reach_of(r.float32, r.target_accuracy);
  json::Value v = json::Value::object();
  v.set("model", o.model);
  v.set("central_accuracy", r.central_accuracy);
  v.set("target_accuracy", r.target_accuracy);
  v.set("quantized", curve_value(r.quantized, r.target_accuracy));
  v.set("float32", curve_value(r.float32, r.target_accuracy));
  v.set("bytes_ratio", ours.bytes > 0 ? theirs.bytes / ours.bytes : 0.0);
  v.set("alpha", o.config.alpha);
  v.set("alpha_bound", r.alpha_bound);
  std::printf("%s\n", (o.json ? json::to_text(v) : json::to_pretty_text(v)).c_str());
  if (!o.html.empty()) {
    const std::string page = plot::page(
        "Co-training",
        "<h1>Co-training, run 1 quantized, run 2 float32</h1>\n" +
            line_chart("Test accuracy, by evaluation", {r.quantized.accuracy, r.float32.accuracy},
                       "percent", false) +
            line_chart("Sent per board", {r.quantized.bytes, r.float32.bytes}, "bytes", true));
    if (const Status ok = config::write_file(o.html, page); !ok) {
      std::fprintf(stderr, "laird-lab cotrain: %s\n", ok.error().text().c_str());
      return 1;
    }
  }
  return 0;
}

}  // namespace

void add_cotrain(cli::Command& app, ExitCode& code) {
  auto o = std::make_shared<Options>();
  cli::Command* cmd = app.add_subcommand(
      "cotrain", "Train one model on every board's own data with quantized messages");
  cmd->footer(
      "Examples:\n"
      "  laird-lab cotrain --model softmax --rounds 300 --json\n"
      "  laird-lab cotrain --model svm --leave-at 100 --join-at 200\n"
      "  laird-lab cotrain --model softmax --alpha-sweep --rounds 100\n"
      "  laird-lab cotrain --skewed --poisoned --boards 8 --samples 8000 --rounds 100\n"
      "  laird-lab cotrain --groups 500\n");
  cmd->add_option("--data", o->data, "folder of gzipped IDX files");
  cmd->add_option("--model", o->model, "svm, linear or softmax")
      ->check(cli::one_of({"svm", "linear", "softmax"}));
  cmd->add_option("--nodes", o->config.nodes, "boards")->check(cli::range(2, 200));
  cmd->add_option("--rounds", o->config.rounds, "of mixing")->check(cli::range(1, 100'000));
  cmd->add_option("--samples", o->config.samples, "of all boards")->check(cli::range(100, 60'000));
  cmd->add_option("--alpha", o->config.alpha, "step")->check(cli::positive());
  cmd->add_option("--rho", o->config.rho, "step of the log quantizer")
      ->check(cli::range(0.01, 1.0));
  cmd->add_option("--density", o->config.density, "part of the coordinates in a message")
      ->check(cli::range(0.01, 1.0));
  cmd->add_option("--gain", o->config.gain, "of the mixing")->check(cli::range(0.01, 1.0));
  cmd->add_option("--leave-at", o->config.leave_at, "round at which one board leaves");
  cmd->add_option("--join-at", o->config.join_at, "round at which it joins again, empty");
  cmd->add_option("--groups", o->groups,
                  "instead: so many whole groups in virtual time with each kind of trouble")
      ->check(cli::range(1, 100'000));
  cmd->add_flag("--skewed", o->skewed,
                "instead: gradients of whole passes beside averaged local steps, softmax, on rows "
                "sorted by label and even ones");
  cmd->add_flag("--poisoned", o->poisoned,
                "instead, or too: with one wrong board, plain mean and trimmed");
  cmd->add_option("--boards", o->boards, "with these two")->check(cli::range(2, 64));
  cmd->add_option("--local-steps", o->local_steps, "with these two: of a board in a round")
      ->check(cli::range(1, 1000));
  cmd->add_option("--seed", o->config.seed, "of the graph");
  cmd->add_flag("--alpha-sweep", o->sweep, "sweep the step against its stability bound");
  cmd->add_option("--html", o->html, "write a page with the curves");
  cmd->add_flag("--json", o->json, "one line of JSON");
  cmd->callback([o, &code] { code.value = run(*o); });
}

}  // namespace laird::lab
