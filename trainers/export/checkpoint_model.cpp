#include "trainers/export/checkpoint_model.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>

#include "base/require.hpp"
#include "trainers/model/checkpoint.hpp"
#include "trainers/model/cotrain.hpp"
#include "trainers/model/training.hpp"

namespace laird::trainers {
namespace {

constexpr std::uint64_t kBlockBytes = 256 * 1024;  // a multiple of the digest's word
constexpr std::uint64_t kHeadBytes = 4096;         // no head of a state is longer

tl::unexpected<Error> other_size() {
  return fail(Code::kRefused, "is of a model of another size; are kind and params the same?");
}

}  // namespace

Result<std::string> CheckpointModel::read_at(std::uint64_t at, std::uint64_t most) const {
  std::string out(most, '\0');
  std::size_t have = 0;
  while (have < most) {
    const ssize_t n =
        ::pread(file_.get(), out.data() + have, most - have, static_cast<off_t>(at + have));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return fail_errno(errno, "cannot be read");
    if (n == 0) break;
    have += static_cast<std::size_t>(n);
  }
  out.resize(have);
  return out;
}

Status CheckpointModel::check_digest(std::uint64_t length, std::uint64_t digest) const {
  Archive hash = Archive::hasher();
  std::uint64_t counted = length;
  hash(counted);
  for (std::uint64_t at = 0; at < length; at += kBlockBytes) {
    const Result<std::string> block =
        read_at(kCheckpointHeadBytes + at, std::min(kBlockBytes, length - at));
    LAIRD_TRY(block);
    hash.raw(*block);
  }
  if (hash.digest() != digest) return fail(Code::kCorrupt, "is damaged");
  return {};
}

Status CheckpointModel::read_shared(std::uint64_t state_at, std::uint64_t length) {
  const Result<std::string> bytes = read_at(state_at, length);
  LAIRD_TRY(bytes);
  CoTrainingState state;
  Archive ar = Archive::reader(*bytes);
  ar(state);
  if (ar.failed() || !ar.at_end()) return fail(Code::kCorrupt, "is damaged");
  if (state.parameters.size() != weights_) return other_size();
  samples_ = state.samples;
  loss_ = state.loss;
  shared_ = std::move(state.parameters);
  return {};
}

Status CheckpointModel::find_weights(std::uint64_t state_at, std::uint64_t length) {
  const Result<std::string> head = read_at(state_at, std::min(kHeadBytes, length));
  LAIRD_TRY(head);
  std::uint64_t format = 0;
  Archive first = Archive::reader(*head);
  first(format);
  if (!first.failed() && format == CoTrainingState::kFormat) return read_shared(state_at, length);
  TrainingState state;
  Archive ar = Archive::reader(*head);
  state.archive_head(ar);
  std::uint32_t count = 0;
  ar(count);
  if (ar.failed()) return fail(Code::kCorrupt, "is damaged");
  if (count != weights_) return other_size();
  Bytes again;
  Archive counter = Archive::writer(again);
  state.archive_head(counter);
  weights_at_ = state_at + again.size() + sizeof count;
  if (length != again.size() + 2 * (sizeof count + 4 * weights_)) {
    return fail(Code::kCorrupt, "is damaged");
  }
  samples_ = state.samples;
  loss_ = state.reported_loss;
  if (state.pending_samples > 0) {
    loss_ = state.pending_loss / static_cast<double>(state.pending_samples);
  }
  return {};
}

Result<CheckpointModel> CheckpointModel::open(const std::string& path,
                                              const std::optional<ModelInfo>& info) {
  CheckpointModel out;
  struct stat found {};
  out.path_ = path;
  if (::stat(path.c_str(), &found) == 0 && S_ISDIR(found.st_mode)) {
    out.path_ += "/" + std::string(CheckpointFolder::kNewest);
  }
  out.file_.reset(::open(out.path_.c_str(), O_RDONLY | O_CLOEXEC));
  if (!out.file_) {
    return fail_errno(errno, "cannot open " + out.path_ + "; give a task's folder or checkpoint");
  }
  const auto named = [&](const Error& error) {
    return tl::make_unexpected(Error{error.code, out.path_ + " " + error.context});
  };
  const Result<std::string> start = out.read_at(0, kCheckpointHeadBytes + kInfoBytesMax);
  if (!start) return named(start.error());
  const Result<CheckpointHead> head = read_checkpoint_head(*start);
  if (!head) return named(head.error());
  if (::fstat(out.file_.get(), &found) != 0 ||
      static_cast<std::uint64_t>(found.st_size) != kCheckpointHeadBytes + head->length) {
    return named({Code::kCorrupt, "is cut"});
  }
  if (const Status s = out.check_digest(head->length, head->digest); !s) return named(s.error());
  const Result<Payload> payload = read_info(std::string_view(*start).substr(kCheckpointHeadBytes));
  if (!payload) return named(payload.error());
  if (!payload->info && !info) {
    return named({Code::kRefused,
                  "is of an earlier release and does not say what its model is; give --kind and "
                  "--params of its task"});
  }
  out.info_ = payload->info ? *payload->info : *info;
  out.weights_ = Network<float>::parameter_count(out.info_.shape());
  const Status s =
      out.find_weights(kCheckpointHeadBytes + payload->state_at, head->length - payload->state_at);
  if (!s) return named(s.error());
  return out;
}

Status CheckpointModel::read_weights(std::uint64_t first, std::span<float> out) const {
  LAIRD_REQUIRE(first + out.size() <= weights_, "weights that are there");
  if (!shared_.empty()) {
    for (std::size_t i = 0; i < out.size(); ++i) out[i] = static_cast<float>(shared_[first + i]);
    return {};
  }
  const Result<std::string> bytes = read_at(weights_at_ + 4 * first, 4 * out.size());
  LAIRD_TRY(bytes);
  if (bytes->size() != 4 * out.size()) return fail(Code::kCorrupt, path_ + " was cut meanwhile");
  for (std::size_t i = 0; i < out.size(); ++i) {
    std::uint32_t bits = 0;
    for (unsigned b = 0; b < 4; ++b) {
      bits |= std::uint32_t{static_cast<unsigned char>((*bytes)[4 * i + b])} << (8 * b);
    }
    out[i] = std::bit_cast<float>(bits);
  }
  return {};
}

}  // namespace laird::trainers
