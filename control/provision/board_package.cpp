#include "control/provision/board_package.hpp"

#include <algorithm>

#include "control/provision/host_program.hpp"

namespace laird::control {
namespace {

constexpr const char* kDpkgDeb = "/usr/bin/dpkg-deb";

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kBlank = " \t\r\n";
  const std::size_t first = text.find_first_not_of(kBlank);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kBlank) - first + 1);
}

std::vector<std::string_view> divided(std::string_view text, char by) {
  std::vector<std::string_view> out;
  for (;;) {
    const std::size_t end = text.find(by);
    if (const std::string_view part = trimmed(text.substr(0, end)); !part.empty()) {
      out.push_back(part);
    }
    if (end == std::string_view::npos) return out;
    text.remove_prefix(end + 1);
  }
}

// "libc6:any (>= 2.27)"
Dependency parse_dependency(std::string_view text) {
  Dependency out;
  out.name = std::string(text.substr(0, text.find_first_of(" :(")));
  const std::size_t at = text.find(">=");
  if (at != std::string_view::npos) {
    out.least = std::string(trimmed(text.substr(at + 2, text.find(')') - at - 2)));
  }
  return out;
}

Result<std::string> field(const std::string& file, const std::string& name) {
  const auto ran = run_host_program({kDpkgDeb, "--field", file, name});
  LAIRD_TRY(ran);
  if (ran->code != 0)
    return fail(Code::kInvalid, file + ": " + std::string(trimmed(ran->messages)));
  return std::string(trimmed(ran->output));
}

// The name in a line of `tar -tv`: mode, owner, size, day, time, "./usr/bin/laird", " -> to".
std::string_view name_in(std::string_view line) {
  for (int column = 0; column < 5; ++column) {
    line = trimmed(line);
    const std::size_t end = line.find(' ');
    if (end == std::string_view::npos) return {};
    line.remove_prefix(end);
  }
  line = trimmed(line);
  line = line.substr(0, line.find(" -> "));
  if (line.starts_with("./")) line.remove_prefix(2);
  return line;
}

bool leads_out(std::string_view name) {
  if (name.starts_with('/')) return true;
  const auto parts = divided(name, '/');
  return std::find(parts.begin(), parts.end(), "..") != parts.end();
}

bool is_below(std::string_view path, std::string_view folder) {
  return path.starts_with(folder) && (path.size() == folder.size() || path[folder.size()] == '/');
}

}  // namespace

std::vector<std::vector<Dependency>> parse_depends(std::string_view text) {
  std::vector<std::vector<Dependency>> out;
  for (const std::string_view entry : divided(text, ',')) {
    std::vector<Dependency> choices;
    for (const std::string_view choice : divided(entry, '|')) {
      choices.push_back(parse_dependency(choice));
    }
    out.push_back(std::move(choices));
  }
  return out;
}

Result<std::vector<std::string>> parse_folders(std::string_view listing) {
  std::vector<std::string> out;
  for (const std::string_view line : divided(listing, '\n')) {
    std::string_view name = name_in(line);
    if (leads_out(name)) return fail(Code::kInvalid, "names " + std::string(name));
    const std::size_t slash = name.rfind('/');
    if (slash == std::string_view::npos) continue;
    out.emplace_back(name.substr(0, slash));
  }
  std::sort(out.begin(), out.end());
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return out;
}

Result<BoardPackage> read_board_package(const std::string& file) {
  BoardPackage package;
  package.file = file;
  const auto name = field(file, "Package");
  LAIRD_TRY(name);
  package.name = *name;
  if (package.name != "laird") {
    return fail(Code::kInvalid, file + " is a package of '" + package.name + "', not of laird");
  }
  const auto version = field(file, "Version");
  LAIRD_TRY(version);
  package.version = *version;
  const auto architecture = field(file, "Architecture");
  LAIRD_TRY(architecture);
  package.architecture = *architecture;
  const auto depends = field(file, "Depends");
  LAIRD_TRY(depends);
  package.depends = parse_depends(*depends);
  const auto listing = run_host_program({kDpkgDeb, "--contents", file});
  LAIRD_TRY(listing);
  if (listing->code != 0) return fail(Code::kCorrupt, file + ": " + listing->messages);
  auto folders = parse_folders(listing->output);
  if (!folders) return fail(folders.error().code, file + " " + folders.error().context);
  package.folders = std::move(*folders);
  return package;
}

bool is_documentation(std::string_view path) {
  return is_below(path, "/usr/share/doc") || is_below(path, "/usr/share/man") ||
         is_below(path, "/usr/share/lintian");
}

Result<std::vector<std::string>> parse_verify(std::string_view said) {
  std::vector<std::string> out;
  // "??5??????   /usr/bin/laird", "??5?????? c /etc/x", "missing     /usr/bin/laird".
  for (const std::string_view line : divided(said, '\n')) {
    const std::size_t path = line.find(" /");
    if (path == std::string_view::npos) {
      return fail(Code::kIo, "dpkg --verify said: " + std::string(line));
    }
    out.emplace_back(line.substr(path + 1));
  }
  return out;
}

Result<std::string> control_file(const std::string& file, const std::string& name) {
  const auto ran = run_host_program({kDpkgDeb, "--info", file, name});
  LAIRD_TRY(ran);
  return ran->code == 0 ? ran->output : std::string();
}

}  // namespace laird::control
