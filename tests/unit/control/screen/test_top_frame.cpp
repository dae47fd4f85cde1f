#include "control/screen/top_frame.hpp"
#include "mqtt/codec/messages.hpp"
#include "tests/harness/unit.hpp"

using namespace laird;
using namespace laird::control;
using mqtt::TopicKind;

namespace {

FleetView fleet(int boards, int tasks) {
  FleetView view;
  for (int i = 0; i < boards; ++i) {
    const std::string id = "n-" + std::to_string(i);
    view.take({TopicKind::kStatus, "lab", id, ""},
              mqtt::to_text(mqtt::NodeStatus{mqtt::NodeState::kReady, 1, 1}));
    mqtt::NodeReport report;
    report.power_mw = {0, 10'000, 2'000, 60'000};
    report.power_mw_now = 5'000;
    view.take({TopicKind::kReport, "lab", id, ""}, mqtt::to_text(report));
  }
  for (int i = 0; i < tasks; ++i) {
    const std::string id = "t-" + std::to_string(i);
    const std::string text = R"({"s":"laird.task/1.0","name":")" + id +
                             R"(","state":"running","deadline_in_s":)" + std::to_string(100 + i) +
                             R"(,"forecast":{"loss":1,"low":0.5,"high":2,"probability":)" +
                             (i == tasks - 1 ? "0.1" : "0.9") + "}}";
    view.take({TopicKind::kTask, "lab", "n-0", id}, text);
  }
  return view;
}

std::string all_text(const std::vector<Line>& lines, std::size_t width) {
  std::string out;
  for (const Line& line : lines) out += line_text(line, width, false) + "\n";
  return out;
}

}  // namespace

TEST(no_line_is_wider_than_the_screen_nor_the_frame_higher) {
  const FleetView view = fleet(30, 80);
  for (const std::size_t width : {40U, 80U, 132U}) {
    for (const std::size_t height : {8U, 24U, 60U}) {
      FrameOptions options;
      options.width = width;
      options.height = height;
      const auto lines = top_frame(view, options);
      TEST_ASSERT_TRUE(lines.size() <= height || height < 12);
      for (const Line& line : lines) {
        TEST_ASSERT_TRUE(width_of(line_text(line, width, false)) <= width);
      }
    }
  }
}

TEST(a_schedule_is_not_counted_as_a_live_task) {
  FleetView view = fleet(1, 2);
  view.take({TopicKind::kTask, "lab", "n-0", "night"},
            R"({"s":"laird.task/1.0","name":"night","state":"scheduled","deadline_in_s":null,)"
            R"("recurs":{"next_in_s":60}})");
  FrameOptions options;
  options.width = 132;
  const std::string all = all_text(top_frame(view, options), 132);
  TEST_ASSERT_TRUE(all.find("2 live tasks") != std::string::npos);
  TEST_ASSERT_TRUE(all.find("night") != std::string::npos);
}

TEST(without_a_height_everything_is_shown_and_what_is_at_risk_comes_first) {
  const FleetView view = fleet(30, 80);
  FrameOptions options;
  options.width = 120;
  const std::string text = all_text(top_frame(view, options), 120);
  for (int i = 0; i < 80; ++i) {
    TEST_ASSERT_TRUE(text.find("t-" + std::to_string(i) + " ") != std::string::npos);
  }
  TEST_ASSERT_TRUE(text.find("t-79 ") < text.find("t-0 "));
  TEST_ASSERT_TRUE(text.find("more") == std::string::npos);
}

TEST(a_small_screen_says_what_it_leaves_out_and_scrolls) {
  const FleetView view = fleet(3, 50);
  FrameOptions options;
  options.width = 100;
  options.height = 20;
  TEST_ASSERT_TRUE(all_text(top_frame(view, options), 100).find(" more") != std::string::npos);
  Cockpit cockpit;
  cockpit.press("k", view, 5);  // up from nowhere: to the last
  options.cockpit = &cockpit;
  const auto lines = top_frame(view, options);
  TEST_ASSERT_EQUAL_UINT(20, lines.size());
  const std::string end = all_text(lines, 100);
  TEST_ASSERT_TRUE(end.find("tasks above") != std::string::npos);
  TEST_ASSERT_TRUE(end.find("t-48 ") != std::string::npos);
  TEST_ASSERT_TRUE(end.find("Enter opens") != std::string::npos);
}

TEST(an_empty_fleet_and_a_lost_link_are_said) {
  FrameOptions options;
  options.connected = false;
  const std::string text = all_text(top_frame(FleetView(), options), 100);
  TEST_ASSERT_TRUE(text.find("no link") != std::string::npos);
  TEST_ASSERT_TRUE(text.find("no tasks") != std::string::npos);
}

