// pull: the files of a promoted model, or of a task's folder, from a board into a folder here.
//
// A file comes in pieces, each with its SHA-256, into NAME.part, beside which NAME.part.version
// says of which version it is. Whatever interrupts it, the next pull goes on where this one ended,
// as long as the board still has that version. Where the board knows the hash of the whole file,
// that is checked as well before the file gets its name.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <functional>
#include <thread>

#include "base/sha256.hpp"
#include "config/schema.hpp"
#include "control/commands/commands.hpp"
#include "control/fleet/local_client.hpp"
#include "control/fleet/reach.hpp"
#include "control/screen/output.hpp"
#include "mqtt/codec/base64.hpp"
#include "os/fd.hpp"
#include "os/whole_file.hpp"

namespace laird::control {
namespace {

using json::Kind;
using json::Value;

// Asks the board that has the files.
using Ask = std::function<Result<Value>(const Value& body)>;

constexpr int kTriesMax = 5;  // of one piece
constexpr std::int64_t kWaitMsMax = 5000;
constexpr std::size_t kFilesMax = 64;
constexpr std::size_t kVersionBytesMax = 64;

struct RemoteFile {
  std::string name;
  std::int64_t bytes = 0;
  std::string sha256;  // empty: the board does not know it
  std::string version;
};

std::string text_in(const Value& object, std::string_view key) {
  const Value* found = object.find(key, Kind::kString);
  return found == nullptr ? "" : found->as_string();
}

std::int64_t integer_in(const Value& object, std::string_view key) {
  const Value* found = object.find(key, Kind::kInteger);
  return found == nullptr ? -1 : found->as_integer();
}

// What a board says becomes a path here.
bool is_file_name(const std::string& name) {
  return !name.empty() && name.size() <= 200 && name.front() != '.' &&
         name.find('/') == name.npos && name.find('\0') == name.npos;
}

Result<std::vector<RemoteFile>> list_files(const Ask& ask, const std::string& name) {
  const Result<Value> answer = ask(Value::object().set("name", name));
  LAIRD_TRY(answer);
  const Value* files = answer->find("files", Kind::kArray);
  if (files == nullptr || files->items().size() > kFilesMax) {
    return fail(Code::kInvalid, "the board's answer is no list of files");
  }
  std::vector<RemoteFile> out;
  for (const Value& file : files->items()) {
    RemoteFile one{text_in(file, "file"), integer_in(file, "bytes"), text_in(file, "sha256"),
                   text_in(file, "version")};
    if (!is_file_name(one.name) || one.bytes < 0 || one.version.empty()) {
      return fail(Code::kInvalid, "the board's answer is no list of files");
    }
    out.push_back(std::move(one));
  }
  return out;
}

// The bytes from `from` on, checked. Waits when the board says so, and asks again when it is
// silent.
Result<std::string> fetch(const Ask& ask, const std::string& name, const RemoteFile& file,
                          std::int64_t from) {
  const Value body = Value::object()
                         .set("name", name)
                         .set("file", file.name)
                         .set("version", file.version)
                         .set("from", from);
  for (int tries = 0;;) {
    const Result<Value> answer = ask(body);
    if (!answer) {
      const bool silent = answer.error().code == Code::kUnavailable;
      if (!silent || ++tries >= kTriesMax) return tl::make_unexpected(answer.error());
      continue;
    }
    if (const std::int64_t wait = integer_in(*answer, "wait_ms"); wait >= 0) {
      std::this_thread::sleep_for(std::chrono::milliseconds(std::min(wait, kWaitMsMax)));
      continue;
    }
    Result<std::string> bytes = mqtt::from_base64(text_in(*answer, "bytes64"));
    LAIRD_TRY(bytes);
    Sha256 hash;
    hash.add(*bytes);
    if (integer_in(*answer, "from") == from && hash.hex() == text_in(*answer, "sha256")) {
      return bytes;
    }
    if (++tries >= kTriesMax) {
      return fail(Code::kCorrupt, file.name + ": a piece does not match its hash");
    }
  }
}

Result<std::string> hash_of(const std::string& path) {
  const Fd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd) return fail_errno(errno, path);
  Sha256 hash;
  std::vector<char> block(1 << 16);
  for (;;) {
    const ssize_t n = ::read(fd.get(), block.data(), block.size());
    if (n < 0) return fail_errno(errno, path);
    if (n == 0) return hash.hex();
    hash.add(std::string_view(block.data(), static_cast<std::size_t>(n)));
  }
}

// Where to go on in the file that an earlier pull began; a file of another version begins anew.
Result<Fd> open_part(const std::string& part, const RemoteFile& file, std::int64_t& have) {
  const std::string mark = part + ".version";
  const Result<std::string> version = config::read_file(mark, kVersionBytesMax + 1);
  const bool same = version && *version == file.version;
  Fd out(::open(part.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW | (same ? 0 : O_TRUNC),
                0644));
  struct stat info {};
  if (!out || ::fstat(out.get(), &info) != 0) return fail_errno(errno, part);
  if (!same) LAIRD_TRY(write_whole_file(mark, file.version, {.mode = 0644}));
  have = info.st_size;
  if (have > file.bytes) {
    if (::ftruncate(out.get(), 0) != 0) return fail_errno(errno, part);
    have = 0;
  }
  if (::lseek(out.get(), have, SEEK_SET) < 0) return fail_errno(errno, part);
  return out;
}

Status write_all(int fd, std::string_view bytes, const std::string& path) {
  while (!bytes.empty()) {
    const ssize_t n = ::write(fd, bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return fail_errno(errno, path);
    bytes.remove_prefix(static_cast<std::size_t>(n));
  }
  return {};
}

Status pull_file(const Ask& ask, const std::string& name, const RemoteFile& file,
                 const std::string& folder) {
  const std::string path = folder + "/" + file.name;
  if (!file.sha256.empty()) {
    const Result<std::string> here = hash_of(path);
    if (here && *here == file.sha256) return {};  // came with an earlier pull
  }
  const std::string part = path + ".part";
  std::int64_t have = 0;
  Result<Fd> out = open_part(part, file, have);
  LAIRD_TRY(out);
  if (have > 0) say(file.name + ": going on at " + std::to_string(have) + " bytes");
  while (have < file.bytes) {
    const Result<std::string> bytes = fetch(ask, name, file, have);
    LAIRD_TRY(bytes);
    if (bytes->empty()) return fail(Code::kCorrupt, file.name + ": it ends too early");
    LAIRD_TRY(write_all(out->get(), *bytes, part));
    have += static_cast<std::int64_t>(bytes->size());
  }
  if (::fsync(out->get()) != 0) return fail_errno(errno, part);
  if (!file.sha256.empty()) {
    const Result<std::string> hash = hash_of(part);
    LAIRD_TRY(hash);
    if (*hash != file.sha256) {
      ::unlink(part.c_str());
      return fail(Code::kCorrupt, file.name + ": what came is not the whole file; pull again");
    }
  }
  if (::rename(part.c_str(), path.c_str()) != 0) return fail_errno(errno, path);
  ::unlink((part + ".version").c_str());
  return sync_folder(folder);
}

int pull_all(const Ask& ask, const std::string& name, const std::string& folder) {
  const auto files = list_files(ask, name);
  if (!files) return complain(files.error());
  std::error_code failed;
  std::filesystem::create_directories(folder, failed);
  if (failed) return complain({Code::kIo, "cannot make " + folder + ": " + failed.message()});
  for (const RemoteFile& file : *files) {
    if (const Status s = pull_file(ask, name, file, folder); !s) return complain(s.error());
    print("%s/%s  %lld bytes\n", folder.c_str(), file.name.c_str(),
          static_cast<long long>(file.bytes));
  }
  return 0;
}

Result<std::string> board_for(FleetClient& client, const Reach& reach, const std::string& name) {
  const FleetView& view = client.view();
  if (!reach.node.empty()) {
    LAIRD_TRY(check_board(view, reach.node));
    return reach.node;
  }
  if (view.boards().size() == 1) return view.boards().begin()->first;
  Result<std::string> board = board_of_task(view, name);
  if (!board) {
    return fail(
        board.error().code,
        board.error().context + "; name the board with --node (`lairctl models` lists them)");
  }
  return board;
}

int pull(const Reach& reach, const std::string& name, const std::string& folder) {
  const auto where = reach.where();
  if (!where) return complain(where.error());
  if (where->local) {
    const Ask ask_here = [&](const Value& body) -> Result<Value> {
      Value request = local_request("pull");
      for (const auto& [key, value] : body.members()) request.set(key, value);
      return ask(where->socket, request, where->timeout);
    };
    return pull_all(ask_here, name, folder);
  }
  const auto client = FleetClient::open(where->fleet, Listen::kStates, where->timeout);
  if (!client) return complain(client.error());
  const auto board = board_for(**client, reach, name);
  if (!board) return complain(board.error());
  int refused = 0;
  const Ask ask_board = [&](const Value& body) -> Result<Value> {
    const auto reply = (*client)->ask(*board, "pull", body, where->timeout);
    LAIRD_TRY(reply);
    refused = exit_code_of(*reply);
    if (refused != 0) return fail(Code::kRefused, *board + ": " + reply->text);
    return reply->data;
  };
  const int code = pull_all(ask_board, name, folder);
  return code != 0 && refused != 0 ? refused : code;
}

}  // namespace

void add_pull(cli::Command& app, int& code) {
  const auto reach = std::make_shared<Reach>();
  const auto name = std::make_shared<std::string>();
  const auto folder = std::make_shared<std::string>();
  cli::Command* command = app.add_subcommand(
      "pull",
      "Fetch a promoted model, or the files of a task, from a board; goes on where it was "
      "interrupted.\n"
      "Example: lairctl pull night models/night --node n-07");
  command->add_option("name", *name, "The model or task")->required();
  command->add_option("dir", *folder, "Folder to put the files into")->required();
  command->add_option("--node", reach->node,
                      "The board that has it (default: the one whose topics name the task)");
  add_access(command, *reach);
  command->callback([reach, name, folder, &code] { code = pull(*reach, *name, *folder); });
}

}  // namespace laird::control
