#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <memory>

#include "power/helper/client.hpp"
#include "power/helper/session.hpp"
#include "tests/harness/unit.hpp"
#include "tests/unit/power/fake_sysfs.hpp"

using namespace laird;
using namespace laird::power::priv;
using laird::test::put;
namespace fs = std::filesystem;

namespace {

constexpr const char* kGpu = "/sys/devices/platform/17000000.gpu/devfreq/17000000.gpu";
constexpr const char* kCpu = "/sys/devices/system/cpu/cpu0/cpufreq";

struct Fake {
  test::TemporaryFolder folder;
  Place place;
  std::string journal;

  Fake() {
    place.root = folder.path();
    journal = folder.path() + "/journal";
    put(place.root + kGpu + "/max_freq", "1020000000\n");
    put(place.root + kGpu + "/min_freq", "306000000\n");
    put(place.root + kGpu + "/available_frequencies", "306000000 612000000 1020000000\n");
    fs::create_directories(place.root + "/sys/class/devfreq");
    fs::create_directory_symlink(place.root + kGpu, place.root + "/sys/class/devfreq/17000000.gpu");
    put(place.root + kCpu + "/scaling_max_freq", "1510400\n");
    put(place.root + kCpu + "/cpuinfo_min_freq", "115200\n");
    put(place.root + kCpu + "/cpuinfo_max_freq", "1510400\n");
  }
  [[nodiscard]] std::string read(const std::string& path) const {
    std::ifstream in(place.root + path);
    std::string out;
    std::getline(in, out);
    return out;
  }
  [[nodiscard]] std::string gpu() const { return read(std::string(kGpu) + "/max_freq"); }
};

// A program that keeps its mode in a file, as the real one keeps it in the kernel.
void put_nvpmodel(const Fake& fake, const std::string& mode) {
  const std::string program = fake.place.root + fake.place.nvpmodel;
  put(program,
      "#!/bin/sh\nf=" + fake.place.root +
          "/mode\n[ \"$1\" = -m ] && echo $2 > $f\n[ \"$1\" = -q ] && echo 'NV Power Mode: "
          "X' && cat $f\nexit 0\n");
  ::chmod(program.c_str(), 0755);
  put(fake.place.root + "/mode", mode);
}

void expect(const std::string& want, const std::string& got) {
  TEST_ASSERT_EQUAL_STRING(want.c_str(), got.c_str());
}

void expect_error(const std::string& got, const char* part) {
  TEST_ASSERT_TRUE_MESSAGE(got.starts_with("error ") && got.find(part) != std::string::npos,
                           got.c_str());
}

Session open_session(const Fake& fake) {
  Result<Session> session = Session::open(fake.place, fake.journal);
  TEST_ASSERT_TRUE_MESSAGE(session.has_value(), session ? "" : session.error().context.c_str());
  return std::move(*session);
}

// The helper as a process of its own, over a socket.
struct HelperProcess {
  pid_t pid = -1;
  int fd = -1;

  explicit HelperProcess(const Fake& fake) {
    int ends[2];
    TEST_ASSERT_EQUAL_INT(0, ::socketpair(AF_UNIX, SOCK_STREAM, 0, ends));
    pid = ::fork();
    if (pid == 0) {
      ::close(ends[0]);
      Result<Session> session = Session::open(fake.place, fake.journal);
      if (!session) ::_exit(3);
      ::_exit(serve(*session, ends[1], ends[1], -1));
    }
    ::close(ends[1]);
    fd = ends[0];
  }
};

Reply ask(Client& client, const std::string& request) {
  TEST_ASSERT_TRUE(client.send(request).has_value());
  for (int i = 0; i < 500; ++i) {
    if (auto reply = client.poll()) return *reply;
    pollfd entry{client.fd(), POLLIN, 0};
    ::poll(&entry, 1, 10);
  }
  TEST_FAIL_MESSAGE("no answer");
  return {};
}

}  // namespace

TEST(sets_reads_back_and_restores) {
  const Fake fake;
  Session session = open_session(fake);
  expect("ok 1020000000 306000000 1020000000", session.answer("get gpu-max-freq", 0));
  expect("ok 612000000", session.answer("set gpu-max-freq 612000000", 0));
  expect("612000000", fake.gpu());
  expect("ok 729600", session.answer("set cpu-max-freq 0 729600", 0));
  expect("ok 306000000", session.answer("set gpu-max-freq 306000000", 0));
  expect("ok 2", session.answer("restore", 0));
  expect("1020000000", fake.gpu());
  expect("1510400", fake.read(std::string(kCpu) + "/scaling_max_freq"));
}

TEST(the_end_of_a_session_restores) {
  const Fake fake;
  {
    Session session = open_session(fake);
    (void)session.answer("set gpu-max-freq 306000000", 0);
    expect("306000000", fake.gpu());
  }
  expect("1020000000", fake.gpu());
}

