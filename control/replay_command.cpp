#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>

#include "control/commands.hpp"
#include "control/exit.hpp"
#include "lab/replay/replay.hpp"

namespace laird::control {
namespace {

int replay(const std::string& path) {
  const bool tty = ::isatty(STDERR_FILENO) != 0;
  const auto result = lab::replay(path, [tty](std::uint64_t events) {
    if (tty) std::fprintf(stderr, "\r%llu events", static_cast<unsigned long long>(events));
  });
  if (tty) std::fprintf(stderr, "\r");
  if (!result) return complain(result.error());
  std::fputs(lab::report(*result).c_str(), stdout);
  return result->difference ? kFailed : 0;
}

}  // namespace

void add_replay(CLI::App& app, int& code) {
  const auto journal = std::make_shared<std::string>();
  CLI::App* command =
      app.add_subcommand("replay",
                         "Step a journal again: identical, or the first difference.\n"
                         "Example: lairctl replay /var/lib/laird/journal");
  command->add_option("journal", *journal, "A journal file, or a folder of them")->required();
  command->callback([journal, &code] { code = replay(*journal); });
}

}  // namespace laird::control
