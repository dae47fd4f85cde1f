#include "agent/models/model_store.hpp"

#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <filesystem>
#include <vector>

#include "base/sha256.hpp"
#include "config/schema.hpp"
#include "mqtt/codec/base64.hpp"
#include "os/child_process.hpp"
#include "promote/shelf/shelf.hpp"

namespace laird::agent {
namespace {

namespace fs = std::filesystem;
using json::Kind;
using json::Value;

constexpr std::size_t kModelsTold = 64;
constexpr std::size_t kFilesTold = 64;
constexpr std::size_t kJobsMax = core::kTasksEndedKept;
constexpr std::size_t kModelJsonMax = std::size_t{1} << 20;
// What goes out to operators: at most so much a second, and so much at once.
constexpr std::int64_t kBytesPerSecond = 2 * 1024 * 1024;
constexpr std::int64_t kBurstBytes = 256 * 1024;

Value member(const Value& object, std::string_view key) {
  const Value* found = object.find(key);
  return found == nullptr ? Value() : *found;
}

std::string text_of(const Value& object, std::string_view key) {
  const Value* found = object.find(key, Kind::kString);
  return found == nullptr ? "" : found->as_string();
}

// A name that came from outside becomes part of a path.
bool is_file_name(const std::string& name) {
  return !name.empty() && name.size() <= 255 && name.front() != '.' &&
         name.find('/') == name.npos && name.find('\0') == name.npos;
}

// What was tried and taken, from promoted.json.
Value chosen_attempt(const Value& about) {
  const Value* attempts = about.find("attempts", Kind::kArray);
  if (attempts == nullptr) return {};
  for (const Value& attempt : attempts->items()) {
    if (text_of(attempt, "precision") == text_of(about, "choice")) return attempt;
  }
  return {};
}

Value accuracy_of(const Value& attempt, const std::string& folder) {
  const Value verdict = member(attempt, "verdict");
  if (verdict.is(Kind::kObject)) return member(verdict, "accuracy");
  const Result<std::string> text = config::read_file(folder + "/model.json", kModelJsonMax);
  if (!text) return {};
  const Result<Value> model = json::parse(*text, "model.json");
  if (!model) return {};
  const Value held_out = member(*model, "held_out");
  return held_out.is(Kind::kObject) ? member(held_out, "accuracy") : Value();
}

std::int64_t changed_ms(const std::string& path) {
  struct stat info {};
  if (::stat(path.c_str(), &info) != 0) return 0;
  return std::int64_t{info.st_mtim.tv_sec} * 1000 + info.st_mtim.tv_nsec / 1'000'000;
}

Value row_of(const std::string& name, const std::string& shelf, const std::string& version) {
  const Result<Value> about = promote::promoted_of(shelf, version);
  if (!about) return Value::object().set("model", name).set("problem", about.error().context);
  const std::string folder = shelf + "/versions/" + version;
  const Value attempt = chosen_attempt(*about);
  const Value timings = member(attempt, "timings");
  const Value first = timings.is(Kind::kArray) && !timings.items().empty() ? timings.items().front()
                                                                           : Value::object();
  std::int64_t bytes = 0;
  std::int64_t model_bytes = 0;
  const Value files = member(*about, "files");
  if (files.is(Kind::kArray)) {
    for (const Value& file : files.items()) {
      const Value* size = file.find("bytes", Kind::kInteger);
      if (size == nullptr) continue;
      if (text_of(file, "file") == "engine") bytes = size->as_integer();
      if (text_of(file, "file") == "model.onnx") model_bytes = size->as_integer();
    }
  }
  return Value::object()
      .set("model", name)
      .set("version", version)
      .set("before", member(*about, "before"))
      .set("choice", text_of(*about, "choice"))
      .set("reason", member(*about, "reason"))
      .set("accuracy", accuracy_of(attempt, folder))
      .set("latency_us_p50", member(first, "latency_us_p50"))
      .set("latency_us_p99", member(first, "latency_us_p99"))
      .set("energy_mj_per_row", member(*about, "energy_mj_per_row"))
      .set("no_energy", member(*about, "no_energy"))
      .set("bytes", bytes > 0 ? bytes : model_bytes)
      .set("promoted_ms", changed_ms(folder + "/" + std::string(promote::kPromotedJson)));
}

std::vector<std::string> entries_of(const std::string& folder, std::size_t most) {
  std::vector<std::string> out;
  std::error_code failed;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, failed)) {
    const std::string name = entry.path().filename().string();
    if (is_file_name(name)) out.push_back(name);
    if (out.size() >= 16 * most) break;
  }
  std::sort(out.begin(), out.end());
  if (out.size() > most) out.resize(most);
  return out;
}