TEST(a_value_outside_the_range_or_the_list_is_refused_and_nothing_changes) {
  const Fake fake;
  Session session = open_session(fake);
  expect_error(session.answer("set gpu-max-freq 950000000", 0), "the next below is 612000000");
  expect_error(session.answer("set gpu-max-freq 2000000000", 0), "is not within");
  expect_error(session.answer("set gpu-max-freq -1", 0), "is not within");
  expect_error(session.answer("set cpu-max-freq 0 1", 0), "is not within");
  expect_error(session.answer("set gpu-max-freq 99999999999999999999", 0), "write: set KEY VALUE");
  expect("1020000000", fake.gpu());
}

TEST(a_pinned_clock_shows_as_a_range_of_one) {
  const Fake fake;
  put(fake.place.root + kGpu + "/min_freq", "1020000000\n");
  Session session = open_session(fake);
  expect("ok 1020000000 1020000000 1020000000", session.answer("get gpu-max-freq", 0));
  expect_error(session.answer("set gpu-max-freq 612000000", 0), "is not within");
}

TEST(hostile_requests_are_refused) {
  const Fake fake;
  put(fake.place.root + "/etc/passwd", "root\n");
  Session session = open_session(fake);
  for (const char* request :
       {"", " ", "set", "set ", "get", "quit now", "set gpu-max-freq", "set gpu-max-freq 1 2 3",
        "set cpu-max-freq ../../../etc 5", "set cpu-max-freq 0/../cpu0 729600",
        "set cpu-max-freq -1 729600", "set cpu-max-freq 256 729600", "set cpu-max-freq 00 729600",
        "set /etc/passwd 5", "get /etc/passwd", "set nvpmodel 0", "SET gpu-max-freq 612000000",
        "restore everything", "set gpu-max-freq 612000000;reboot"}) {
    TEST_ASSERT_TRUE_MESSAGE(session.answer(request, 0).starts_with("error "), request);
  }
  expect_error(session.answer(std::string(5000, 'x'), 0), "too long");
  expect_error(session.answer(std::string("get gpu-max-freq\0x", 18), 0), "unknown control");
  expect("1020000000", fake.gpu());
}

TEST(a_link_that_leads_out_of_sys_devices_is_refused) {
  const Fake fake;
  const std::string target = fake.place.root + "/outside/max_freq";
  put(target, "1020000000\n");
  const std::string file = fake.place.root + kGpu + "/max_freq";
  fs::remove(file);
  fs::create_symlink(target, file);
  Session session = open_session(fake);
  expect_error(session.answer("set gpu-max-freq 612000000", 0), "leads out of /sys/devices");
  // A whole folder that points elsewhere, too.
  fs::remove(fake.place.root + "/sys/class/devfreq/17000000.gpu");
  put(fake.place.root + "/elsewhere/available_frequencies", "1 2 3\n");
  put(fake.place.root + "/elsewhere/max_freq", "3\n");
  fs::create_directory_symlink(fake.place.root + "/elsewhere",
                               fake.place.root + "/sys/class/devfreq/17000000.gpu");
  expect_error(session.answer("set gpu-max-freq 2", 0), "leads out of /sys/devices");
}

