// A board that takes commands both ways: signed, as they come from a broker, and over its socket.
#pragma once

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "agent/commands/local_socket.hpp"
#include "agent/commands/signed_commands.hpp"
#include "mqtt/codec/base64.hpp"
#include "mqtt/sign/ed25519.hpp"
#include "os/fd.hpp"
#include "tests/unit/agent/driver/one_board.hpp"

namespace laird::test {

inline constexpr const char* kReplyTo = "laird/v1/lab/res/op-alice/n-1";
inline constexpr const char* kSomeRights =
    R"(["ping", "submit", "drain", "cap", "config", "get", "bid", "dance", "node-config"])";

inline const mqtt::SigningKey& alice() {
  static const mqtt::SigningKey key = *mqtt::SigningKey::generate();
  return key;
}

inline std::string fleet_json(const std::string& may) {
  return R"({"name": "lab", "brokers": ["mqtt://localhost:1"], "insecure_lab": true,
      "members": {"n-1": {"power": "2W"}}, "budget": {"power": "40W"},
      "operators": [{"name": "op-alice", "key": ")" +
         mqtt::to_base64(alice().public_key()) + R"(", "may": )" + may + "}]}";
}

class CommandedBoard {
 public:
  explicit CommandedBoard(const std::string& may = kSomeRights)
      : board(fleet_json(may) + R"(, "push": {"folder": "pushed", "quota": "1MB"})"),
        events_(board.folder.path() + "/events") {
    listen();
  }

  // After a power cut, with another time on the clock.
  void restart(TimeNs wall) {
    commands_.reset();
    board.clock.wall = wall;
    board.clock.boot = kMinute;
    ++board.machine.boot;
    board.start();
    listen();
  }

  [[nodiscard]] mqtt::Command command(const std::string& verb, const char* body = "{}") {
    mqtt::Command out;
    out.id = "c-" + std::to_string(++id_);
    out.fleet = "lab";
    out.to = "n-1";
    out.verb = verb;
    out.issued_ms = board.clock.wall / kMillisecond;
    out.expires_ms = out.issued_ms + 60'000;
    out.body = parsed(body);
    return out;
  }

  [[nodiscard]] static std::string sealed(const mqtt::Command& command,
                                          const mqtt::SigningKey& key = alice()) {
    const std::string text = to_signed_text(command);
    return to_text(mqtt::Envelope{text, "op-alice", *key.sign(mqtt::signing_input(text))});
  }

  // The reply, parsed; null when there was none.
  json::Value send(const std::string& payload, const std::string& topic, bool retained = false,
                   const std::string& reply_to = kReplyTo) {
    answers.clear();
    mqtt::Incoming message;
    message.topic = topic;
    message.payload = payload;
    message.retained = retained;
    message.qos = 1;
    message.response_topic = reply_to;
    message.correlation = "mark";
    commands_->on_message(message, *mqtt::parse_topic(topic));
    board.agent->process();
    return answers.empty() ? json::Value() : parsed(answers.back().payload);
  }
  json::Value send(const mqtt::Command& command) {
    return send(sealed(command), "laird/v1/lab/ctl/n-1/cmd/" + command.verb);
  }

  // One line to the socket, and the line that comes back.
  json::Value ask_locally(const std::string& line) {
    if (!socket_) connect();
    const std::string request = line + "\n";
    TEST_ASSERT_EQUAL_INT64(static_cast<std::int64_t>(request.size()),
                            ::send(client_.get(), request.data(), request.size(), MSG_NOSIGNAL));
    std::string answer;
    for (int round = 0; round < 1000 && !answer.ends_with('\n'); ++round) {
      TEST_ASSERT_TRUE(board.loop->run_once(kMillisecond).has_value());
      board.agent->process();
      char block[8192];
      const ssize_t n = ::recv(client_.get(), block, sizeof block, MSG_DONTWAIT);
      if (n > 0) answer.append(block, static_cast<std::size_t>(n));
    }
    return parsed(answer);
  }

  // A further connection to the socket, which is open since the first question.
  [[nodiscard]] Fd another_client() const {
    const std::string path = board.folder.path() + "/socket";
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
    Fd out(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    TEST_ASSERT_EQUAL_INT(
        0, ::connect(out.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address));
    return out;
  }

  void look_again() {
    commands_->look_again();
    board.agent->process();
  }
  [[nodiscard]] const core::State& state() const { return board.agent->state(); }

  [[nodiscard]] static json::Value parsed(const std::string& text) {
    auto value = json::parse(text, "test");
    TEST_ASSERT_TRUE_MESSAGE(value.has_value(), text.c_str());
    return *value;
  }

  OneBoard board;
  std::vector<mqtt::Outgoing> answers;

 private:
  void listen() {
    commands_.emplace(*board.agent, board.clock, board.settings, *board.config, events_,
                      [this](auto out) { answers.push_back(std::move(out)); });
  }
  void connect() {
    const std::string path = board.folder.path() + "/socket";
    auto opened = agent::LocalSocket::open(*board.loop, *board.agent, path);
    TEST_ASSERT_TRUE_MESSAGE(opened.has_value(), opened ? "" : opened.error().context.c_str());
    socket_ = std::move(*opened);
    socket_->answer_from(*board.config, &events_);
    client_ = another_client();
  }

  agent::EventLog events_;
  std::optional<agent::SignedCommands> commands_;
  std::unique_ptr<agent::LocalSocket> socket_;
  Fd client_;
  int id_ = 0;
};

}  // namespace laird::test
