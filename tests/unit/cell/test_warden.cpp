#include "cell/warden.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <fstream>

#include "os/child_process.hpp"
#include "tests/harness/unit.hpp"

using namespace laird;
using namespace laird::cell;

namespace {

// One laird-cell around a few lines of shell, as an agent has it.
struct OneCell {
  explicit OneCell(const std::string& script, const std::function<void(Spec&)>& change = {}) {
    test::skip_if_emulated();
    std::filesystem::create_directories(folder.path() + "/state/tasks/other");
    std::filesystem::create_directories(folder.path() + "/state/journal");
    Request request;
    request.spec.argv = {"/bin/sh", "-c", script};
    request.spec.tasks_folder = folder.path() + "/state/tasks";
    request.spec.task = "t-1";
    request.spec.hidden = {folder.path() + "/state"};
    request.spec.limits.folder_bytes = 50'000'000;
    request.spec.limits.shared_bytes = 1'000'000;
    if (change) change(request.spec);
    std::array<int, 2> ends{};
    TEST_ASSERT_EQUAL_INT(0, ::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()));
    control.reset(ends[0]);
    const Fd theirs(ends[1]);
    ChildSpec child;
    child.argv = {LAIRD_CELL};
    child.environment.emplace();
    child.input = theirs.get();
    child.error = ChildSpec::kInherit;
    const Result<pid_t> started = start_child(child);
    TEST_ASSERT_TRUE(started.has_value());
    helper = *started;
    std::array<int, 2> out{};
    TEST_ASSERT_EQUAL_INT(0, ::pipe2(out.data(), O_CLOEXEC));
    output.reset(out[0]);
    const Fd child_output(out[1]);
    std::array<int, 2> pair{};
    TEST_ASSERT_EQUAL_INT(0, ::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair.data()));
    socket.reset(pair[0]);
    const Fd child_socket(pair[1]);
    const std::array<int, 2> fds = {child_socket.get(), child_output.get()};
    TEST_ASSERT_TRUE(send(control.get(), request, fds).has_value());
  }
  ~OneCell() {
    control.reset();
    ::waitpid(helper, nullptr, 0);
  }

  Report next() {
    pollfd wait{control.get(), POLLIN, 0};
    TEST_ASSERT_EQUAL_INT(1, ::poll(&wait, 1, 60'000));
    const Result<Received> got = receive(control.get());
    TEST_ASSERT_TRUE(got.has_value() && !got->ended);
    const auto report = decoded<Report>(got->bytes);
    TEST_ASSERT_TRUE(report.has_value());
    return *report;
  }
  // What it printed until it ended or stopped printing.
  std::string printed() {
    std::string out;
    std::array<char, 512> block{};
    for (ssize_t n = 0; (n = ::read(output.get(), block.data(), block.size())) > 0;) {
      out.append(block.data(), static_cast<std::size_t>(n));
    }
    return out;
  }
  std::string line() {
    std::string out;
    for (char c = 0; ::read(output.get(), &c, 1) == 1 && c != '\n';) out += c;
    return out;
  }
  void order(int signal) { TEST_ASSERT_TRUE(send(control.get(), Order{signal}).has_value()); }

  test::TemporaryFolder folder;
  Fd control;
  Fd output;
  Fd socket;
  pid_t helper = -1;
};

void weakly(Spec& spec) { spec.namespaces = false; }

}  // namespace

TEST(a_trainer_starts_in_its_folder_and_its_end_is_told) {
  OneCell one("pwd; echo $0; exit 7");
  const Report started = one.next();
  TEST_ASSERT_EQUAL_STRING("", started.text.c_str());
  TEST_ASSERT_TRUE(started.kind == Report::Kind::kStarted);
  TEST_ASSERT_TRUE(started.pid > 0);
  TEST_ASSERT_EQUAL_STRING((one.folder.path() + "/state/tasks/t-1\n/bin/sh\n").c_str(),
                           one.printed().c_str());
  const Report ended = one.next();
  TEST_ASSERT_TRUE(ended.kind == Report::Kind::kEnded);
  TEST_ASSERT_TRUE(WIFEXITED(ended.status) && WEXITSTATUS(ended.status) == 7);
}

TEST(a_program_that_is_not_there_is_told_as_such) {
  OneCell one("", [](Spec& spec) { spec.argv = {"/no/such/program"}; });
  const Report failed = one.next();
  TEST_ASSERT_TRUE(failed.kind == Report::Kind::kFailed);
  TEST_ASSERT_TRUE(failed.text.find("cannot start /no/such/program") != std::string::npos);
}

