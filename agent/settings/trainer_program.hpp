// A program that the board's config lets tasks name as their trainer.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace laird::agent {

struct TrainerProgram {
  std::vector<std::string> argv;
  std::vector<std::pair<std::string, std::string>> env;
  bool network = false;     // may reach it; else it has a loopback of its own, or nothing
  bool lines_only = false;  // cannot cooperate: prints progress lines, is frozen between grants
};

}  // namespace laird::agent
