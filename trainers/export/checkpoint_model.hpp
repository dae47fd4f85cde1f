// The model in a checkpoint's file, read in pieces: what it is, and its weights on request.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "os/fd.hpp"
#include "trainers/export/onnx_writer.hpp"

namespace laird::trainers {

class CheckpointModel {
 public:
  // `path` names the file, or a task's folder. The whole file is checked against its digest.
  // `info` is for a checkpoint of an earlier release, which does not say what its model is.
  [[nodiscard]] static Result<CheckpointModel> open(const std::string& path,
                                                    const std::optional<ModelInfo>& info);

  [[nodiscard]] const ModelInfo& info() const { return info_; }
  [[nodiscard]] std::uint64_t samples() const { return samples_; }
  [[nodiscard]] const std::optional<double>& loss() const { return loss_; }
  [[nodiscard]] Status read_weights(std::uint64_t first, std::span<float> out) const;

 private:
  CheckpointModel() = default;
  [[nodiscard]] Status check_digest(std::uint64_t length, std::uint64_t digest) const;
  [[nodiscard]] Status find_weights(std::uint64_t state_at, std::uint64_t length);
  [[nodiscard]] Status read_shared(std::uint64_t state_at, std::uint64_t length);
  // Up to `most` bytes of the file from `at` on.
  [[nodiscard]] Result<std::string> read_at(std::uint64_t at, std::uint64_t most) const;

  std::string path_;
  Fd file_;
  ModelInfo info_;
  std::uint64_t samples_ = 0;
  std::optional<double> loss_;
  std::uint64_t weights_at_ = 0;  // in the file
  std::uint64_t weights_ = 0;
  std::vector<double> shared_;  // of a co-training task, which is small
};

}  // namespace laird::trainers