// A plain file in a folder whose owner may be anybody: links lead nowhere.
Result<Fd> open_file(const std::string& folder, const std::string& name, struct stat& info) {
  const Fd at(::open(folder.c_str(), O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!at) return fail_errno(errno, folder);
  Fd out(::openat(at.get(), name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  if (!out || ::fstat(out.get(), &info) != 0) return fail_errno(errno, name);
  if (!S_ISREG(info.st_mode)) return fail(Code::kInvalid, name + " is no file");
  return out;
}

// Another as soon as the file is.
std::string version_of(const struct stat& info) {
  return std::to_string(info.st_size) + "-" + std::to_string(info.st_mtim.tv_sec) + "." +
         std::to_string(info.st_mtim.tv_nsec);
}

Value file_row(const std::string& name, std::int64_t bytes, Value sha256, std::string version) {
  return Value::object()
      .set("file", name)
      .set("bytes", bytes)
      .set("sha256", std::move(sha256))
      .set("version", std::move(version));
}

}  // namespace

ModelStore::ModelStore(Loop& loop, std::string state_dir, std::string promoter, Log log)
    : loop_(loop),
      state_dir_(std::move(state_dir)),
      promoter_(std::move(promoter)),
      log_(std::move(log)),
      allowance_(kBytesPerSecond, kBurstBytes) {}

ModelStore::~ModelStore() {
  if (child_ <= 0) return;
  loop_.forget(child_end_.get());
  ::kill(-child_, SIGKILL);
  ::waitpid(child_, nullptr, 0);
}

std::string ModelStore::shelf_of(const std::string& model) const {
  return state_dir_ + "/models/" + model;
}

std::string ModelStore::task_folder(const std::string& task) const {
  return state_dir_ + "/tasks/" + task;
}

void ModelStore::take(const core::Task& task) {
  if (task.spec.promotes.empty() || task.outcome != core::Outcome::kSucceeded) return;
  if (promoter_.empty() || jobs_.size() >= kJobsMax) return;
  jobs_.push_back(
      {task.spec.folder(), std::to_string(task.key) + "-" + std::to_string(task.accepted_at)});
  if (child_ == 0) start_next();
}

void ModelStore::take_all(const core::State& state) {
  for (const core::Task& task : state.ended) take(task);
}

void ModelStore::start_next() {
  while (child_ == 0 && !jobs_.empty()) {
    const Job& job = jobs_.front();
    int ends[2];
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) return;
    child_end_ = Fd(ends[0]);
    const Fd theirs(ends[1]);
    ChildSpec spec;
    spec.argv = {
        promoter_, "take", task_folder(job.model) + "/promoted", "--out", shelf_of(job.model),
        "--id",    job.id};
    spec.input = theirs.get();
    spec.error = ChildSpec::kInherit;
    spec.own_session = true;
    spec.dies_with_parent = true;
    const Result<pid_t> started = start_child(spec);
    if (!started) {
      log_(LogLevel::kWarning, "model " + job.model + ": " + started.error().context);
      jobs_.pop_front();
      continue;
    }
    child_ = *started;
    static_cast<void>(loop_.watch(child_end_.get(), EPOLLIN, [this](std::uint32_t) { end_job(); }));
  }
}

void ModelStore::end_job() {
  loop_.forget(child_end_.get());
  child_end_.reset();
  int status = 0;
  while (::waitpid(child_, &status, 0) < 0 && errno == EINTR) {
  }
  child_ = 0;
  const Job job = jobs_.front();
  jobs_.pop_front();
  const bool done = WIFEXITED(status) && WEXITSTATUS(status) == 0;
  log_(done ? LogLevel::kInfo : LogLevel::kWarning,
       "model " + job.model +
           (done ? " stands in " + shelf_of(job.model)
                 : ": it was not taken from the task's folder; the line above "
                   "says why"));
  start_next();
}

Value ModelStore::list() const {
  Value out = Value::array();
  for (const std::string& name : entries_of(state_dir_ + "/models", kModelsTold)) {
    const std::string shelf = shelf_of(name);
    if (const auto current = promote::current_of(shelf)) out.add(row_of(name, shelf, *current));
  }
  return out;
}

Result<std::string> ModelStore::roll_back(const std::string& model, const std::string& from) {
  const Error none{Code::kNotFound, "no model '" + model + "' stands on this board"};
  if (!is_file_name(model)) return tl::make_unexpected(none);
  const auto current = promote::current_of(shelf_of(model));
  if (!current) return tl::make_unexpected(none);
  if (*current != from) {
    return fail(Code::kRefused, "version " + *current + " of '" + model + "' is current, not " +
                                    from + "; look again");
  }
  Result<promote::Shelf> shelf = promote::Shelf::open(shelf_of(model));
  LAIRD_TRY(shelf);
  return shelf->rollback();
}

Result<Value> ModelStore::files(const std::string& name) const {
  const Error none{Code::kNotFound, "neither a model nor a task's folder '" + name + "' is here"};
  if (!is_file_name(name)) return tl::make_unexpected(none);
  Value files = Value::array();
  if (const auto current = promote::current_of(shelf_of(name))) {
    const Result<Value> about = promote::promoted_of(shelf_of(name), *current);
    LAIRD_TRY(about);
    const Value known = member(*about, "files");
    if (!known.is(Kind::kArray)) {
      return fail(Code::kCorrupt, "promoted.json of '" + name + "' tells of no files");
    }
    for (const Value& file : known.items()) {
      const Value* bytes = file.find("bytes", Kind::kInteger);
      if (bytes == nullptr || files.items().size() >= kFilesTold) continue;
      files.add(
          file_row(text_of(file, "file"), bytes->as_integer(), member(file, "sha256"), *current));
    }
    return Value::object().set("kind", "model").set("files", std::move(files));
  }
  for (const std::string& file : entries_of(task_folder(name), kFilesTold)) {
    struct stat info {};
    if (!open_file(task_folder(name), file, info)) continue;
    files.add(file_row(file, info.st_size, Value(), version_of(info)));
  }
  if (files.items().empty()) return tl::make_unexpected(none);
  return Value::object().set("kind", "task").set("files", std::move(files));
}

Result<Value> ModelStore::piece(const std::string& name, const std::string& file,
                                const std::string& version, std::int64_t from) {
  if (!is_file_name(name) || !is_file_name(file)) {
    return fail(Code::kNotFound, "no such file");
  }
  const auto current = promote::current_of(shelf_of(name));
  const std::string folder = current ? shelf_of(name) + "/versions/" + *current : task_folder(name);
  struct stat info {};
  const Result<Fd> fd = open_file(folder, file, info);
  LAIRD_TRY(fd);
  const std::string now = current ? *current : version_of(info);
  if (now != version) {
    return fail(Code::kRefused,
                "'" + file + "' of '" + name + "' has changed since it was listed; begin again");
  }
  if (from > info.st_size) return fail(Code::kInvalid, "from: beyond the end of the file");
  std::string bytes(static_cast<std::size_t>(std::min(info.st_size - from, kPieceBytesMax)), '\0');
  if (const DurationNs wait =
          allowance_.wait_for(static_cast<std::int64_t>(bytes.size()), loop_.now());
      wait > 0) {
    return Value::object().set("wait_ms", wait / kMillisecond + 1);
  }
  const ssize_t got = ::pread(fd->get(), bytes.data(), bytes.size(), from);
  if (got < 0) return fail_errno(errno, file);
  bytes.resize(static_cast<std::size_t>(got));
  Sha256 hash;
  hash.add(bytes);
  return Value::object()
      .set("from", from)
      .set("next", from + got)
      .set("size", std::int64_t{info.st_size})
      .set("sha256", hash.hex())
      .set("bytes64", mqtt::to_base64(bytes));
}

}  // namespace laird::agent
