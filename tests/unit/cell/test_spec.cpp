#include "cell/spec.hpp"

#include <functional>

#include "cell/message.hpp"
#include "tests/harness/unit.hpp"

using namespace laird;
using namespace laird::cell;

namespace {

Guards with(std::initializer_list<Guard> all) {
  Guards out;
  for (const Guard guard : all) out.add(guard);
  return out;
}

int refused_by(Guards guards) {
  int out = 0;
  for (int i = 0; i < kAttempts; ++i) out += is_refused(static_cast<Attempt>(i), guards) ? 1 : 0;
  return out;
}

Spec good() {
  Spec out;
  out.argv = {"/usr/bin/python3", "t.py"};
  out.environment = {"A=1"};
  out.tasks_folder = "/var/lib/laird/tasks";
  out.task = "t-1";
  out.hidden = {"/var/lib/laird"};
  out.limits.processes = 10;
  return out;
}

}  // namespace

TEST(without_a_guard_only_what_the_agent_does_itself_is_refused) {
  TEST_ASSERT_EQUAL_INT(2, refused_by({}));
  TEST_ASSERT_TRUE(is_refused(Attempt::kTraceAgent, {}));
  TEST_ASSERT_TRUE(is_refused(Attempt::kReadMemory, {}));
}

TEST(namespaces_and_a_limit_of_processes_refuse_everything) {
  TEST_ASSERT_EQUAL_INT(kAttempts,
                        refused_by(with({Guard::kProcesses, Guard::kFiles, Guard::kProcessLimit})));
}

TEST(landlock_and_seccomp_refuse_everything_where_the_kernel_scopes_signals) {
  const Guards old =
      with({Guard::kPaths, Guard::kNoSockets, Guard::kSystemCalls, Guard::kProcessLimit});
  TEST_ASSERT_EQUAL_INT(kAttempts - 3, refused_by(old));
  TEST_ASSERT_FALSE(is_refused(Attempt::kKillAgent, old));
  TEST_ASSERT_EQUAL_INT(
      kAttempts,
      refused_by(with({Guard::kPaths, Guard::kNoSockets, Guard::kSignals, Guard::kProcessLimit})));
}

TEST(another_user_alone_is_not_kept_from_its_neighbours) {
  TEST_ASSERT_FALSE(is_refused(Attempt::kWriteOtherTask, with({Guard::kUser})));
  TEST_ASSERT_TRUE(is_refused(Attempt::kReadKey, with({Guard::kUser})));
}

TEST(a_request_comes_through_as_it_was_sent_and_no_byte_may_be_missing) {
  Request request;
  request.trainer = "mlp";
  request.task = "t-1";
  request.memory_bytes = 5;
  request.spec = good();
  const Bytes bytes = encoded(request);
  const auto back = decoded<Request>(bytes);
  TEST_ASSERT_TRUE(back.has_value());
  TEST_ASSERT_EQUAL_STRING("t.py", back->spec.argv.at(1).c_str());
  TEST_ASSERT_EQUAL_UINT64(10, back->spec.limits.processes);
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    TEST_ASSERT_FALSE(
        decoded<Request>(Bytes(bytes.begin(), bytes.begin() + static_cast<long>(size)))
            .has_value());
  }
  Bytes longer = bytes;
  longer.push_back(0);
  TEST_ASSERT_FALSE(decoded<Request>(longer).has_value());
}

TEST(what_no_agent_asks_for_is_refused) {
  TEST_ASSERT_TRUE(check(good()).has_value());
  const std::vector<std::function<void(Spec&)>> bad = {
      [](Spec& s) { s.task = "../other"; },
      [](Spec& s) { s.task = ""; },
      [](Spec& s) { s.task = "a/b"; },
      [](Spec& s) { s.tasks_folder = "relative"; },
      [](Spec& s) { s.tasks_folder = "/var/../etc"; },
      [](Spec& s) { s.argv[0] = "python3"; },
      [](Spec& s) { s.argv[1] = std::string("a\0b", 3); },
      [](Spec& s) { s.environment[0] = std::string("a\0b", 3); },
      [](Spec& s) { s.hidden[0] = "state"; },
  };
  for (const auto& spoil : bad) {
    Spec spec = good();
    spoil(spec);
    TEST_ASSERT_FALSE(check(spec).has_value());
  }
}
