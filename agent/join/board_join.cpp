#include "agent/join/board_join.hpp"

#include <fcntl.h>
#include <grp.h>
#include <poll.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <random>
#include <thread>

#include "agent/join/join_files.hpp"
#include "config/schema.hpp"
#include "json/value.hpp"
#include "mqtt/client/client.hpp"
#include "mqtt/sign/join_keys.hpp"
#include "os/whole_file.hpp"
#include "power/boards/catalogue.hpp"

namespace laird::agent {
namespace {

using Steady = std::chrono::steady_clock;

constexpr std::size_t kFileBytesMax = 1 << 20;
// A thousand boards ask two hundred times a second together.
constexpr std::chrono::milliseconds kAskEvery{5'000};
constexpr std::chrono::milliseconds kAskJitter{1'000};
constexpr std::chrono::minutes kQuietWhenDenied{10};
constexpr std::chrono::seconds kAgainAfterFailure{10};

void tell(const std::string& text) { std::fprintf(stderr, "laird join: %s\n", text.c_str()); }

bool is_there(const std::string& path) {
  struct stat info {};
  return ::stat(path.c_str(), &info) == 0;
}

Status make_folder(const std::string& path, mode_t mode) {
  if (::mkdir(path.c_str(), mode) == 0 || errno == EEXIST) return {};
  return fail_errno(errno, "make " + path);
}

// The half that asks.
class Asker {
 public:
  Asker(const JoinOptions& options, JoinImage image, BoardKey key, std::string serial)
      : options_(options),
        image_(std::move(image)),
        key_(std::move(key)),
        serial_(std::move(serial)),
        module_(known_module()) {}

  // The answer may have been kept before a power cut.
  [[nodiscard]] bool has_answer() const {
    const auto kept = config::read_file(answer_path(options_.state), kFileBytesMax);
    if (!kept) return false;
    const auto answer = judged_answer(*kept, image_, key_);
    if (answer && answer->admitted) return true;
    tell("the answer that was kept is not good: " +
         (answer ? std::string("a denial") : answer.error().context));
    return false;
  }

  // Returns when the answer is on the disk; a broker that is away, a certificate that is not valid
  // by this clock, and an answer that is not good are waited out.
  void run() {
    tell("this board is " + serial_ + ", its key " + key_.fingerprint + "; it asks the fleet '" +
         image_.fleet + "' for its place");
    while (!done_) {
      const Status ended = ask();
      if (ended) continue;
      tell(ended.error().context);
      std::this_thread::sleep_for(kAgainAfterFailure);
    }
  }

 private:
  [[nodiscard]] std::string known_module() const {
    const auto found =
        power::detect_board(power::read_identity(options_.root), power::all_boards(""));
    // Any other machine has no floor of its own.
    return found.board.detect_modules.empty() && found.board.detect_soc.empty() ? ""
                                                                                : found.board.name;
  }

  [[nodiscard]] Result<std::string> message() const {
    mqtt::JoinAsk ask{image_.fleet, serial_, module_, power::read_identity(options_.root).model,
                      options_.version};
    mqtt::SignedText out;
    out.text = mqtt::to_signed_text(ask);
    out.key = key_.public_key;
    auto signature = mqtt::sign_text(key_.pem, std::string(mqtt::kAskPrefix) + out.text);
    LAIRD_TRY(signature);
    out.signature = std::move(*signature);
    return mqtt::ask_message(out);
  }

  [[nodiscard]] Result<std::unique_ptr<mqtt::Client>> connect() const {
    mqtt::Options options;
    options.brokers = image_.brokers;
    options.client_id = "join-" + key_.fingerprint;
    options.name = std::string(mqtt::kJoinUser);
    options.ca = options_.image + "/ca.crt";
    options.cert = options_.image + "/join.crt";
    options.key = options_.image + "/join.key";
    options.keep_session = false;
    options.subscriptions = {{mqtt::join_answer_topic(image_.fleet, key_.fingerprint), 1}};
    return mqtt::Client::create(std::move(options));
  }

  [[nodiscard]] Status ask() {
    const auto text = message();
    LAIRD_TRY(text);
    auto client = connect();
    LAIRD_TRY(client);
    std::random_device random;
    Steady::time_point next = Steady::now();
    while (!done_) {
      const auto batch = (*client)->take();
      if (batch.link_changed) {
        tell(batch.connected ? "connected" : "no broker: " + batch.why);
        next = std::min(next, Steady::now());
        if (batch.connected) next = std::max(next, quiet_until_);
      }
      for (const std::string& problem : batch.problems) tell(problem);
      for (const mqtt::Incoming& incoming : batch.messages) hear(incoming.payload);
      next = std::max(next, quiet_until_);
      if (!done_ && (*client)->connected() && Steady::now() >= next) {
        publish(**client, *text);
        next = Steady::now() + kAskEvery - kAskJitter +
               std::chrono::milliseconds(random() % (2 * kAskJitter.count()));
      }
      pollfd ready{(*client)->ready_fd(), POLLIN, 0};
      if (!done_) ::poll(&ready, 1, 200);
    }
    (*client)->close({}, kSecond);
    return {};
  }

  void publish(mqtt::Client& client, const std::string& text) const {
    mqtt::Outgoing out;
    out.topic = mqtt::join_ask_topic(image_.fleet);
    out.payload = text;
    out.kind = mqtt::Class::kTelemetry;
    out.qos = 1;
    out.expiry_s = 10;
    client.publish(std::move(out));
  }

  void hear(const std::string& payload) {
    const auto answer = judged_answer(payload, image_, key_);
    if (!answer) {
      tell("an answer that is not good: " + answer.error().context);
      return;
    }
    if (!answer->admitted) {
      tell("denied: " + answer->why + "; it asks again in ten minutes");
      quiet_until_ = Steady::now() + kQuietWhenDenied;
      return;
    }
    const Status kept = write_whole_file(answer_path(options_.state), payload, {.mode = 0600});
    if (!kept) {
      tell("cannot keep the answer: " + kept.error().context);
      return;
    }
    tell("admitted as " + answer->node);
    done_ = true;
  }

  const JoinOptions& options_;
  const JoinImage image_;
  const BoardKey key_;
  const std::string serial_;
  const std::string module_;
  Steady::time_point quiet_until_{};
  bool done_ = false;
};

// The half that installs.
class Installer {
 public:
  explicit Installer(const JoinOptions& options) : options_(options) {}

  [[nodiscard]] Status run() {
    const std::string config = options_.etc + "/laird.json";
    if (!is_there(config)) LAIRD_TRY(install(config));
    return clean_up();
  }

 private:
  [[nodiscard]] Status install(const std::string& config) {
    const auto image = read_join_image(options_.image);
    LAIRD_TRY(image);
    const auto message = config::read_file(answer_path(options_.state), kFileBytesMax);
    LAIRD_TRY(message);
    const auto pem = config::read_file(key_path(options_.state), kFileBytesMax);
    LAIRD_TRY(pem);
    const auto known = mqtt::public_part(*pem);
    LAIRD_TRY(known);
    const BoardKey key{*pem, *known, mqtt::fingerprint_of(*known)};
    const auto answer = judged_answer(*message, *image, key);
    if (!answer || !answer->admitted) {
      // Put away, so that the board asks again instead of failing at the same one for ever.
      std::error_code ignored;
      std::filesystem::remove(answer_path(options_.state), ignored);
      return fail(Code::kRefused, answer ? "a denial was kept as an answer"
                                         : "the answer is not good: " + answer.error().context);
    }
    const std::string tls = options_.etc + "/tls";
    LAIRD_TRY(make_folder(tls, 0750));
    LAIRD_TRY(put(tls + "/ca.crt", image->ca_pem));
    LAIRD_TRY(put(tls + "/node.crt", answer->cert));
    LAIRD_TRY(put(tls + "/node.key", *pem));
    LAIRD_TRY(sync_folder(tls));
    // Last: with this file the agent starts.
    LAIRD_TRY(put(config, json::to_pretty_text(answer->config) + "\n"));
    LAIRD_TRY(sync_folder(options_.etc));
    tell("installed as " + answer->node);
    return {};
  }

  // Beside its place with its owner and mode, then moved there.
  [[nodiscard]] Status put(const std::string& path, const std::string& content) {
    const group* readers = ::getgrnam(options_.group.c_str());
    if (readers == nullptr) {
      return fail(Code::kNotFound, "this board has no group " + options_.group);
    }
    const std::string staged = path + ".joining";
    LAIRD_TRY(write_whole_file(staged, content, {.mode = 0640}));
    if (::chown(staged.c_str(), static_cast<uid_t>(-1), readers->gr_gid) != 0 ||
        ::chmod(staged.c_str(), 0640) != 0 || ::rename(staged.c_str(), path.c_str()) != 0) {
      return fail_errno(errno, "put " + path);
    }
    return {};
  }

  // The certificate of the image is of no use any more, and would be to a thief. The answer goes
  // last: as long as it is there this half is started again.
  [[nodiscard]] Status clean_up() {
    std::error_code ignored;
    for (const char* name : {"/join.key", "/join.crt"}) {
      std::filesystem::remove(options_.image + name, ignored);
    }
    std::filesystem::remove(key_path(options_.state), ignored);
    std::filesystem::remove(answer_path(options_.state), ignored);
    return {};
  }

  const JoinOptions& options_;
};

Status ask_for_place(const JoinOptions& options) {
  LAIRD_TRY(make_folder(options.state, 0700));
  auto image = read_join_image(options.image);
  LAIRD_TRY(image);
  auto key = board_key(options.state);
  LAIRD_TRY(key);
  auto serial = board_serial(options.root, options.state);
  LAIRD_TRY(serial);
  Asker asker(options, std::move(*image), std::move(*key), std::move(*serial));
  if (!asker.has_answer()) asker.run();
  return {};
}

}  // namespace

int join_fleet(const JoinOptions& options) {
  ::signal(SIGPIPE, SIG_IGN);
  const Status done = options.install ? Installer(options).run() : ask_for_place(options);
  if (done) return 0;
  tell(done.error().text());
  return 1;
}

}  // namespace laird::agent
