// The words of trtexec: its flags by version, what its output means, and the files it writes. Pure.
//
// Source: `trtexec --help` and the samples' sources of TensorRT 8.0 to 11: --workspace until 8.3
// and --memPoolSize from 8.4; --buildOnly until 8.5 and --skipInference from 8.6; --fp16 until 10,
// since 11 builds what the ONNX file says. The first line of every run names the version, as
// [TensorRT v8502] or [TensorRT v101300].
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "promote/backend.hpp"

namespace laird::promote {

[[nodiscard]] std::optional<Version> version_in(std::string_view output);

[[nodiscard]] std::vector<std::string> build_flags(const Version& version,
                                                   const BuildRequest& request);
// One run of `batch` rows whose inputs are in a file, answers to another.
[[nodiscard]] std::vector<std::string> answer_flags(const std::string& engine, const Ports& ports,
                                                    std::uint32_t batch, const std::string& inputs,
                                                    const std::string& answers);
[[nodiscard]] std::vector<std::string> timing_flags(const std::string& engine, const Ports& ports,
                                                    std::uint32_t batch, const std::string& times);

// Why a run failed, in one sentence; `doing` says what it was for: "building fp16".
[[nodiscard]] Error failure_of(std::string_view output, int code, int signal,
                               std::string_view doing);

// `batch` x outputs numbers of the named output.
[[nodiscard]] Result<std::vector<float>> parse_answers(std::string_view text, const Ports& ports,
                                                       std::uint32_t batch);
[[nodiscard]] Result<Timing> parse_times(std::string_view text, std::uint32_t batch);

}  // namespace laird::promote
