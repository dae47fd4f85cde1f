// Command lines: a program is a tree of commands with options, and parsing one runs the callback of
// the command that was named. The parser is a library's, below this interface (cli/cli11): its
// headers take longer to compile than everything a command does.
//
// Commands and options belong to the root; pointers to them live as long as it does. Whatever an
// option writes to must outlive the parse.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

// The library's, named here and nowhere above.
namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace laird::cli {

// What a program exits with when its command line is wrong.
inline constexpr int kUsageCode = 2;

struct OneOf {
  std::vector<std::string> values;
};
struct IntegerRange {
  int min = 0;
  int max = 0;
};
struct RealRange {
  double min = 0.0;
  double max = 0.0;
};
struct Positive {};
struct NonNegative {};
// What a value must be; --help says so too.
using Check = std::variant<OneOf, IntegerRange, RealRange, Positive, NonNegative>;

[[nodiscard]] inline Check one_of(std::vector<std::string> values) {
  return OneOf{std::move(values)};
}
[[nodiscard]] inline Check range(int min, int max) { return IntegerRange{min, max}; }
[[nodiscard]] inline Check range(double min, double max) { return RealRange{min, max}; }
[[nodiscard]] inline Check positive() { return Positive{}; }
[[nodiscard]] inline Check non_negative() { return NonNegative{}; }

class Option {
 public:
  explicit Option(CLI::Option& parsed) : parsed_(parsed) {}

  Option* required();
  Option* check(const Check& check);
  Option* show_default();                  // --help names the value that is there now
  Option* group(const std::string& name);  // a heading of --help
  Option* delimiter(char between);         // one word may hold several values
  Option* take_all();                      // may be given again and again; for lists

 private:
  CLI::Option& parsed_;
};

// An option as it was declared, for completions and manual pages. Includes --help and --version.
struct OptionInfo {
  std::string name;  // of a positional one as declared, else with its dashes
  std::vector<std::string> long_names;
  std::vector<std::string> short_names;
  std::string about;
  std::string group;
  bool positional = false;
  bool takes_value = false;
};

class Command {
 public:
  explicit Command(const std::string& about);  // the program itself
  ~Command();
  Command(const Command&) = delete;
  Command& operator=(const Command&) = delete;

  Command* add_subcommand(const std::string& name, const std::string& about);
  // A name without dashes is an argument by its place. `value` keeps what it holds if the option is
  // not given. For the types that commands use: text, lists of it, numbers.
  template <class Value>
  Option* add_option(const std::string& names, Value& value, const std::string& about);
  Option* add_flag(const std::string& names, bool& value, const std::string& about);

  void callback(std::function<void()> run);
  void require_subcommand();
  void footer(const std::string& text);
  void set_version(const std::string& text);  // --version prints it

  // Runs the callback of the command that `argv` names. A value: what to exit with at once, after
  // --help, --version or a complaint.
  [[nodiscard]] std::optional<int> parse(int argc, char** argv);
  [[nodiscard]] bool given(const std::string& option) const;

  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] const std::string& about() const { return about_; }
  [[nodiscard]] std::vector<const Command*> subcommands() const;
  [[nodiscard]] std::vector<OptionInfo> options() const;

 private:
  Command(const std::string& name, const std::string& about, CLI::App& parser);
  Option* keep(CLI::Option& parsed);

  std::string name_;
  std::string about_;
  std::unique_ptr<CLI::App> root_;  // the program's; it holds those of the subcommands
  CLI::App& parser_;
  std::vector<std::unique_ptr<Command>> subcommands_;
  std::vector<std::unique_ptr<Option>> options_;
};

}  // namespace laird::cli
