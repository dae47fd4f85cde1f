// What the agent and laird-cell say to each other over one socket (SOCK_SEQPACKET): a request with
// descriptors, then orders one way and reports the other. One connection is one cell; whoever hangs
// up ends it.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/archive.hpp"
#include "base/error.hpp"
#include "cell/spec.hpp"
#include "os/fd.hpp"

namespace laird::cell {

inline constexpr std::size_t kMessageBytesMax = 128 * 1024;
// The trainer's socket and its output, then the folders of its control groups.
inline constexpr std::size_t kStreams = 2;
inline constexpr std::size_t kGroupsMax = 8;
inline constexpr std::size_t kDescriptorsMax = kStreams + kGroupsMax;

struct Request {
  std::string trainer;  // its name on the allow-list; empty: only try the guards
  std::string task;
  std::int64_t memory_bytes = 0;
  bool fresh = false;  // empties the task's folder first, but for the models that stand there
  bool check = false;  // the trainer looks at params on its socket, and trains nothing
  std::uint64_t warm_from = 0;  // and for what it held of that run, which goes aside; 0: of none
  // How the agent would have it. A laird-cell with an allow-list of its own does not read this.
  Spec spec;
  void archive(Archive& ar);
};

struct Order {
  std::int32_t signal = 0;  // to every process of the cell
  void archive(Archive& ar) { ar(signal); }
};

struct Report {
  enum class Kind : std::uint8_t {
    kStarted,  // the program runs
    kFailed,   // it could not be started; text says why
    kEnded,    // nothing of the cell is left; text says why, when laird-cell ended it
  };
  Kind kind = Kind::kFailed;
  std::int32_t pid = 0;  // as the machine counts
  std::uint32_t guards = 0;
  bool in_group = false;
  std::int32_t status = 0;  // as waitpid gives it
  std::string text;
  void archive(Archive& ar);
};

template <class T>
[[nodiscard]] Bytes encoded(T message) {
  Bytes out;
  Archive ar = Archive::writer(out);
  ar(message);
  return out;
}

// nullopt unless the bytes are exactly one such message.
template <class T>
[[nodiscard]] std::optional<T> decoded(const Bytes& bytes) {
  T out;
  Archive ar = Archive::reader(bytes);
  ar(out);
  if (ar.failed() || !ar.at_end()) return std::nullopt;
  return out;
}

// Does not wait: a peer that does not read is as good as gone.
[[nodiscard]] Status send_bytes(int socket, const Bytes& bytes, std::span<const int> fds = {});
template <class T>
[[nodiscard]] Status send(int socket, T message, std::span<const int> fds = {}) {
  return send_bytes(socket, encoded(std::move(message)), fds);
}

struct Received {
  Bytes bytes;
  std::vector<Fd> fds;
  int sender = 0;      // its process as seen from here, where the socket asks for it
  bool ended = false;  // the other side has hung up
};
// kUnavailable when there is nothing to read now.
[[nodiscard]] Result<Received> receive(int socket);

}  // namespace laird::cell