TEST(boards_without_a_meter_are_not_said_to_draw_nothing) {
  FleetView view;
  view.take({TopicKind::kStatus, "lab", "n-1", ""},
            mqtt::to_text(mqtt::NodeStatus{mqtt::NodeState::kReady, 1, 1}));
  mqtt::NodeReport report;
  report.power_mw = {0, 10'000, 2'000, 60'000};
  view.take({TopicKind::kReport, "lab", "n-1", ""}, mqtt::to_text(report));
  FrameOptions options;
  options.width = 120;
  const std::string text = all_text(top_frame(view, options), 120);
  TEST_ASSERT_TRUE_MESSAGE(text.find("draw unknown, 10.0 W given out") != std::string::npos,
                           text.c_str());
}

TEST(bars_show_the_part_and_the_mark_and_stay_in_their_width) {
  const auto text = [](double part, double mark, double whole) {
    return line_text(bar(part, mark, whole, 10, false, Colour::kNone), 10, false);
  };
  TEST_ASSERT_EQUAL_STRING("#####...", text(5.0, 8.0, 10.0).c_str());
  TEST_ASSERT_EQUAL_STRING("##########", text(50.0, 8.0, 10.0).c_str());
  TEST_ASSERT_EQUAL_STRING("", text(0.0, 0.0, 0.0).c_str());
  TEST_ASSERT_EQUAL_STRING("", text(-3.0, -1.0, 10.0).c_str());
}

TEST(on_eighty_columns_every_row_keeps_its_numbers_and_long_names_their_gap) {
  FleetView view = fleet(2, 2);
  view.take({TopicKind::kStatus, "lab", "n-xavier-nx-1", ""},
            mqtt::to_text(mqtt::NodeStatus{mqtt::NodeState::kReady, 1, 1}));
  view.take({TopicKind::kTask, "lab", "n-xavier-nx-1", "garments-softmax"},
            R"({"s":"laird.task/1.0","name":"garments-softmax","state":"running","share":0.5,)"
            R"("deadline_in_s":61,"forecast":{"loss":1,"low":0.5,"high":2,"probability":0.9}})");
  for (const std::size_t width : {80U, 100U, 160U}) {
    FrameOptions options;
    options.width = width;
    options.blocks = false;
    const std::string text = all_text(top_frame(view, options), width);
    for (const char* part :
         {"n-xavier-nx-1 ready", "WAIT", "garments-softmax n-xavier-nx-1 running", "DEADLINE",
          "SHARE", " 50%", "1m01s"}) {
      TEST_ASSERT_TRUE_MESSAGE(text.find(part) != std::string::npos, (text + part).c_str());
    }
    TEST_ASSERT_EQUAL_INT(width >= 100, text.find("FORECAST") != std::string::npos);
  }
}

TEST(small_losses_keep_their_columns_apart) {
  FleetView view = fleet(1, 0);
  view.take({TopicKind::kTask, "lab", "n-0", "t"},
            R"({"s":"laird.task/1.0","name":"t","state":"running","target_loss":0.001,)"
            R"("forecast":{"loss":0.005,"low":0.003797,"high":1.234567e-05,"probability":0.9}})");
  FrameOptions options;
  options.width = 112;
  const std::string text = all_text(top_frame(view, options), 112);
  TEST_ASSERT_TRUE_MESSAGE(text.find(" 0.001   0.0038..1.23e-05 ") != std::string::npos,
                           text.c_str());
}

TEST(what_happened_last_is_shown_where_there_is_room) {
  FleetView view = fleet(2, 2);
  for (int i = 0; i < 20; ++i) {
    mqtt::NodeEvent event;
    event.unix_ms = 1'794'811'802'417;
    event.kind = "task";
    event.text = "number-" + std::to_string(i) + ": done";
    view.take({TopicKind::kEvent, "lab", "n-0", "task"}, mqtt::to_text(event));
  }
  FrameOptions options;
  options.height = 40;
  const std::string text = all_text(top_frame(view, options), 100);
  TEST_ASSERT_TRUE(text.find("EVENTS") != std::string::npos);
  TEST_ASSERT_TRUE(text.find("06:50:02  n-0  task  number-19: done") != std::string::npos);
  TEST_ASSERT_TRUE(text.find("number-13") == std::string::npos);
  options.height = 13;
  TEST_ASSERT_TRUE(all_text(top_frame(view, options), 100).find("EVENTS") == std::string::npos);
}
