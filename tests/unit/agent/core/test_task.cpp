#include "agent/core/state/task.hpp"

#include <string>

#include "agent/core/state/effect.hpp"
#include "agent/core/state/event.hpp"
#include "tests/harness/unit.hpp"

using namespace laird;
using namespace laird::core;

TEST(from_every_state_a_reboot_leads_to_one_without_a_process) {
  for (int i = 0; i < static_cast<int>(TaskState::kEnded); ++i) {
    const auto state = static_cast<TaskState>(i);
    TEST_ASSERT_TRUE_MESSAGE(is_listed(state, Trigger::kReboot), std::string(name(state)).c_str());
    TEST_ASSERT_FALSE(has_process(next_state(state, Trigger::kReboot)));
  }
}

TEST(a_task_can_be_ended_from_every_state_and_only_once) {
  for (int i = 0; i < static_cast<int>(TaskState::kFinishing); ++i) {
    const auto state = static_cast<TaskState>(i);
    TEST_ASSERT_TRUE(is_listed(state, has_process(state) ? Trigger::kDecide : Trigger::kEnd));
  }
  for (int t = 0; t <= static_cast<int>(Trigger::kReboot); ++t) {
    TEST_ASSERT_FALSE(is_listed(TaskState::kEnded, static_cast<Trigger>(t)));
  }
}

TEST(only_ready_tasks_are_granted) {
  for (int i = 0; i <= static_cast<int>(TaskState::kEnded); ++i) {
    const auto state = static_cast<TaskState>(i);
    TEST_ASSERT_EQUAL_INT(state == TaskState::kReady, is_listed(state, Trigger::kGrant));
  }
}

TEST(every_event_and_command_survives_its_encoding) {
  Submitted submitted;
  submitted.request = 9;
  submitted.spec.name = "a";
  submitted.spec.params = "{\"x\":1}";
  Booted booted;
  booted.config.lanes.push_back({"cpu0", LaneKind::kCpu, 500});
  FleetBudget budget;
  budget.rev = 3;
  budget.founding_epoch = 2;
  budget.founders = {"n-1"};
  budget.members = {{"n-1", {1, 2, 3}}};
  budget.total = {4, 5, 6};
  const EventBody bodies[] = {
      booted,
      Ticked{},
      ClockStepped{5},
      submitted,
      CancelRequested{1, "a"},
      PauseRequested{2, "b"},
      ResumeRequested{3, "c"},
      TrainerReady{{1, 2}, 3, 4},
      TrainerProgressed{{1, 2}, 3, 0.25},
      TrainerCheckpointed{{1, 2}, 3},
      TrainerDone{{1, 2}},
      TrainerFailed{{1, 2}, "why"},
      TrainerExited{{1, 2}, -9},
      PowerSampled{},
      ShutdownRequested{},
      CapRequested{4, 15'000, kHour},
      PowerKnobSet{power::Rung::kDevfreq, power::KnobResult::kPinned, 640, "x"},
      DrainRequested{4, false},
      FleetJoined{true},
      PeersHeard{{{"n-1", std::string("a\0b", 3)}, {"n-2", ""}}},
      BudgetChanged{5, budget},
      OperatorCommand{6, "op-a", "id-1", 77, BudgetChanged{6, budget}},
      CommandRefused{"op-b", "id-2", "submit", "no"},
      ConfigNoted{"reverted"},
      Displaced{},
      TrainerYielded{{1, 2}, kSecond},
      TrainerPromoted{{1, 2}, {"fp16", 0.5, 1, 2, 3, 4, 5, "note"}},
      EditRequested{7, "d", 1, 2, 3, 4000},
      RemoveRequested{8, "e"},
      GroupNoted{{1, 2}, "made by n-1"},
      MoveRequested{9, "f", "n-2"},
      TitlesHeard{{{"n-1", std::string("a\0b", 3)}}},
      CheckpointRead{{1, 2}, {{"checkpoint.bin", std::string("\0x", 2)}}, true},
      RunsHeard{{{"n-1", std::string("a\0b", 3)}}}};
  TEST_ASSERT_EQUAL_UINT64(std::variant_size_v<EventBody>, std::size(bodies));
  for (const EventBody& body : bodies) {
    Event event{123, body};
    Bytes bytes;
    Archive out = Archive::writer(bytes);
    out(event);
    Event back;
    Archive in = Archive::reader(bytes);
    in(back);
    TEST_ASSERT_FALSE(in.failed());
    TEST_ASSERT_TRUE(in.at_end());
    TEST_ASSERT_EQUAL_STRING(describe(event.body).c_str(), describe(back.body).c_str());
    Bytes again;
    Archive out2 = Archive::writer(again);
    out2(back);
    TEST_ASSERT_TRUE(bytes == again);
    for (std::size_t n = 0; n < bytes.size(); ++n) {
      Event cut;
      const Bytes shorter(bytes.begin(), bytes.begin() + static_cast<long>(n));
      Archive short_in = Archive::reader(shorter);
      short_in(cut);
      TEST_ASSERT_TRUE(short_in.failed());
    }
  }
}

TEST(an_unknown_kind_of_event_fails_the_read) {
  Bytes bytes(16, 0);
  bytes[8] = 0xEE;
  Event event;
  Archive in = Archive::reader(bytes);
  in(event);
  TEST_ASSERT_TRUE(in.failed());
}

TEST(a_reason_is_cut_between_characters) {
  std::string text(kReasonBytesMax - 1, 'a');
  text += "\xC3\xA9";
  TEST_ASSERT_EQUAL_UINT64(kReasonBytesMax - 1, clipped(text).size());
}
