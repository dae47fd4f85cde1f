// A program that the board's config lets tasks name as their trainer, or an image of one.
#pragma once

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace laird::agent {

struct TrainerProgram {
  std::vector<std::string> argv;  // in an image: what runs there; empty: what the image says
  std::vector<std::pair<std::string, std::string>> env;
  bool network = false;     // may reach it; else it has a loopback of its own, or nothing
  bool lines_only = false;  // cannot cooperate: prints progress lines, is frozen between grants
  std::string image = {};   // of a container; empty: a program of the board
  std::vector<std::string> engine = {};  // what runs the container
  bool checks = false;  // looks at params and data of a task when it is told --laird-check

  // For people.
  [[nodiscard]] const std::string& what() const { return image.empty() ? argv.front() : image; }
};

// What is wrong with such an image's name; empty when it is one. One that begins with a dash would
// be an option of whatever runs it.
[[nodiscard]] inline std::string image_problem(const std::string& image) {
  const auto is_letter = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           std::string_view("._-/:@").find(c) != std::string_view::npos;
  };
  const bool good =
      !image.empty() && image.front() != '-' && std::all_of(image.begin(), image.end(), is_letter);
  return good ? "" : "'" + image + "' is no name of an image, such as localhost/mine:1";
}

// The command of a trainer that checks instead of training, but for its last word: a file with the
// params, or "-" for standard input. Empty when it has none.
[[nodiscard]] inline std::vector<std::string> check_command(const TrainerProgram& program) {
  constexpr std::array<std::string_view, 4> kKinds = {"linear", "svm", "softmax", "mlp"};
  const std::vector<std::string>& argv = program.argv;
  if (!program.image.empty() || argv.empty()) return {};
  if (program.checks) {
    std::vector<std::string> out = argv;
    out.emplace_back("--laird-check");
    return out;
  }
  const bool is_built_in = argv.size() == 2 &&
                           argv[0].substr(argv[0].rfind('/') + 1) == "laird-train" &&
                           std::find(kKinds.begin(), kKinds.end(), argv[1]) != kKinds.end();
  if (!is_built_in) return {};
  return {argv[0], "check", argv[1]};
}

}  // namespace laird::agent
