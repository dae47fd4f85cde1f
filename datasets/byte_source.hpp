// Bytes of a data set, from a file (plain or gzip) or from memory: readers see one stream.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "base/error.hpp"

namespace laird::datasets {

class ByteSource {
 public:
  ByteSource() = default;
  ByteSource(const ByteSource&) = delete;
  ByteSource& operator=(const ByteSource&) = delete;
  virtual ~ByteSource() = default;

  // What to call it in an error: the path.
  [[nodiscard]] virtual const std::string& name() const = 0;
  // Fills as much of `out` as there is; fewer bytes than asked for means the end was reached.
  [[nodiscard]] virtual Result<std::size_t> read(std::span<std::uint8_t> out) = 0;
};

// A file; gzip is recognised by its content, not by its name.
[[nodiscard]] Result<std::unique_ptr<ByteSource>> open_file(const std::string& path);

// For tests and fuzzing; `bytes` must outlive it.
[[nodiscard]] std::unique_ptr<ByteSource> from_memory(std::string_view bytes, std::string name);

}  // namespace laird::datasets
