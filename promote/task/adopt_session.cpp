#include "promote/task/adopt_session.hpp"

#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/sha256.hpp"
#include "config/schema.hpp"
#include "models/model_file.hpp"
#include "os/line_splitter.hpp"
#include "os/whole_file.hpp"
#include "trainer_protocol/from_agent.hpp"
#include "trainer_protocol/to_agent.hpp"

namespace laird::promote {
namespace {

namespace fs = std::filesystem;
namespace protocol = trainer_protocol;

constexpr int kExitError = 1;
constexpr int kExitAgentGone = 3;
constexpr std::size_t kModelBytesMax = std::size_t{2} << 30;
// It has no loss of a training. Its task is to have the target 1, which this reaches.
constexpr double kLoss = 0.0;

// The folder of a pushed model in one of the data roots.
Result<std::string> find_model(const std::string& name) {
  if (!config::is_name(name)) return fail(Code::kInvalid, "params: \"model\": give its name");
  const char* roots = std::getenv("LAIRD_DATA_ROOTS");
  std::string left = roots == nullptr ? "" : roots;
  while (!left.empty()) {
    const std::size_t colon = std::min(left.find(':'), left.size());
    const std::string folder = left.substr(0, colon) + "/models/" + name;
    std::error_code error;
    if (fs::exists(folder + "/model.json", error)) return folder;
    left.erase(0, colon + 1);
  }
  return fail(Code::kNotFound, "no model '" + name + "' was pushed to this board: lairctl push");
}

Status copy_checked(const std::string& from, const std::string& to, const models::FileRef& file) {
  const Result<std::string> content = config::read_file(from + "/" + file.file, kModelBytesMax);
  LAIRD_TRY(content);
  if (content->size() != file.bytes || sha256_of(*content) != file.sha256) {
    return fail(Code::kCorrupt, file.file +
                                    " is not the one that model.json tells of; push the model "
                                    "again, all of it");
  }
  return write_whole_file(to + "/" + file.file, *content, {.mode = 0644});
}

// How many samples the model is of, once it is in the task's folder.
Result<std::uint64_t> adopt(const std::string& name, const std::string& folder) {
  const Result<std::string> from = find_model(name);
  LAIRD_TRY(from);
  const std::string path = *from + "/model.json";
  const Result<std::string> text = config::read_file(path, models::kModelJsonBytesMax);
  LAIRD_TRY(text);
  Result<models::Model> model = models::parse_model(*text, path);
  LAIRD_TRY(model);
  if (model->onnx.file != protocol::kExportFile) {
    return fail(Code::kInvalid, path + ": its model is in " + model->onnx.file + "; export it as " +
                                    std::string(protocol::kExportFile));
  }
  LAIRD_TRY(copy_checked(*from, folder, model->onnx));
  if (model->onnx_fp16) LAIRD_TRY(copy_checked(*from, folder, *model->onnx_fp16));
  if (model->held_out) LAIRD_TRY(copy_checked(*from, folder, model->held_out->file));
  // A task that learnt from nothing has no end.
  if (model->samples == 0) model->samples = 1;
  LAIRD_TRY(write_whole_file(folder + "/model.json", models::to_text(*model), {.mode = 0644}));
  return model->samples;
}

class Adoption {
 public:
  explicit Adoption(int fd) : fd_(fd) {}

  int run() {
    while (!exit_) {
      std::array<char, 16 * 1024> block{};
      const ssize_t n = ::recv(fd_, block.data(), block.size(), 0);
      if (n < 0 && errno == EINTR) continue;
      if (n <= 0) return kExitAgentGone;
      lines_.feed(std::string_view(block.data(), static_cast<std::size_t>(n)),
                  [this](std::string_view line) {
                    if (!exit_) take(line);
                  });
    }
    return *exit_;
  }

 private:
  void send(const std::string& line) {
    std::string_view left = line;
    while (!left.empty()) {
      const ssize_t n = ::send(fd_, left.data(), left.size(), MSG_NOSIGNAL);
      if (n < 0 && errno == EINTR) continue;
      if (n <= 0) {
        exit_ = kExitAgentGone;
        return;
      }
      left.remove_prefix(static_cast<std::size_t>(n));
    }
  }

  void leave_with_error(const std::string& why) {
    std::fprintf(stderr, "laird-promote: %s\n", why.c_str());
    send(protocol::error_line(why));
    exit_ = kExitError;
  }

  void take(std::string_view line) {
    const Result<protocol::FromAgent> message = protocol::parse_from_agent(line);
    if (!message) return;
    if (const auto* start = std::get_if<protocol::Start>(&*message)) return begin(*start);
    if (std::holds_alternative<protocol::Run>(*message)) {
      done_ = samples_;
      return send(protocol::progress_line(done_, kLoss));
    }
    if (std::holds_alternative<protocol::Export>(*message)) {
      return send(protocol::exported_line({}));
    }
    const bool stops = std::holds_alternative<protocol::Stop>(*message);
    if (stops || std::holds_alternative<protocol::Pause>(*message) ||
        std::holds_alternative<protocol::Checkpoint>(*message)) {
      send(protocol::checkpointed_line(done_, done_ > 0 ? std::optional(kLoss) : std::nullopt));
    }
    if (stops && !exit_) exit_ = 0;
  }

  void begin(const protocol::Start& start) {
    const json::Value* model = start.params.find("model", json::Kind::kString);
    const Result<std::uint64_t> samples =
        adopt(model == nullptr ? "" : model->as_string(), start.folder);
    if (!samples) return leave_with_error(samples.error().context);
    samples_ = *samples;
    send(protocol::ready_line(0, std::nullopt, false, samples_));
  }

  int fd_;
  LineSplitter lines_{protocol::kLineFromAgentMax, Overlong::kSkip};
  std::optional<int> exit_;
  std::uint64_t samples_ = 0;
  std::uint64_t done_ = 0;
};

}  // namespace

int run_adoption(int fd) { return Adoption(fd).run(); }

}  // namespace laird::promote
