#include "agent/os/notify.hpp"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <optional>

#include "agent/os/loop.hpp"
#include "tests/harness/unit.hpp"

using namespace laird;
using agent::Notifier;
using laird::Fd;

namespace {

// What systemd would have: a datagram socket at a path, or under a name beginning with '@'.
class Listener {
 public:
  explicit Listener(const std::string& name)
      : fd_(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0)) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::memcpy(address.sun_path, name.data(), name.size());
    if (name[0] == '@') address.sun_path[0] = '\0';
    const auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + name.size());
    TEST_ASSERT_EQUAL_INT(0,
                          ::bind(fd_.get(), reinterpret_cast<const sockaddr*>(&address), length));
  }

  // The next datagram, if there is one.
  [[nodiscard]] std::optional<std::string> heard() const {
    char text[256];
    const ssize_t n = ::recv(fd_.get(), text, sizeof text, MSG_DONTWAIT);
    if (n < 0) return std::nullopt;
    return std::string(text, static_cast<std::size_t>(n));
  }

 private:
  Fd fd_;
};

void set(const char* name, const std::string& value) { ::setenv(name, value.c_str(), 1); }

DurationNs watchdog(const std::string& usec, const std::string& pid) {
  set("WATCHDOG_USEC", usec);
  if (!pid.empty()) set("WATCHDOG_PID", pid);
  return Notifier().watchdog_every();
}

}  // namespace

TEST(what_is_said_arrives_as_it_was_said) {
  const test::TemporaryFolder folder;
  const std::string path = folder.path() + "/notify";
  const Listener systemd(path);
  set("NOTIFY_SOCKET", path);
  const Notifier notifier;
  notifier.say("READY=1\nSTATUS=n-1 runs");
  notifier.say("STOPPING=1");
  TEST_ASSERT_EQUAL_STRING("READY=1\nSTATUS=n-1 runs", systemd.heard().value_or("").c_str());
  TEST_ASSERT_EQUAL_STRING("STOPPING=1", systemd.heard().value_or("").c_str());
  TEST_ASSERT_FALSE(systemd.heard().has_value());
}

TEST(a_socket_of_the_abstract_kind_is_reached_too) {
  const std::string name = "@laird-test-notify-" + std::to_string(::getpid());
  const Listener systemd(name);
  set("NOTIFY_SOCKET", name);
  const Notifier notifier;
  notifier.say("WATCHDOG=1");
  TEST_ASSERT_EQUAL_STRING("WATCHDOG=1", systemd.heard().value_or("").c_str());
}

TEST(trainers_do_not_inherit_what_is_the_agents) {
  set("NOTIFY_SOCKET", "/nowhere");
  set("WATCHDOG_USEC", "3000000");
  set("WATCHDOG_PID", std::to_string(::getpid()));
  const Notifier notifier;
  for (const char* name : {"NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID"}) {
    TEST_ASSERT_NULL_MESSAGE(std::getenv(name), name);
  }
}

TEST(the_watchdog_is_fed_three_times_as_often_as_it_asks) {
  TEST_ASSERT_EQUAL_INT64(kSecond, watchdog("3000000", ""));
  TEST_ASSERT_EQUAL_INT64(kSecond, watchdog("3000000", std::to_string(::getpid())));
  // Somebody else's, nonsense, or longer than anybody waits.
  TEST_ASSERT_EQUAL_INT64(0, watchdog("3000000", "1"));
  for (const char* usec : {"", "0", "-5", "soon", "99999999999999999999", "3600000001"}) {
    TEST_ASSERT_EQUAL_INT64_MESSAGE(0, watchdog(usec, ""), usec);
  }
}

TEST(journald_is_recognised_by_the_descriptor_it_gave) {
  const test::TemporaryFolder folder;
  const Fd log(::open((folder.path() + "/log").c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
  const Fd other(::open((folder.path() + "/other").c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
  struct stat info {};
  TEST_ASSERT_EQUAL_INT(0, ::fstat(log.get(), &info));
  ::unsetenv("JOURNAL_STREAM");
  TEST_ASSERT_FALSE(agent::leads_to_journald(log.get()));
  set("JOURNAL_STREAM", std::to_string(info.st_dev) + ":" + std::to_string(info.st_ino));
  TEST_ASSERT_TRUE(agent::leads_to_journald(log.get()));
  // A service whose standard error somebody redirected still has the variable.
  TEST_ASSERT_FALSE(agent::leads_to_journald(other.get()));
  TEST_ASSERT_FALSE(agent::leads_to_journald(-1));
  for (const char* text : {"", ":", "8", "x:y"}) {
    set("JOURNAL_STREAM", text);
    TEST_ASSERT_FALSE_MESSAGE(agent::leads_to_journald(log.get()), text);
  }
  ::unsetenv("JOURNAL_STREAM");
}

TEST(without_systemd_or_with_a_socket_that_cannot_be_nothing_happens) {
  const test::TemporaryFolder folder;
  for (const std::string& name :
       {std::string(), std::string("/"), folder.path() + "/gone", std::string(300, 'x')}) {
    set("NOTIFY_SOCKET", name);
    const Notifier notifier;
    notifier.say("READY=1");
    TEST_ASSERT_EQUAL_INT64(0, notifier.watchdog_every());
  }
}