TEST(too_many_changes_in_a_second_are_refused) {
  const Fake fake;
  Session session = open_session(fake);
  std::string last;
  for (int i = 0; i < 50; ++i) last = session.answer("set gpu-max-freq 612000000", 5);
  expect_error(last, "too many changes");
  expect("ok 612000000", session.answer("set gpu-max-freq 612000000", 2'000'000'000));
}

TEST(only_one_helper_at_a_time) {
  const Fake fake;
  const Session session = open_session(fake);
  TEST_ASSERT_FALSE(Session::open(fake.place, fake.journal).has_value());
}

TEST(a_killed_helper_is_cleaned_up_after_by_the_next) {
  const Fake fake;
  HelperProcess helper(fake);
  {
    Client client = Client::over(helper.fd);
    TEST_ASSERT_EQUAL_INT64(306'000'000, ask(client, "set gpu-max-freq 306000000").value);
    TEST_ASSERT_EQUAL_INT64(612'000'000, ask(client, "set gpu-max-freq 612000000").value);
    ::kill(helper.pid, SIGKILL);
    ::waitpid(helper.pid, nullptr, 0);
    TEST_ASSERT_FALSE(client.poll().has_value());
    TEST_ASSERT_TRUE(client.gone());
    TEST_ASSERT_FALSE(client.send("restore").has_value());
  }
  expect("612000000", fake.gpu());
  const Session next = open_session(fake);
  expect("1020000000", fake.gpu());
}

TEST(a_caller_that_dies_is_a_hang_up_and_everything_is_restored) {
  const Fake fake;
  HelperProcess helper(fake);
  {
    Client client = Client::over(helper.fd);
    TEST_ASSERT_TRUE(ask(client, "set gpu-max-freq 306000000").ok);
    TEST_ASSERT_FALSE(ask(client, "set gpu-max-freq 7").ok);
  }
  int status = 0;
  ::waitpid(helper.pid, &status, 0);
  TEST_ASSERT_EQUAL_INT(0, status);
  expect("1020000000", fake.gpu());
}

TEST(a_torn_or_foreign_journal_does_no_harm) {
  const Fake fake;
  put(fake.journal,
      "gpu-max-freq 612000000\n/etc/passwd 5\ncpu-max-freq ../x 7\ngarbage\n\xff\xff "
      "3\ngpu-max-fr");
  const Session session = open_session(fake);
  // The one whole and known line was taken for what it says: an original to put back.
  expect("612000000", fake.gpu());
  TEST_ASSERT_EQUAL_UINT64(0, fs::file_size(fake.journal));
}

TEST(power_modes_need_a_list_that_only_the_owner_can_write) {
  Fake fake;
  put_nvpmodel(fake, "2\n");
  Session session = open_session(fake);
  expect("ok 2", session.answer("get nvpmodel", 0));
  expect_error(session.answer("set nvpmodel 1", 0), "no power mode is known to be live");
  const std::string list = fake.place.root + fake.place.live_modes;
  put(list, "1\n2\n");
  ::chmod(list.c_str(), 0666);
  expect_error(session.answer("set nvpmodel 1", 0), "only root can write");
  ::chmod(list.c_str(), 0644);
  put(list, "1\n");
  expect_error(session.answer("set nvpmodel 1", 0), "mode 2 is not in");  // no way back
  put(list, "1\n2\n");
  expect("ok 1", session.answer("set nvpmodel 1", 0));
  expect_error(session.answer("set nvpmodel 3", 0), "is not in");
  session.restore();
  expect("2", fake.read("/mode"));
}

TEST(a_mode_that_needs_a_reboot_is_neither_listed_nor_set_though_it_is_in_the_list) {
  const Fake fake;
  put_nvpmodel(fake, "0\n");
  put(fake.place.root + "/etc/laird/live_modes", "0\n1\n2\n3\n4\n");
  ::chmod((fake.place.root + "/etc/laird/live_modes").c_str(), 0644);
  put(fake.place.root + "/etc/nvpmodel.conf",
      "< POWER_MODEL ID=0 NAME=25W >\nCPU_ONLINE CORE_4 1\nGPU MAX_FREQ 918000000\n"
      "< POWER_MODEL ID=1 NAME=15W >\nCPU_ONLINE CORE_4 1\nGPU MAX_FREQ 612000000\n"
      "< POWER_MODEL ID=2 NAME=10W >\nCPU_ONLINE CORE_4 0\nGPU MAX_FREQ 612000000\n"
      "< POWER_MODEL ID=3 NAME=9W >\nCPU_ONLINE CORE_4 1\nTPC_POWER_GATING TPC_PG_MASK 248\n");
  Session session = open_session(fake);
  // 4 is not in nvpmodel.conf, which then says nothing against it.
  expect("ok 0 1 4", session.answer("list nvpmodel", 0));
  expect_error(session.answer("set nvpmodel 2", 0), "needs a reboot");
  expect_error(session.answer("set nvpmodel 3", 0), "needs a reboot");
  expect("0", fake.read("/mode"));
  expect("ok 1", session.answer("set nvpmodel 1", 0));
}

TEST(a_mode_left_behind_by_a_killed_helper_is_put_back_by_the_next) {
  const Fake fake;
  put_nvpmodel(fake, "1\n");
  put(fake.journal, "nvpmodel 0\n");
  const Session session = open_session(fake);
  expect("0", fake.read("/mode"));
  TEST_ASSERT_EQUAL_UINT64(0, fs::file_size(fake.journal));
}

TEST(lists_the_clocks_there_are_and_the_modes_that_are_live) {
  const Fake fake;
  Session session = open_session(fake);
  expect("ok 306000000 612000000 1020000000", session.answer("list gpu-max-freq", 0));
  expect_error(session.answer("list nvpmodel", 0), "no power mode is known to be live");
  put(fake.place.root + "/etc/laird/live_modes", "0\n2\n02\n-1\nx\n");
  ::chmod((fake.place.root + "/etc/laird/live_modes").c_str(), 0644);
  expect_error(session.answer("list nvpmodel", 0), "takes no fixed list");  // no nvpmodel to ask
  put_nvpmodel(fake, "0\n");
  expect("ok 0 2", session.answer("list nvpmodel", 0));
  expect_error(session.answer("list cpu-max-freq 0", 0), "no fixed list");
  expect_error(session.answer("list ../etc", 0), "unknown control");
}
