// logs TASK: what a task's trainer printed, from the board that has it, page by page.
#include "control/commands/tasks/task_log.hpp"

#include <cstdio>
#include <functional>
#include <thread>

#include "control/fleet/local_client.hpp"
#include "control/screen/output.hpp"
#include "mqtt/codec/base64.hpp"

namespace laird::control {
namespace {

using json::Kind;
using json::Value;

constexpr auto kLookEvery = std::chrono::seconds(1);
// Of one log; more than a board keeps of one.
constexpr int kPagesMax = 128;

// Asks the board that has the log.
using Ask = std::function<Result<Value>(const Value& body)>;

struct Page {
  std::int64_t from = 0;
  std::int64_t next = 0;
  std::int64_t size = 0;
  std::string bytes;
};

Result<Page> page_of(const Value& answer) {
  const Value* from = answer.find("from", Kind::kInteger);
  const Value* next = answer.find("next", Kind::kInteger);
  const Value* size = answer.find("size", Kind::kInteger);
  const Value* bytes64 = answer.find("bytes64", Kind::kString);
  if (from == nullptr || next == nullptr || size == nullptr || bytes64 == nullptr ||
      next->as_integer() < from->as_integer()) {
    return fail(Code::kInvalid, "the board's answer is no page of a log");
  }
  Result<std::string> bytes = mqtt::from_base64(bytes64->as_string());
  LAIRD_TRY(bytes);
  return Page{from->as_integer(), next->as_integer(), size->as_integer(), std::move(*bytes)};
}

Result<Page> fetch(const Ask& ask, const std::string& task, std::optional<std::int64_t> from) {
  Value body = Value::object().set("task", task);
  if (from) body.set("from", *from);
  const Result<Value> answer = ask(body);
  LAIRD_TRY(answer);
  return page_of(*answer);
}

void show(const Page& page) {
  print_text(page.bytes);
  std::fflush(stdout);
}

// Up to the end of the log, as it is now. Returns where that is.
Result<std::int64_t> show_rest(const Ask& ask, const std::string& task, std::int64_t from) {
  for (int pages = 0; pages < kPagesMax; ++pages) {
    const Result<Page> page = fetch(ask, task, from);
    LAIRD_TRY(page);
    if (page->from < from) say("the log was full and began anew");
    show(*page);
    from = page->next;
    if (from >= page->size || page->bytes.empty()) break;
  }
  return from;
}

int show_log(const Ask& ask, const TaskLogOptions& options) {
  Result<std::int64_t> at = 0;
  if (options.all) {
    at = show_rest(ask, options.task, 0);
  } else {
    const Result<Page> last = fetch(ask, options.task, {});
    if (!last) return complain(last.error());
    if (last->from > 0)
      say("the last " + std::to_string(last->bytes.size()) + " bytes of " +
          std::to_string(last->size) + "; --all shows all of it");
    show(*last);
    at = last->next;
  }
  while (at && options.follow && std::chrono::steady_clock::now() < options.until) {
    std::this_thread::sleep_for(kLookEvery);
    at = show_rest(ask, options.task, *at);
  }
  return at ? 0 : complain(at.error());
}

int show_fleet_log(const Where& where, const std::string& node, const TaskLogOptions& options) {
  const auto client = FleetClient::open(where.fleet, Listen::kStates, where.timeout);
  if (!client) return complain(client.error());
  const FleetView& view = (*client)->view();
  const auto board = node.empty() ? board_of_task(view, options.task) : Result<std::string>(node);
  if (!board) return complain(board.error());
  if (const Status ok = check_board(view, *board); !ok) return complain(ok.error());
  int refused = 0;
  const Ask ask = [&](const Value& body) -> Result<Value> {
    const auto reply = (*client)->ask(*board, "logs", body, where.timeout);
    LAIRD_TRY(reply);
    refused = exit_code_of(*reply);
    if (refused != 0) return fail(Code::kRefused, *board + ": " + reply->text);
    return reply->data;
  };
  const int code = show_log(ask, options);
  return refused != 0 ? refused : code;
}

}  // namespace

int show_task_log(const Reach& reach, const TaskLogOptions& options) {
  const auto where = reach.where();
  if (!where) return complain(where.error());
  if (!where->local) return show_fleet_log(*where, reach.node, options);
  const Ask ask_here = [&](const Value& body) -> Result<Value> {
    Value request = local_request("logs");
    for (const auto& [key, value] : body.members()) request.set(key, value);
    return ask(where->socket, request, where->timeout);
  };
  return show_log(ask_here, options);
}

}  // namespace laird::control
