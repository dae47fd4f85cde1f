// push: a data file, or all files of a model, from here to boards.
//
// A file goes in pieces. The board says how much of it has come, so what was interrupted goes on
// there, also from another machine; and it takes the file only when the whole of it has its hash.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <filesystem>
#include <thread>

#include "base/sha256.hpp"
#include "config/schema.hpp"
#include "control/commands/commands.hpp"
#include "control/commands/models/targets.hpp"
#include "control/screen/output.hpp"
#include "models/model_file.hpp"
#include "mqtt/codec/base64.hpp"
#include "os/fd.hpp"

namespace laird::control {
namespace {

using json::Kind;
using json::Value;

constexpr std::size_t kPieceBytes = 24 * 1024;
constexpr int kTriesMax = 5;
constexpr std::int64_t kWaitMsMax = 5000;

struct Options {
  TargetOptions to;
  std::string path;
  std::string model;
};

struct LocalFile {
  std::string path;
  std::string name;
  std::int64_t bytes = 0;
  std::string sha256;
};

Result<LocalFile> look_at(const std::string& path) {
  LocalFile out;
  out.path = path;
  out.name = std::filesystem::path(path).filename().string();
  const Fd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  struct stat info {};
  if (!fd || ::fstat(fd.get(), &info) != 0) return fail_errno(errno, path);
  if (!S_ISREG(info.st_mode)) return fail(Code::kInvalid, path + " is no file");
  if (info.st_size == 0) return fail(Code::kInvalid, path + " is empty");
  Sha256 hash;
  std::vector<char> block(1 << 16);
  for (ssize_t n = 0; (n = ::read(fd.get(), block.data(), block.size())) != 0;) {
    if (n < 0) return fail_errno(errno, path);
    hash.add(std::string_view(block.data(), static_cast<std::size_t>(n)));
    out.bytes += n;
  }
  out.sha256 = hash.hex();
  return out;
}

// model.json comes last: a board that has it has the files that it tells of.
Result<std::vector<LocalFile>> files_of_model(const std::string& folder) {
  const std::string path = folder + "/model.json";
  const Result<std::string> text = config::read_file(path, models::kModelJsonBytesMax);
  LAIRD_TRY(text);
  const Result<models::Model> model = models::parse_model(*text, path);
  LAIRD_TRY(model);
  std::vector<models::FileRef> parts = {model->onnx};
  if (model->onnx_fp16) parts.push_back(*model->onnx_fp16);
  if (model->held_out) parts.push_back(model->held_out->file);
  std::vector<LocalFile> out;
  for (const models::FileRef& part : parts) {
    Result<LocalFile> file = look_at(folder + "/" + part.file);
    LAIRD_TRY(file);
    if (file->sha256 != part.sha256) {
      return fail(Code::kCorrupt, file->path + " is not the file that model.json tells of");
    }
    out.push_back(std::move(*file));
  }
  Result<LocalFile> about = look_at(path);
  LAIRD_TRY(about);
  out.push_back(std::move(*about));
  return out;
}

Result<std::vector<LocalFile>> files_of(const Options& options) {
  std::error_code error;
  const bool is_folder = std::filesystem::is_directory(options.path, error);
  if (options.model.empty() && is_folder) {
    return fail(Code::kInvalid,
                options.path + " is a folder: with --model NAME its model goes, else one file");
  }
  if (!options.model.empty()) {
    return files_of_model(
        is_folder ? options.path : std::filesystem::absolute(options.path).parent_path().string());
  }
  Result<LocalFile> file = look_at(options.path);
  LAIRD_TRY(file);
  return std::vector<LocalFile>{std::move(*file)};
}

std::int64_t integer_in(const Value& object, std::string_view key) {
  const Value* found = object.find(key, Kind::kInteger);
  return found == nullptr ? -1 : found->as_integer();
}

class Push {
 public:
  Push(const Target& to, const LocalFile& file, const std::string& model) : to_(to), file_(file) {
    body_ =
        Value::object().set("file", file.name).set("bytes", file.bytes).set("sha256", file.sha256);
    if (!model.empty()) body_.set("model", model);
  }

