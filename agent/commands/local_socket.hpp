// The local commands: a Unix socket on which lairctl submits, lists, pauses, resumes, cancels and
// asks why. Line-delimited JSON, one answer per request; who may connect is decided by the file's
// mode.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "agent/agent.hpp"
#include "agent/os/loop.hpp"
#include "json/value.hpp"

namespace laird::agent {

class LocalSocket {
 public:
  [[nodiscard]] static Result<std::unique_ptr<LocalSocket>> open(Loop& loop, Agent& agent,
                                                                 const std::string& path);
  ~LocalSocket();
  LocalSocket(const LocalSocket&) = delete;
  LocalSocket& operator=(const LocalSocket&) = delete;

 private:
  struct Client;
  LocalSocket(Loop& loop, Agent& agent, std::string path, Fd listener)
      : loop_(loop), agent_(agent), path_(std::move(path)), listener_(std::move(listener)) {}
  void accept_one();
  void on_ready(int fd, std::uint32_t events);
  void on_readable(int fd);
  void write_some(int fd);
  void on_request(int fd, std::string_view line);
  void answer(int fd, const json::Value& value);
  void drop(int fd);
  [[nodiscard]] json::Value read_only(std::string_view op, const json::Value& request);
  void set_cap(int fd, const json::Value& request);
  [[nodiscard]] bool submit(int fd, const json::Value& request);

  Loop& loop_;
  Agent& agent_;
  std::string path_;
  Fd listener_;
  std::map<int, std::shared_ptr<Client>> clients_;
  std::uint64_t uses_ = 0;
};

}  // namespace laird::agent
