#include "cell/spec.hpp"

#include <algorithm>

#include "config/schema.hpp"

namespace laird::cell {
namespace {

constexpr std::size_t kPathBytesMax = 4096;
constexpr std::size_t kWordsMax = 128;
constexpr std::size_t kWordBytesMax = 32 * 1024;
constexpr std::size_t kHiddenMax = 64;
constexpr std::size_t kNameBytesMax = 32;

void texts(Archive& ar, std::vector<std::string>& all, std::size_t count, std::size_t bytes) {
  auto size = static_cast<std::uint32_t>(all.size());
  ar(size);
  if (ar.failed()) return;
  if (ar.reading()) {
    if (size > count) return ar.fail();
    all.assign(size, {});
  }
  for (std::string& text : all) ar.text(text, bytes);
}

bool is_path(const std::string& text) {
  return text.starts_with('/') && text.size() < kPathBytesMax &&
         text.find('\0') == std::string::npos && (text + "/").find("/../") == std::string::npos;
}

// A colon divides what podman is told of a folder.
bool is_mountable(const std::string& text) {
  return is_path(text) && text.find_first_of(":,") == std::string::npos;
}

bool has_zero(const std::string& text) { return text.find('\0') != std::string::npos; }

}  // namespace

std::string_view name(Guard guard) {
  switch (guard) {
    case Guard::kUser: return "user";
    case Guard::kProcesses: return "processes";
    case Guard::kFiles: return "files";
    case Guard::kNetwork: return "network";
    case Guard::kNoSockets: return "no-sockets";
    case Guard::kPaths: return "landlock";
    case Guard::kSignals: return "landlock-signals";
    case Guard::kSystemCalls: return "seccomp";
    case Guard::kProcessLimit: return "process-limit";
  }
  return "unknown";
}

std::string describe(Guards guards) {
  std::string out;
  for (int i = 0; i < kGuards; ++i) {
    const auto guard = static_cast<Guard>(i);
    if (guards.has(guard)) out += (out.empty() ? "" : ", ") + std::string(name(guard));
  }
  return out.empty() ? "nothing" : out;
}

std::string_view name(Attempt attempt) {
  switch (attempt) {
    case Attempt::kReadKey: return "read the board's key";
    case Attempt::kReadJournal: return "read or write the journal";
    case Attempt::kWriteSettings: return "write the board's settings";
    case Attempt::kWriteOtherTask: return "write another task's folder";
    case Attempt::kTraceAgent: return "trace the agent";
    case Attempt::kReadMemory: return "read the agent's memory";
    case Attempt::kUseControlSocket: return "use the control socket";
    case Attempt::kSetCap: return "change the power cap";
    case Attempt::kLeaveGroup: return "leave its control group";
    case Attempt::kOutliveCancel: return "live on after its task has ended";
    case Attempt::kOutliveAgent: return "live on after its agent has ended";
    case Attempt::kKillAgent: return "kill the agent";
    case Attempt::kForkWithoutEnd: return "fork without end";
    case Attempt::kFillDisk: return "fill the disk";
  }
  return "unknown";
}

bool is_refused(Attempt attempt, Guards guards) {
  const bool user = guards.has(Guard::kUser);
  const bool files = guards.has(Guard::kFiles);
  const bool paths = guards.has(Guard::kPaths);
  const bool apart = guards.has(Guard::kProcesses) || guards.has(Guard::kSignals) || user;
  switch (attempt) {
    case Attempt::kReadKey:
    case Attempt::kReadJournal:
    case Attempt::kWriteSettings:
    case Attempt::kLeaveGroup: return user || files || paths;
    // Trainers share one user, so what keeps them from each other is what they see.
    case Attempt::kWriteOtherTask: return files || paths;
    case Attempt::kTraceAgent:
    case Attempt::kReadMemory: return true;
    // Landlock does not look at connections to a socket's path.
    case Attempt::kUseControlSocket:
    case Attempt::kSetCap: return user || files || guards.has(Guard::kNoSockets);
    case Attempt::kOutliveCancel:
    case Attempt::kOutliveAgent:
    case Attempt::kKillAgent: return apart;
    case Attempt::kForkWithoutEnd: return guards.has(Guard::kProcessLimit);
    case Attempt::kFillDisk: return files || paths;
  }
  return false;
}

void Spec::archive(Archive& ar) {
  texts(ar, argv, kWordsMax, kWordBytesMax);
  texts(ar, environment, kWordsMax, kWordBytesMax);
  ar.text(tasks_folder, kPathBytesMax);
  ar.text(task, kNameBytesMax);
  ar.text(user, kNameBytesMax);
  texts(ar, hidden, kHiddenMax, kPathBytesMax);
  ar(network, socket_is_input, namespaces, private_tmp);
  ar(limits);
  ar(container);
  ar.text(containers_folder, kPathBytesMax);
}

void Container::archive(Archive& ar) {
  ar.text(image, kPathBytesMax);
  texts(ar, engine, kWordsMax, kWordBytesMax);
  texts(ar, command, kWordsMax, kWordBytesMax);
  texts(ar, data_roots, kHiddenMax, kPathBytesMax);
}

namespace {

Status check_container(const Spec& spec) {
  const Container& container = spec.container;
  if (!spec.namespaces) {
    return fail(Code::kInvalid, "a container needs cell.namespaces, which is false");
  }
  if (container.engine.empty() || container.engine != spec.argv) {
    return fail(Code::kInvalid, "a container without a program that runs it");
  }
  if (!is_mountable(spec.tasks_folder) || !is_mountable(spec.containers_folder) ||
      !std::all_of(container.data_roots.begin(), container.data_roots.end(), is_mountable)) {
    return fail(Code::kInvalid,
                "a container sees only folders whose absolute path has no ':' and no ','");
  }
  if (std::any_of(container.command.begin(), container.command.end(), has_zero)) {
    return fail(Code::kInvalid, "a zero byte in a trainer's arguments");
  }
  return {};
}

}  // namespace

Status check(const Spec& spec) {
  if (!std::all_of(spec.hidden.begin(), spec.hidden.end(), is_path)) {
    return fail(Code::kInvalid, "what is hidden is named by its absolute path");
  }
  if (spec.argv.empty()) return {};
  if (!is_path(spec.tasks_folder)) return fail(Code::kInvalid, "no folder of tasks");
  if (!config::is_name(spec.task)) return fail(Code::kInvalid, "no task has such a name");
  if (!is_path(spec.argv.front())) {
    return fail(Code::kInvalid, "a trainer is named by its absolute path");
  }
  if (std::any_of(spec.argv.begin(), spec.argv.end(), has_zero) ||
      std::any_of(spec.environment.begin(), spec.environment.end(), has_zero)) {
    return fail(Code::kInvalid, "a zero byte in a trainer's arguments");
  }
  return spec.is_container() ? check_container(spec) : Status{};
}

}  // namespace laird::cell
