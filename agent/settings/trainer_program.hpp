// A program that the board's config lets tasks name as their trainer, or an image of one.
#pragma once

#include <string>
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

  // For people.
  [[nodiscard]] const std::string& what() const { return image.empty() ? argv.front() : image; }
};

// What is wrong with such an image's name; empty when it is one.
[[nodiscard]] std::string image_problem(const std::string& image);

}  // namespace laird::agent