TEST(it_has_its_descriptors_and_no_other) {
  OneCell one("ls /proc/self/fd | tr '\\n' ' '; echo hello >&3");
  TEST_ASSERT_TRUE(one.next().kind == Report::Kind::kStarted);
  // The fourth is the folder that ls reads.
  TEST_ASSERT_EQUAL_STRING("0 1 2 3 4 ", one.printed().c_str());
  std::array<char, 16> word{};
  TEST_ASSERT_EQUAL_INT(6, ::read(one.socket.get(), word.data(), word.size()));
}

TEST(it_writes_its_folder_and_nothing_else) {
  for (const bool strong : {true, false}) {
    OneCell one(
        "t=$(dirname $PWD); s=$(dirname $t); "
        "echo x > mine && echo wrote mine; (echo x > $t/other/x) 2>/dev/null && echo wrote other; "
        "(echo x > $s/journal/x) 2>/dev/null && echo wrote journal; "
        "(echo x > $s/../x) 2>/dev/null && echo wrote above; "
        "(ls $s/journal) >/dev/null 2>&1 && echo lists the journal; true",
        [strong](Spec& spec) { spec.namespaces = strong; });
    const Report started = one.next();
    const Guards guards(started.guards);
    if (!guards.has(Guard::kFiles) && !guards.has(Guard::kPaths)) {
      TEST_IGNORE_MESSAGE("this system has neither mount namespaces nor Landlock for this user");
    }
    TEST_ASSERT_EQUAL_STRING("wrote mine\n", one.printed().c_str());
  }
}

TEST(a_state_folder_behind_a_link_is_hidden_and_the_tasks_own_is_there) {
  OneCell one("echo x > mine && echo wrote mine; ls ../..; cat ../../secret", [&](Spec& spec) {
    const std::string state = std::filesystem::path(spec.tasks_folder).parent_path().string();
    std::filesystem::create_symlink(state, state + "-link");
    std::ofstream(state + "/secret") << "secret";
    spec.tasks_folder = state + "-link/tasks";
    spec.hidden = {state + "-link"};
  });
  if (!Guards(one.next().guards).has(Guard::kFiles)) {
    TEST_IGNORE_MESSAGE("this system has no mount namespaces for this user");
  }
  const std::string printed = one.printed();
  TEST_ASSERT_TRUE(printed.starts_with("wrote mine\ntasks\n"));
  TEST_ASSERT_TRUE(printed.find("No such file") != std::string::npos);
}

TEST(a_folder_of_tasks_that_is_a_link_itself_is_refused) {
  OneCell one("true", [](Spec& spec) {
    const std::string state = std::filesystem::path(spec.tasks_folder).parent_path().string();
    std::filesystem::create_directory(state + "/elsewhere");
    std::filesystem::create_symlink(state + "/elsewhere", state + "/tasks2");
    spec.tasks_folder = state + "/tasks2";
  });
  TEST_ASSERT_TRUE(one.next().kind == Report::Kind::kFailed);
}

TEST(whoever_a_trainer_leaves_behind_ends_with_it) {
  for (const bool strong : {true, false}) {
    OneCell one("setsid sh -c 'setsid sleep 1000 & sleep 1000' >/dev/null 2>&1 & echo started",
                [strong](Spec& spec) { spec.namespaces = strong; });
    TEST_ASSERT_TRUE(one.next().kind == Report::Kind::kStarted);
    // Told only when nothing is left.
    TEST_ASSERT_TRUE(one.next().kind == Report::Kind::kEnded);
    TEST_ASSERT_EQUAL_STRING("started\n", one.printed().c_str());
  }
}

TEST(a_trainer_ends_when_its_agent_hangs_up) {
  for (const bool strong : {true, false}) {
    OneCell one("setsid sleep 1000 & echo started; sleep 1000",
                [strong](Spec& spec) { spec.namespaces = strong; });
    TEST_ASSERT_EQUAL_STRING("started", one.line().c_str());
    one.control.reset();
    // The pipe ends when everybody who could write to it has.
    TEST_ASSERT_EQUAL_STRING("", one.printed().c_str());
  }
}

TEST(a_trainer_ends_when_its_warden_is_killed) {
  OneCell one("setsid sleep 1000 & echo started; sleep 1000");
  if (!Guards(one.next().guards).has(Guard::kProcesses)) {
    TEST_IGNORE_MESSAGE("this system has no PID namespaces for this user");
  }
  TEST_ASSERT_EQUAL_STRING("started", one.line().c_str());
  ::kill(one.helper, SIGKILL);
  TEST_ASSERT_EQUAL_STRING("", one.printed().c_str());
}

TEST(signals_reach_all_of_it) {
  for (const bool strong : {true, false}) {
    OneCell one(
        "trap 'echo top' TERM; "
        "setsid sh -c 'trap \"echo deep; exit\" TERM; echo up; while :; do sleep 0.01; done' "
        "& for i in 1 2 3 4 5 6 7 8; do wait; done",
        [strong](Spec& spec) { spec.namespaces = strong; });
    TEST_ASSERT_EQUAL_STRING("up", one.line().c_str());
    one.order(SIGTERM);
    const std::string all = one.printed();
    TEST_ASSERT_TRUE(all.find("deep") != std::string::npos && all.find("top") != std::string::npos);
  }
}

