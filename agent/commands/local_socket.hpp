// The local commands: a Unix socket on which lairctl talks to the agent of its own machine.
//
// A request is one line of JSON, {"op": <verb>, ...}; what is beside "op" is the verb's body
// (requests.hpp). Each request gets one line as its answer. Who may connect is decided by the mode
// of the socket's file.
#pragma once

#include <sys/types.h>

#include <map>
#include <memory>
#include <string>

#include "agent/agent.hpp"
#include "agent/commands/queries.hpp"
#include "agent/commands/requests.hpp"
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

  // What is opened after the socket, for questions about settings and events. Both must live as
  // long as requests are taken; `events` is nullptr for a board in no fleet.
  void answer_from(const SettingsChanges& config, const EventLog* events) {
    sources_.config = &config;
    sources_.events = events;
  }

 private:
  struct Client;
  LocalSocket(Loop& loop, Agent& agent, std::string path, Fd listener)
      : loop_(loop), agent_(agent), path_(std::move(path)), listener_(std::move(listener)) {
    sources_.agent = &agent;
  }
  void accept_some();
  void take_in(Fd fd);
  void make_room_for(uid_t user);
  void on_ready(int fd, std::uint32_t events);
  void on_readable(int fd);
  void write_some(int fd);
  void on_request(int fd, std::string_view line);
  void answer(int fd, const json::Value& value);
  void drop(int fd);
  [[nodiscard]] json::Value answer_to(const Query& query) const;
  void hand_in(int fd, core::OperatorRequest request);

  Loop& loop_;
  Agent& agent_;
  QuerySources sources_;
  std::string path_;
  Fd listener_;
  std::map<int, std::shared_ptr<Client>> clients_;
  std::uint64_t uses_ = 0;
};

}  // namespace laird::agent
