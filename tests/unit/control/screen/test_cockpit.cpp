#include "control/screen/cockpit.hpp"

#include "control/screen/top_frame.hpp"
#include "mqtt/codec/messages.hpp"
#include "tests/harness/unit.hpp"

using namespace laird;
using namespace laird::control;
using mqtt::TopicKind;
using Then = Cockpit::Then;

namespace {

void put_task(FleetView& view, const std::string& board, const std::string& id, double loss,
              const std::string& state = "running") {
  const std::string text = R"({"s":"laird.task/1.0","name":")" + id + R"(","state":")" + state +
                           R"(","deadline_in_s":100,"target_loss":0.1,"loss":)" +
                           std::to_string(loss) + "}";
  view.take({TopicKind::kTask, "lab", board, id}, text);
}

FleetView fleet(int boards) {
  FleetView view;
  for (int i = 1; i <= boards; ++i) {
    const std::string id = "n-" + std::to_string(i);
    view.take({TopicKind::kStatus, "lab", id, ""},
              mqtt::to_text(mqtt::NodeStatus{mqtt::NodeState::kReady, 1, 1}));
    mqtt::NodeReport report;
    report.power_mw = {0, 10'000, 2'000, 60'000};
    report.power_mw_now = 1'000 * i;
    view.take({TopicKind::kReport, "lab", id, ""}, mqtt::to_text(report));
    put_task(view, id, "t-" + std::to_string(i), 1.0 / i);
  }
  return view;
}

std::vector<std::string> names(const std::vector<const BoardRef*>& boards) {
  std::vector<std::string> out;
  for (const BoardRef* board : boards) out.push_back(board->first);
  return out;
}

std::string text_of(const FleetView& view, const Cockpit& cockpit, const Curves* curves = nullptr) {
  FrameOptions options;
  options.width = 100;
  options.height = 40;
  options.cockpit = &cockpit;
  options.curves = curves;
  options.blocks = false;
  std::string out;
  for (const Line& line : top_frame(view, options)) out += line_text(line, 100, false) + "\n";
  return out;
}

}  // namespace

TEST(names_stand_in_their_natural_order) {
  const FleetView view = fleet(12);
  const auto boards = names(shown_boards(view, {}));
  TEST_ASSERT_EQUAL_STRING("n-2", boards[1].c_str());
  TEST_ASSERT_EQUAL_STRING("n-10", boards[9].c_str());
  Shown shown;
  shown.task_sort = TaskSort::kName;
  TEST_ASSERT_EQUAL_STRING("t-10", shown_tasks(view, shown)[9]->text("name").c_str());
}

TEST(keys_move_the_selection_which_stays_with_its_task) {
  FleetView view = fleet(3);
  Cockpit cockpit;
  TEST_ASSERT_TRUE(cockpit.press("j", view, 5) == Then::kDraw);
  TEST_ASSERT_EQUAL_STRING("t-1", cockpit.task()->second.c_str());
  cockpit.press("\033[B", view, 5);
  TEST_ASSERT_EQUAL_STRING("t-2", cockpit.task()->second.c_str());
  put_task(view, "n-0", "t-0", 0.5);
  TEST_ASSERT_EQUAL_STRING("t-2", cockpit.task()->second.c_str());
  cockpit.press("\033[6~", view, 50);
  TEST_ASSERT_EQUAL_STRING("t-3", cockpit.task()->second.c_str());
  cockpit.press("\033[5~", view, 50);
  TEST_ASSERT_EQUAL_STRING("t-0", cockpit.task()->second.c_str());
}

TEST(boards_are_moved_in_sorted_and_opened_too) {
  const FleetView view = fleet(12);
  Cockpit cockpit;
  cockpit.press("\t", view, 5);
  TEST_ASSERT_TRUE(cockpit.on_boards());
  TEST_ASSERT_EQUAL_STRING("n-1", cockpit.board().c_str());
  cockpit.press("s", view, 5);
  TEST_ASSERT_EQUAL_STRING("n-12", names(shown_boards(view, cockpit.shown()))[0].c_str());
  cockpit.press("\r", view, 5);
  TEST_ASSERT_TRUE(cockpit.open());
  const std::string text = text_of(view, cockpit);
  TEST_ASSERT_TRUE_MESSAGE(text.find("n-1") != std::string::npos, text.c_str());
  TEST_ASSERT_TRUE_MESSAGE(text.find("t-1 ") != std::string::npos, text.c_str());
  TEST_ASSERT_TRUE(text.find("goes back") != std::string::npos);
  TEST_ASSERT_TRUE(cockpit.press("\033", view, 5) == Then::kDraw);
  TEST_ASSERT_FALSE(cockpit.open());
  TEST_ASSERT_TRUE(cockpit.press("\033", view, 5) == Then::kQuit);
}

TEST(a_filter_is_typed_kept_and_cleared) {
  FleetView view = fleet(12);
  put_task(view, "n-3", "night", 0.5, "throttled");
  Cockpit cockpit;
  cockpit.press("/", view, 5);
  TEST_ASSERT_TRUE(cockpit.typing());
  cockpit.press("q", view, 5);  // a letter like any other
  cockpit.press("\x7f", view, 5);
  cockpit.press("NIGHT", view, 5);
  TEST_ASSERT_EQUAL_UINT(1, shown_tasks(view, cockpit.shown()).size());
  TEST_ASSERT_EQUAL_UINT(1, shown_boards(view, cockpit.shown()).size());
  cockpit.press("\r", view, 5);
  TEST_ASSERT_FALSE(cockpit.typing());
  TEST_ASSERT_TRUE(text_of(view, cockpit).find("filter: NIGHT") != std::string::npos);
  cockpit.press("\033", view, 5);
  TEST_ASSERT_EQUAL_UINT(13, shown_tasks(view, cockpit.shown()).size());
  cockpit.press("/", view, 5);
  cockpit.press("throttled\r", view, 5);
  TEST_ASSERT_EQUAL_UINT(1, shown_tasks(view, cockpit.shown()).size());
}

TEST(an_opened_task_shows_its_curve_and_its_target) {
  FleetView view = fleet(1);
  Curves curves;
  for (int i = 0; i < 1000; ++i) {
    put_task(view, "n-1", "t-1", 1.0 / (1.0 + i));
    curves.note(view, 1000 * i);
  }
  TEST_ASSERT_TRUE(curves.of({"n-1", "t-1"}).size() <= Curves::kPointsMax);
  TEST_ASSERT_TRUE(curves.of({"n-1", "t-1"}).size() > Curves::kPointsMax / 4);
  Cockpit cockpit;
  cockpit.press("\r", view, 5);
  const std::string text = text_of(view, cockpit, &curves);
  TEST_ASSERT_TRUE_MESSAGE(text.find("target -") != std::string::npos, text.c_str());
  TEST_ASSERT_TRUE_MESSAGE(text.find("*") != std::string::npos, text.c_str());
  TEST_ASSERT_TRUE_MESSAGE(text.find("the last 16m") != std::string::npos, text.c_str());
}

TEST(a_task_that_is_gone_is_forgotten_and_said_to_be_gone) {
  FleetView view = fleet(1);
  Curves curves;
  curves.note(view, 0);
  Cockpit cockpit;
  cockpit.press("\r", view, 5);
  view.take({TopicKind::kTask, "lab", "n-1", "t-1"}, "");
  curves.note(view, 1);
  TEST_ASSERT_TRUE(curves.of({"n-1", "t-1"}).empty());
  TEST_ASSERT_TRUE(text_of(view, cockpit, &curves).find("no longer told of") != std::string::npos);
}
