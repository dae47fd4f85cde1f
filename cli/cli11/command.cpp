#include "cli/command.hpp"

#include <CLI/CLI.hpp>
#include <cstdint>

namespace laird::cli {
namespace {

struct AsValidator {
  CLI::Validator operator()(const OneOf& check) const { return CLI::IsMember(check.values); }
  CLI::Validator operator()(const IntegerRange& check) const {
    return CLI::Range(check.min, check.max);
  }
  CLI::Validator operator()(const RealRange& check) const {
    return CLI::Range(check.min, check.max);
  }
  CLI::Validator operator()(const Positive&) const { return CLI::PositiveNumber; }
  CLI::Validator operator()(const NonNegative&) const { return CLI::NonNegativeNumber; }
};

}  // namespace

Option* Option::required() {
  parsed_.required();
  return this;
}

Option* Option::check(const Check& check) {
  parsed_.check(std::visit(AsValidator{}, check));
  return this;
}

Option* Option::show_default() {
  parsed_.capture_default_str();
  return this;
}

Option* Option::group(const std::string& name) {
  parsed_.group(name);
  return this;
}

Option* Option::delimiter(char between) {
  parsed_.delimiter(between);
  return this;
}

Option* Option::take_all() {
  parsed_.take_all();
  return this;
}

Command::Command(const std::string& about)
    : about_(about), root_(std::make_unique<CLI::App>(about)), parser_(*root_) {}

Command::Command(const std::string& name, const std::string& about, CLI::App& parser)
    : name_(name), about_(about), parser_(parser) {}

Command::~Command() = default;

Command* Command::add_subcommand(const std::string& name, const std::string& about) {
  subcommands_.push_back(
      std::unique_ptr<Command>(new Command(name, about, *parser_.add_subcommand(name, about))));
  return subcommands_.back().get();
}

Option* Command::keep(CLI::Option& parsed) {
  options_.push_back(std::make_unique<Option>(parsed));
  return options_.back().get();
}

template <class Value>
Option* Command::add_option(const std::string& names, Value& value, const std::string& about) {
  return keep(*parser_.add_option(names, value, about));
}

template Option* Command::add_option(const std::string&, std::string&, const std::string&);
template Option* Command::add_option(const std::string&, std::vector<std::string>&,
                                     const std::string&);
template Option* Command::add_option(const std::string&, std::vector<std::size_t>&,
                                     const std::string&);
template Option* Command::add_option(const std::string&, std::vector<double>&, const std::string&);
template Option* Command::add_option(const std::string&, double&, const std::string&);
template Option* Command::add_option(const std::string&, int&, const std::string&);
template Option* Command::add_option(const std::string&, std::uint16_t&, const std::string&);
template Option* Command::add_option(const std::string&, std::uint32_t&, const std::string&);
template Option* Command::add_option(const std::string&, std::int64_t&, const std::string&);
template Option* Command::add_option(const std::string&, std::uint64_t&, const std::string&);

Option* Command::add_flag(const std::string& names, bool& value, const std::string& about) {
  return keep(*parser_.add_flag(names, value, about));
}

void Command::callback(std::function<void()> run) { parser_.callback(std::move(run)); }
void Command::require_subcommand() { parser_.require_subcommand(1); }
void Command::footer(const std::string& text) { parser_.footer(text); }
void Command::set_version(const std::string& text) { parser_.set_version_flag("--version", text); }

std::optional<int> Command::parse(int argc, char** argv) {
  try {
    parser_.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    return parser_.exit(e) == 0 ? 0 : kUsageCode;
  }
  return std::nullopt;
}

bool Command::given(const std::string& option) const { return parser_.count(option) > 0; }

std::vector<const Command*> Command::subcommands() const {
  std::vector<const Command*> out;
  for (const auto& command : subcommands_) out.push_back(command.get());
  return out;
}

std::vector<OptionInfo> Command::options() const {
  std::vector<OptionInfo> out;
  const CLI::App& parser = parser_;
  for (const CLI::Option* option : parser.get_options()) {
    OptionInfo info;
    info.name = option->get_name();
    info.long_names = option->get_lnames();
    info.short_names = option->get_snames();
    info.about = option->get_description();
    info.group = option->get_group();
    info.positional = option->get_positional();
    info.takes_value = option->get_items_expected_max() > 0;
    out.push_back(std::move(info));
  }
  return out;
}

}  // namespace laird::cli
