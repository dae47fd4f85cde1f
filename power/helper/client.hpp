// The agent's side of the privileged helper: requests go out, answers come back, nothing blocks.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "os/line_splitter.hpp"

namespace laird::power::priv {

struct Reply {
  std::string request;
  bool ok = false;
  std::int64_t value = 0;  // read back, when ok
  std::string text;        // the whole answer
};

class Client {
 public:
  // Starts the helper with a socket as its standard input and output.
  [[nodiscard]] static Result<Client> spawn(const std::string& program,
                                            const std::vector<std::string>& arguments);
  // Connects to the socket of a helper the system starts on demand.
  [[nodiscard]] static Result<Client> connect(const std::string& socket_path);
  // Takes over a connected stream socket.
  [[nodiscard]] static Client over(int fd);
  Client(Client&& other) noexcept;
  Client& operator=(Client&&) = delete;
  // Hangs up: the helper then restores and ends.
  ~Client();

  [[nodiscard]] int fd() const { return fd_; }
  // Refused when too many answers are outstanding or the helper is gone.
  [[nodiscard]] Status send(const std::string& request);
  [[nodiscard]] std::optional<Reply> poll();
  [[nodiscard]] bool gone() const { return gone_; }

  static constexpr std::size_t kOutstandingMax = 16;
  static constexpr std::size_t kAnswerBytesMax = 16 * 1024;

 private:
  explicit Client(int fd, pid_t pid) : fd_(fd), pid_(pid) {}

  int fd_ = -1;
  pid_t pid_ = -1;
  bool gone_ = false;
  LineSplitter lines_{kAnswerBytesMax, Overlong::kSkip};
  std::deque<std::string> answers_;  // come, and not fetched yet
  std::deque<std::string> asked_;
};

}  // namespace laird::power::priv