  Status run() {
    const Fd fd(::open(file_.path.c_str(), O_RDONLY | O_CLOEXEC));
    if (!fd) return fail_errno(errno, file_.path);
    Result<Value> answer = ask(body_);
    LAIRD_TRY(answer);
    std::int64_t from = std::max<std::int64_t>(integer_in(*answer, "have"), 0);
    if (from > 0) {
      say(to_.shown() + ": " + file_.name + ": going on at " + std::to_string(from) + " bytes");
    }
    while (!is_done(*answer)) {
      Result<Value> piece = piece_at(fd.get(), from);
      LAIRD_TRY(piece);
      answer = ask(*piece);
      LAIRD_TRY(answer);
      if (const std::int64_t wait = integer_in(*answer, "wait_ms"); wait >= 0) {
        std::this_thread::sleep_for(std::chrono::milliseconds(std::min(wait, kWaitMsMax)));
        continue;
      }
      const std::int64_t have = integer_in(*answer, "have");
      if (is_done(*answer)) break;
      if (have < 0 || have > file_.bytes) {
        return fail(Code::kInvalid, "the board's answer makes no sense");
      }
      from = have;
    }
    return {};
  }

 private:
  static bool is_done(const Value& answer) { return answer.find("done", Kind::kBool) != nullptr; }

  // Again when nothing comes back: a piece that came twice changes nothing.
  Result<Value> ask(const Value& body) {
    for (int tries = 1;; ++tries) {
      Result<Value> answer = to_.ask("push", body);
      if (answer || answer.error().code != Code::kUnavailable || tries >= kTriesMax) return answer;
    }
  }

  // Behind the end there is none: the board is asked whether the file is in its place now.
  Result<Value> piece_at(int fd, std::int64_t from) {
    std::string bytes(kPieceBytes, '\0');
    const ssize_t n = ::pread(fd, bytes.data(), bytes.size(), from);
    if (n < 0) return fail_errno(errno, file_.path);
    if (n == 0) return Value(body_);
    bytes.resize(static_cast<std::size_t>(n));
    Value out = body_;
    return out.set("from", from).set("bytes64", mqtt::to_base64(bytes));
  }

  const Target& to_;
  const LocalFile& file_;
  Value body_;
};

int push(const Options& options) {
  const auto files = files_of(options);
  if (!files) return complain(files.error());
  const auto targets = open_targets(options.to);
  if (!targets) return complain(targets.error());
  std::size_t done = 0;
  int code = 0;
  for (const Target& board : targets->boards) {
    Status ok;
    for (const LocalFile& file : *files) {
      ok = Push(board, file, options.model).run();
      if (!ok) break;
      print_text(board.shown() + ": " + (options.model.empty() ? "" : options.model + "/") +
                 file.name + "  " + std::to_string(file.bytes) + " bytes\n");
    }
    if (ok) {
      ++done;
    } else {
      code = complain({ok.error().code, board.shown() + ": " + ok.error().context});
    }
  }
  if (targets->boards.size() > 1) {
    say("pushed to " + std::to_string(done) + " of " + std::to_string(targets->boards.size()));
  }
  return code != 0 && done > 0 ? kPartial : code;
}

}  // namespace

void add_push(cli::Command& app, int& code) {
  const auto options = std::make_shared<Options>();
  cli::Command* command = app.add_subcommand(
      "push",
      "Bring a data file, or a model with all its files, to boards; goes on where it was "
      "interrupted.\n"
      "Examples: lairctl push rows.csv --node n-07\n"
      "          lairctl push out/ --model faces --kind orin-nano-8gb");
  command->add_option("path", options->path, "A file; with --model the folder of model.json")
      ->required();
  command->add_option("--model", options->model, "Push the model under this name");
  add_targets(*command, options->to);
  command->callback([options, &code] { code = push(*options); });
}

}  // namespace laird::control
