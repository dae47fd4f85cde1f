// completion: scripts for shells, made from the commands as they are. version: for programs.
#include <cstdio>
#include <functional>

#include "control/commands/commands.hpp"
#include "control/fleet/reach.hpp"
#include "control/screen/output.hpp"

namespace laird::control {
namespace {

using json::Value;

// Options whose value is a file or a folder, as a pattern of bash's and zsh's `case`.
constexpr std::string_view kTakeFiles =
    "-f|--file|--config|--credentials|--socket|--dir|--pki|--out|--page|--csv|--trace";

struct Node {
  std::string path;                                        // "lairctl get tasks"
  std::vector<std::pair<std::string, std::string>> words;  // with what they are for
};

std::string first_line(const std::string& text) {
  std::string out = text.substr(0, text.find('\n'));
  while (!out.empty() && (out.back() == '.' || out.back() == ':')) out.pop_back();
  return out;
}

void collect(const cli::Command& app, const std::string& path, std::vector<Node>& out) {
  Node node{path, {}};
  const std::vector<const cli::Command*> below = app.subcommands();
  for (const cli::Command* sub : below) {
    node.words.emplace_back(sub->name(), first_line(sub->about()));
  }
  for (const cli::OptionInfo& option : app.options()) {
    for (const std::string& name : option.long_names) {
      node.words.emplace_back("--" + name, first_line(option.about));
    }
    for (const std::string& name : option.short_names) {
      node.words.emplace_back("-" + name, first_line(option.about));
    }
  }
  out.push_back(std::move(node));
  for (const cli::Command* sub : below) collect(*sub, path + " " + sub->name(), out);
}

// In single quotes for a shell.
std::string in_quotes(const std::string& text) {
  std::string out = "'";
  for (const char c : text) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

std::string bash(const std::vector<Node>& nodes) {
  std::string out =
      "# bash completion of lairctl, made by `lairctl completion bash`\n"
      "_lairctl() {\n"
      "  local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} path=lairctl word i\n"
      "  local -A words=(\n";
  for (const Node& node : nodes) {
    std::string all;
    for (const auto& [word, why] : node.words) all += (all.empty() ? "" : " ") + word;
    out += "    [" + in_quotes(node.path) + "]=" + in_quotes(all) + "\n";
  }
  return out +
         "  )\n"
         "  for ((i = 1; i < COMP_CWORD; i++)); do\n"
         "    word=\"$path ${COMP_WORDS[i]}\"\n"
         "    [[ -n ${words[$word]+there} ]] && path=$word\n"
         "  done\n"
         "  case $path:$prev in\n"
         "    'lairctl report:-o') COMPREPLY=($(compgen -f -- \"$cur\")); return ;;\n"
         "  esac\n"
         "  case $prev in\n"
         "    -o|--output) COMPREPLY=($(compgen -W 'text wide json' -- \"$cur\")); return ;;\n"
         "    " +
         std::string(kTakeFiles) +
         ")\n"
         "      COMPREPLY=($(compgen -f -- \"$cur\")); return ;;\n"
         "  esac\n"
         "  COMPREPLY=($(compgen -W \"${words[$path]}\" -- \"$cur\"))\n"
         "}\n"
         "complete -F _lairctl lairctl\n";
}

// Not `path`: in zsh that is PATH.
std::string zsh(const std::vector<Node>& nodes) {
  std::string out =
      "#compdef lairctl\n"
      "# zsh completion of lairctl, made by `lairctl completion zsh`\n"
      "_lairctl() {\n"
      "  local place=lairctl further i\n"
      "  local -a found\n"
      "  local -A known\n"
      "  known=(";
  for (const Node& node : nodes) out += "\n    " + in_quotes(node.path) + " 1";
  out +=
      ")\n"
      "  for ((i = 2; i < CURRENT; i++)); do\n"
      "    further=\"$place ${words[i]}\"\n"
      "    [[ -n ${known[$further]} ]] && place=$further\n"
      "  done\n"
      "  case ${words[CURRENT-1]} in\n"
      "    " +
      std::string(kTakeFiles) +
      ") _files; return ;;\n"
      "  esac\n"
      "  case $place in\n";
  for (const Node& node : nodes) {
    out += "    " + in_quotes(node.path) + ") found=(";
    for (const auto& [word, why] : node.words) {
      std::string text = word + ":" + why;
      out += "\n      " + in_quotes(text);
    }
    out += ") ;;\n";
  }
  return out +
         "  esac\n"
         "  _describe lairctl found\n"
         "}\n"
         "_lairctl \"$@\"\n";
}

std::string fish(const std::vector<Node>& nodes) {
  std::string out =
      "# fish completion of lairctl, made by `lairctl completion fish`\n"
      "function __lairctl_at\n"
      "  set -l said (commandline -opc | string match -v -- '-*')\n"
      "  test \"$said[1..-1]\" = \"$argv\"\n"
      "end\n"
      "complete -c lairctl -f\n";
  for (const Node& node : nodes) {
    for (const auto& [word, why] : node.words) {
      out += "complete -c lairctl -n " + in_quotes("__lairctl_at " + node.path);
      if (word.rfind("--", 0) == 0) {
        out += " -l " + word.substr(2);
      } else if (word.front() == '-') {
        out += " -s " + word.substr(1);
      } else {
        out += " -a " + word;
      }
      out += " -d " + in_quotes(why) + "\n";
    }
  }
  return out;
}

// The text with every character escaped that means something to roff.
std::string roff(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '\\') {
      out += "\\e";
    } else if ((c == '.' || c == '\'') && (out.empty() || out.back() == '\n')) {
      out += std::string("\\&") + c;
    } else {
      out += c;
    }
  }
  return out;
}

// A description as paragraphs, its example set apart.
std::string man_text(const std::string& text) {
  const std::size_t example = text.find("Example: ");
  std::string plain = text.substr(0, example);
  // Each sentence begins a line, as mdoc wants it.
  for (std::size_t at = 0; (at = plain.find(". ", at)) != std::string::npos;) plain[++at] = '\n';
  std::string out = roff(plain);
  while (!out.empty() && out.back() == '\n') out.pop_back();
  out += "\n";
  if (example != std::string::npos) out += ".Dl " + text.substr(example + 9) + "\n";
  return out;
}

void man_commands(const cli::Command& app, const std::string& path, std::string& out) {
  const std::vector<const cli::Command*> below = app.subcommands();
  if (!path.empty() && below.empty()) {
    out += ".It Cm " + path;
    const std::vector<cli::OptionInfo> all = app.options();
    for (const cli::OptionInfo& option : all) {
      if (option.positional) out += " Ar " + option.name;
    }
    out += "\n" + man_text(app.about());
    std::string options;
    for (const cli::OptionInfo& option : all) {
      const bool help = !option.long_names.empty() && option.long_names.front() == "help";
      if (help || option.positional || option.group == kWhereGroup) continue;
      std::string flag;
      for (const std::string& name : option.short_names) flag += " , Fl " + name;
      for (const std::string& name : option.long_names) flag += " , Fl -" + name;
      options += ".It" + flag.substr(2);
      if (option.takes_value) options += " Ar value";
      options += "\n" + man_text(option.about);
    }
    if (!options.empty()) out += ".Bl -tag -width Ds\n" + options + ".El\n";
  }
  for (const cli::Command* sub : below) {
    man_commands(*sub, path.empty() ? sub->name() : path + " " + sub->name(), out);
  }
}

// lairctl(1), in mdoc.
std::string man(const cli::Command& app) {
  std::string out =
      ".Dd November 16, 2026\n.Dt LAIRCTL 1\n.Os\n.Sh NAME\n.Nm lairctl\n"
      ".Nd submit to, watch and steer a fleet of boards that train\n.Sh SYNOPSIS\n"
      ".Nm\n.Ar command\n.Op Ar options\n.Sh DESCRIPTION\n"
      "Data goes to standard output, messages to standard error.\n"
      "Colours appear on a terminal only, and never with\n.Ev NO_COLOR .\n"
      "Commands that end or change much ask first when there is somebody to ask, unless\n"
      ".Fl -yes\nis given.\n.Ss Where a command goes\n";
  std::string options;
  for (const cli::Command* command : app.subcommands()) {
    if (command->name() != "status") continue;  // any that has them all
    for (const cli::OptionInfo& option : command->options()) {
      if (option.group != kWhereGroup) continue;
      options += ".It Fl -" + option.long_names.front();
      if (option.takes_value) options += " Ar value";
      options += "\n" + man_text(option.about);
    }
  }
  out +=
      "The first of these that fits decides:\n.Bl -enum\n.It\n.Fl -local\nor\n.Fl -socket :\n"
      "this machine's agent.\n.It\n.Fl -node , -all , -any , -config , -fleet , -broker\nor\n"
      ".Fl -credentials :\nthe fleet.\n.It\n.Ev LAIRD_SOCKET :\nthis machine's agent.\n.It\n"
      ".Ev LAIRCTL_CONFIG , LAIRD_FLEET\nor a file\n.Pa ~/.config/laird/lairctl.json :\n"
      "the fleet.\n.It\nThis machine's agent.\n.El\n.Bl -tag -width Ds\n" +
      options + ".El\n.Sh COMMANDS\n.Bl -tag -width Ds\n";
  man_commands(app, "", out);
  return out +
         ".El\n.Sh ENVIRONMENT\n"
         "A flag wins over its variable, a variable over the file.\n.Bl -tag -width Ds\n"
         ".It Ev LAIRD_FLEET , LAIRD_BROKERS , LAIRD_CREDENTIALS\n"
         "As the flags of those names; brokers with commas between.\n"
         ".It Ev LAIRD_TLS_CA , LAIRD_TLS_CERT , LAIRD_TLS_KEY , LAIRD_SIGNING_KEY\n"
         "The files of the credentials one by one.\n"
         ".It Ev LAIRD_OPERATOR\nThe operator's name; default: that of the certificate.\n"
         ".It Ev LAIRD_SOCKET , LAIRCTL_CONFIG\nSee above.\n.El\n.Sh FILES\n"
         ".Pa ~/.config/laird/lairctl.json :\n.Bd -literal -offset indent\n"
         "{\n  \"fleet\": \"lab\",\n  \"brokers\": [\"mqtts://broker.local:8883\"],\n"
         "  \"credentials\": \"op-alice\"   // beside this file, made by lairctl pki\n}\n.Ed\n"
         ".Sh EXIT STATUS\n0 ok, 1 failed, 2 usage, 3 not found, 4 refused, 5 partial (some boards "
         "did\nnot answer), 70 a bug, 124 timed out.\n.Sh SEE ALSO\n.Xr laird.json 5 ,\n"
         ".Xr laird 8\n";
}

int completion(const cli::Command& app, const std::string& shell) {
  if (shell == "man") {
    print_text(man(app));
    return 0;
  }
  std::vector<Node> nodes;
  collect(app, "lairctl", nodes);
  const std::string text = shell == "bash"  ? bash(nodes)
                           : shell == "zsh" ? zsh(nodes)
                                            : fish(nodes);
  print_text(text);
  return 0;
}

}  // namespace

void add_completion(cli::Command& app, int& code) {
  const auto shell = std::make_shared<std::string>();
  cli::Command* command = app.add_subcommand("completion",
                                             "Print the completion script of a shell.\n"
                                             "Example: lairctl completion bash > "
                                             "~/.local/share/bash-completion/completions/lairctl");
  command->add_option("shell", *shell, "bash, zsh or fish; man: the manual page")
      ->required()
      ->check(cli::one_of({"bash", "zsh", "fish", "man"}));
  command->callback([&app, shell, &code] { code = completion(app, *shell); });
}

void add_version(cli::Command& app, int& code) {
  const auto reach = std::make_shared<Reach>();
  cli::Command* command =
      app.add_subcommand("version", "The version of lairctl, and what it speaks");
  add_output(command, *reach, false);
  command->callback([reach, &code] {
    code = 0;
    if (!reach->json()) {
      print("lairctl " LAIRD_VERSION "\n");
      return;
    }
    const Value out = Value::object()
                          .set("lairctl", LAIRD_VERSION)
                          .set("topics", "laird/v1")
                          .set("command_schema", "laird.cmd/1.0");
    print_json(out);
  });
}

}  // namespace laird::control