TEST(a_folder_beyond_its_bound_ends_the_trainer_and_says_so) {
  OneCell one("for i in 1 2 3 4 5 6; do head -c 900000 /dev/zero > f$i; done; sleep 1000",
              [](Spec& spec) { spec.limits.folder_bytes = 4'000'000; });
  TEST_ASSERT_TRUE(one.next().kind == Report::Kind::kStarted);
  const Report ended = one.next();
  TEST_ASSERT_TRUE(ended.kind == Report::Kind::kEnded);
  TEST_ASSERT_TRUE(ended.text.find("its folder holds 5 MB, and cell.disk allows 4 MB") !=
                   std::string::npos);
}

TEST(a_folder_that_is_full_starts_no_trainer) {
  OneCell one("echo started", [](Spec& spec) {
    std::filesystem::create_directories(spec.folder());
    std::ofstream(spec.folder() + "/old") << std::string(5'000'000, 'x');
    spec.limits.folder_bytes = 4'000'000;
  });
  const Report failed = one.next();
  TEST_ASSERT_TRUE(failed.kind == Report::Kind::kFailed);
  TEST_ASSERT_TRUE(failed.text.find("its folder holds 5 MB") != std::string::npos);
}

TEST(one_file_grows_no_further_than_the_bound) {
  OneCell one("head -c 9000000 /dev/zero > big; wc -c < big",
              [](Spec& spec) { spec.limits.folder_bytes = 4'000'000; });
  TEST_ASSERT_TRUE(one.next().kind == Report::Kind::kStarted);
  TEST_ASSERT_TRUE(one.printed().find("4000000") != std::string::npos);
}

TEST(it_has_no_network_unless_it_is_given) {
  const char* script = "cat /proc/net/dev | tail -n +3 | cut -d: -f1 | tr -d ' \\n'";
  OneCell apart(script);
  const Report started = apart.next();
  if (!Guards(started.guards).has(Guard::kNetwork)) {
    TEST_IGNORE_MESSAGE("this system has no network namespaces for this user");
  }
  TEST_ASSERT_EQUAL_STRING("lo", apart.printed().c_str());
  OneCell given("readlink /proc/self/ns/net", [](Spec& spec) { spec.network = true; });
  TEST_ASSERT_FALSE(Guards(given.next().guards).has(Guard::kNetwork));
  std::array<char, 64> own{};
  TEST_ASSERT_TRUE(::readlink("/proc/self/ns/net", own.data(), own.size() - 1) > 0);
  TEST_ASSERT_EQUAL_STRING(own.data(), given.line().c_str());
}

TEST(a_weak_cell_makes_no_socket) {
  OneCell one("", [](Spec& spec) {
    weakly(spec);
    spec.argv = {"/usr/bin/python3", "-c",
                 "import socket\ntry: socket.socket(); print('made')\n"
                 "except PermissionError: print('refused')"};
  });
  const Report started = one.next();
  if (!Guards(started.guards).has(Guard::kNoSockets)) TEST_IGNORE_MESSAGE("no seccomp here");
  TEST_ASSERT_EQUAL_STRING("refused", one.line().c_str());
}

TEST(an_order_that_no_agent_gives_is_not_carried_out) {
  OneCell one("trap 'echo hup' HUP; echo up; sleep 0.3; echo alive");
  TEST_ASSERT_EQUAL_STRING("up", one.line().c_str());
  one.order(SIGHUP);
  TEST_ASSERT_EQUAL_STRING("alive", one.line().c_str());
}

TEST(what_is_no_request_ends_the_connection_with_a_word) {
  test::skip_if_emulated();
  std::array<int, 2> ends{};
  TEST_ASSERT_EQUAL_INT(0, ::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()));
  const Fd control(ends[0]);
  const Fd theirs(ends[1]);
  ChildSpec child;
  child.argv = {LAIRD_CELL};
  child.input = theirs.get();
  const Result<pid_t> helper = start_child(child);
  TEST_ASSERT_TRUE(helper.has_value());
  TEST_ASSERT_TRUE(send_bytes(control.get(), Bytes(1000, 0xff)).has_value());
  int status = 0;
  ::waitpid(*helper, &status, 0);
  TEST_ASSERT_EQUAL_INT(1, WEXITSTATUS(status));
  const Result<Received> got = receive(control.get());
  TEST_ASSERT_TRUE(got.has_value());
  TEST_ASSERT_EQUAL_STRING("this is no request", decoded<Report>(got->bytes)->text.c_str());
}
