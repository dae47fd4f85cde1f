// Serves the metrics over HTTP from the agent's loop: few connections, small requests, short times.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "agent/os/loop.hpp"

namespace laird::agent {

class MetricsPort {
 public:
  using Text = std::function<std::string()>;

  [[nodiscard]] static Result<std::unique_ptr<MetricsPort>> open(Loop& loop,
                                                                 const std::string& listen,
                                                                 Text text);
  ~MetricsPort();
  MetricsPort(const MetricsPort&) = delete;
  MetricsPort& operator=(const MetricsPort&) = delete;

 private:
  struct Visitor;
  MetricsPort(Loop& loop, Fd listener, Text text);
  void accept_some();
  void take_in(Fd fd);
  void make_room();
  void on_ready(int fd);
  void send_some(Visitor& visitor);
  void drop(int fd);

  Loop& loop_;
  Fd listener_;
  Text text_;
  std::map<int, std::shared_ptr<Visitor>> visitors_;
  std::uint64_t taken_in_ = 0;
};

}  // namespace laird::agent
