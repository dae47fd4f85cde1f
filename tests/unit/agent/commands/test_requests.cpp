// One list of cases for both ways in: the same verb and body must come to the same.
#include "agent/commands/requests.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "base/sha256.hpp"
#include "promote/shelf/shelf.hpp"
#include "tests/unit/agent/commands/commanded_board.hpp"

using namespace laird;
using namespace laird::agent;
using json::Value;
using test::CommandedBoard;

namespace {

#define TASK(name)                                 \
  "{\"task\":{\"name\":\"" name                    \
  "\",\"trainer\":\"linear\",\"deadline\":\"5m\"," \
  "\"target_loss\":1,\"memory\":\"20MB\"}}"

struct Case {
  const char* verb;
  const char* body;
  const char* code;  // in the words of a signed command's reply
  const char* text;  // a part of what is answered
};

// Each board has a task "a", one called "over" that is cancelled, and is not drained.
constexpr Case kCases[] = {
    {"ping", "{}", "ok", "here"},
    {"ping", R"({"loud":true})", "invalid", "ping: loud: unknown key"},
    {"submit", TASK("b"), "ok", "accepted"},
    {"submit", TASK("a"), "ok", "known already"},
    {"submit", "{}", "invalid", "submit: task: missing"},
    {"submit", R"({"task":[]})", "invalid", "task: expected an object, found an array"},
    {"submit", R"({"task":{"name":"b"}})", "invalid", "trainer: missing"},
    {"submit", R"({"tsk":{}})", "invalid", "did you mean \"task\"?"},
    {"submit", R"({"task":{"name":"c","trainer":"linear","deadline":"5m","target_loss":1,
                   "memory":"20GB"}})",
     "refused", "memory"},
    {"cancel", R"({"task":"a"})", "ok", ""},
    {"cancel", R"({"task":"nobody"})", "not-found", "nobody"},
    {"cancel", R"({"task":7})", "invalid", "task: expected a string"},
    {"cancel", "{}", "invalid", "cancel: task: missing"},
    {"cancel", R"({"task":"a-name-that-is-longer-than-any-task-can-have"})", "invalid", "length"},
    {"pause", R"({"task":"a"})", "ok", ""},
    {"pause", "{}", "invalid", "pause: task: missing"},
    {"resume", R"({"task":"a"})", "ok", "not paused"},
    {"resume", R"({"task":"nobody"})", "not-found", "nobody"},
    {"submit",
     R"({"task":{"name":"a","trainer":"linear","deadline":"7m","target_loss":1,
         "memory":"20MB"},"replace":true})",
     "ok", "accepted"},
    {"submit", R"({"task":{},"replace":1})", "invalid", "replace"},
    {"edit", R"({"task":"a","deadline":"+2h","weight":3})", "ok", "edited"},
    {"edit", R"({"task":"a","deadline":"2h"})", "ok", "edited"},
    {"edit", R"({"task":"a","deadline":"-2h"})", "invalid", "passed already"},
    {"edit", R"({"task":"a","deadline":"soon"})", "invalid", "neither a duration"},
    {"edit", R"({"task":"a"})", "invalid", "nothing to change"},
    {"edit", R"({"task":"a","weight":1000})", "invalid", "weight"},
    {"edit", R"({"task":"nobody","weight":2})", "not-found", "nobody"},
    {"move", R"({"task":"a","to":"n-1"})", "ok", "it is here already"},
    {"move", R"({"task":"a","to":"n-9"})", "not-found", "no board 'n-9' in this fleet"},
    {"move", R"({"task":"a"})", "invalid", "move: to: missing"},
    {"move", R"({"task":"a","to":"n 1"})", "invalid", "move: to"},
    {"rm", R"({"task":"over"})", "ok", "the name is free"},
    {"rm", R"({"task":"a"})", "refused", "not over yet"},
    {"rm", R"({"task":"nobody"})", "not-found", "nobody"},
    {"rm", "{}", "invalid", "rm: task: missing"},
    {"models", "{}", "ok", "models"},
    {"models", R"({"node":"a"})", "invalid", "unknown key"},
    {"rollback", R"({"model":"day","from":"000002"})", "ok", "version 000001 of 'day' is current"},
    {"rollback", R"({"model":"day","from":"000001"})", "refused", "look again"},
    {"rollback", R"({"model":"night","from":"000002"})", "not-found", "no model 'night'"},
    {"rollback", R"({"model":"night"})", "invalid", "from: missing"},
    {"rollback", R"({"model":"../x","from":"1"})", "invalid", "model"},
    {"pull", R"({"name":"day"})", "ok", "pull"},
    {"pull", R"({"name":"day","file":"model.onnx","version":"000002","from":1})", "ok", "pull"},
    {"pull", R"({"name":"nobody"})", "not-found", "nobody"},
    {"pull", R"({"name":"a","file":"model.onnx"})", "invalid", "version: missing"},
    {"pull", R"({"name":"a","file":"../x","version":"1"})", "not-found", "no such file"},
    {"pull", R"({"name":"a","from":-1})", "invalid", "from"},
    {"pull", "{}", "invalid", "pull: name: missing"},
    {"push",
     R"({"file":"a","bytes":1,"sha256":"2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881"})",
     "ok", "push"},
    {"push",
     R"({"file":"a","bytes":2000000,"sha256":"2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881"})",
     "refused", "push.quota"},
    {"push", R"({"file":"a","bytes":1,"sha256":"ab"})", "invalid", "sha256"},
    {"push", R"({"file":"a","bytes":0})", "invalid", "bytes"},
    {"push",
     R"({"file":"a","bytes":1,"bytes64":"?","sha256":"2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881"})",
     "invalid", "bytes64"},
    {"push", "{}", "invalid", "push: file: missing"},
    {"explain", R"({"task":"a"})", "ok", "a"},
    {"explain", R"({"task":"nobody"})", "not-found", "nobody"},
    {"explain", "{}", "invalid", "explain: task: missing"},
    {"why", R"({"task":"a"})", "ok", "its deadline is in"},
    {"why", R"({"task":"nobody"})", "not-found", "nobody"},
    {"why", "{}", "invalid", "why: task: missing"},
    {"logs", R"({"task":"a"})", "ok", "logs"},
    {"logs", R"({"task":"a","from":3})", "ok", "logs"},
    {"logs", R"({"task":"nobody"})", "not-found", "nobody"},
    {"logs", R"({"task":"../x"})", "not-found", "../x"},
    {"logs", R"({"task":"a","from":-1})", "invalid", "from"},
    {"logs", "{}", "invalid", "logs: task: missing"},
    {"bid", TASK("b"), "ok", "bid"},
    {"bid", "{}", "invalid", "bid: task: missing"},
    {"get", R"({"what":"tasks"})", "ok", "tasks"},
    {"get", R"({"what":"plan"})", "ok", "plan"},
    {"get", R"({"what":"power"})", "ok", "power"},
    {"get", R"({"what":"status"})", "ok", "status"},
    {"get", R"({"what":"config"})", "ok", "config"},
    {"get", R"({"what":"config","key":"cgroups"})", "ok", "config"},
    {"get", R"({"what":"events","since_ms":5,"before":{"epoch":2,"seq":3}})", "ok", "events"},
    {"get", R"({"what":"events","since_ms":-1})", "invalid", "since_ms"},
    {"get", R"({"what":"events","since_ms":"yesterday"})", "invalid", "since_ms"},
    {"get", R"({"what":"events","before":{"epoch":2}})", "invalid", "before/seq: missing"},
    {"get", R"({"what":"ended"})", "ok", "ended"},
    {"get", R"({"what":"ended","since_ms":5,"before_task":{"key":3}})", "ok", "ended"},
    {"get", R"({"what":"ended","before_task":{}})", "invalid", "before_task/key: missing"},
    {"get", R"({"what":"ended","before_task":{"key":0}})", "invalid", "before_task/key"},
    {"get", R"({"what":"task"})", "invalid", "did you mean \"tasks\"?"},
    {"get", "{}", "invalid", "what: missing"},
    {"drain", "{}", "ok", "drain"},
    {"drain", R"({"wait":true})", "invalid", "unknown key"},
    {"undrain", "{}", "ok", ""},
    {"undrain", R"({"task":"a"})", "invalid", "unknown key"},
    {"cap", R"({"power_w":12.5,"for_s":3600})", "ok", "12500mW for 3600s"},
    {"cap", R"({"cap":"12.5W","for":"1h"})", "ok", "12500mW for 3600s"},
    {"cap", R"({"cap":"12500mW"})", "ok", "12500mW"},
    {"cap", R"({"power_w":null})", "ok", "no operator's cap"},
    {"cap", "{}", "ok", "no operator's cap"},
    {"cap", R"({"power_w":-3})", "invalid", "cap: power_w: expected a power above 0"},
    {"cap", R"({"power_w":"12"})", "invalid", "above 0"},
    {"cap", R"({"power_w":1e9})", "invalid", "up to 10 kW"},
    {"cap", R"({"cap":"12"})", "invalid", "cap: cap: '12' has no unit"},
    {"cap", R"({"cap":12})", "invalid", "above 0"},
    {"cap", R"({"cap":"12W","power_w":12})", "invalid", "give one of them"},
    {"cap", R"({"power_w":12,"for_s":0.5})", "invalid", "for_s: expected from 1 s"},
    {"cap", R"({"power_w":12,"for":"0s"})", "invalid", "for: expected from 1 s"},
    {"cap", R"({"power_w":12,"for":"500d"})", "invalid", "366 days"},
    {"cap", R"({"power_w":12,"fro":"1h"})", "invalid", "did you mean \"for\"?"},
    {"upgrade", R"({"version":"0.2.0~rc1+b-2"})", "ok", "asked root for 0.2.0~rc1+b-2"},
    {"upgrade", R"({"version":"-o=evil"})", "invalid", "no version of a package"},
    {"upgrade", R"({"version":"1 2"})", "invalid", "no version of a package"},
    {"upgrade", "{}", "invalid", "version: missing"},
    {"config", R"({"set":{"slice":"2s"},"dry_run":true})", "ok", "would change slice"},
    {"config", R"({"sett":{}})", "invalid", "did you mean \"set\"?"},
    {"dance", "{}", "invalid", "no command 'dance'; there are ping, submit,"},
    {"drian", "{}", "invalid", "did you mean 'drain'?"},
};

std::string text(const Value& object, const char* key) {
  const Value* found = object.find(key, json::Kind::kString);
  return found == nullptr ? "" : found->as_string();
}

// An answer in the form that both ways have in common.
struct Answered {
  std::string code;
  std::string text;
  Value data;
};

Answered of_reply(const Value& reply) {
  return {text(reply, "code"), text(reply, "text"), *reply.find("data")};
}

Answered of_line(const Value& line) {
  Answered out;
  if (!line.find("ok")->as_bool()) {
    out.code = text(line, "code");
    std::replace(out.code.begin(), out.code.end(), ' ', '-');
    out.text = text(line, "error");
    return out;
  }
  out.code = "ok";
  out.text = text(line, "text");
  out.data = Value::object();
  for (const auto& [key, value] : line.members()) {
    if (key != "ok") out.data.set(key, value);
  }
  return out;
}

// What operators can change, in words.
std::string changed(const core::State& state) {
  std::string out = state.draining ? "draining" : "";
  if (state.power.operator_cap_mw) {
    out += " cap " + std::to_string(*state.power.operator_cap_mw) + " until " +
           std::to_string(state.power.operator_cap_until);
  }
  for (const core::Task& task : state.live) {
    out += " " + task.spec.name + "=" + std::string(core::name(task.state));
  }
  for (const core::Task& task : state.ended) {
    out += " " + task.spec.name + "=" + std::string(core::name(task.outcome));
  }
  return out;
}

// A board of its own for every case, with a task that stays because nothing reaps its trainer, and
// one that is over because there was no room for it.
struct Board : CommandedBoard {
  explicit Board(std::string_view verb = "") : CommandedBoard(R"(["*"])") {
    const auto made = parse_request(Way::kLocal, "submit", parsed(TASK("a")));
    core::Submitted task = std::get<core::Submitted>(std::get<core::OperatorRequest>(*made));
    board.agent->submit(task.spec, {});
    task.spec.name = "over";
    board.agent->process();
    task.spec.memory_bytes = board.agent->state().config.memory_bytes;
    board.agent->submit(task.spec, {});
    board.agent->cancel("over", {});
    board.agent->process();
    // What is synced to a disk takes its time: only for those who look at it.
    if (verb != "models" && verb != "rollback" && verb != "pull") return;
    place_model("one");
    place_model("two");
  }
  // A version of the model "day" on the board.
  void place_model(const std::string& text) {
    const std::string shelf = board.folder.path() + "/state/models/day";
    const std::string from = board.folder.path() + "/from";
    std::ofstream(from) << text;
    Result<promote::Shelf> opened = promote::Shelf::open(shelf);
    const Result<promote::Draft> draft = opened->begin();
    TEST_ASSERT_TRUE(opened->put(*draft, from, "model.onnx", sha256_of(text)).has_value());
    TEST_ASSERT_TRUE(opened->commit(*draft, Value::object().set("choice", "onnx")).has_value());
    // Its age is told, and boards are compared.
    std::filesystem::last_write_time(shelf + "/versions/" + draft->number + "/promoted.json", {});
  }
  // Without what differs between two boards: the folder they live in.
  Answered signed_answer(const Case& c) { return plain(of_reply(send(command(c.verb, c.body)))); }
  Answered local_answer(const char* verb, const char* body) {
    Value line = Value::object().set("op", verb);
    const Value members = parsed(body);
    for (const auto& [key, value] : members.members()) line.set(key, value);
    return plain(of_line(ask_locally(json::to_text(line))));
  }

 private:
  Answered plain(Answered answer) const {
    std::string all = json::to_text(answer.data);
    const std::string& folder = board.folder.path();
    for (auto at = all.find(folder); at != std::string::npos; at = all.find(folder)) {
      all.erase(at, folder.size());
    }
    answer.data = parsed(all);
    return answer;
  }
};

void assert_same(const Answered& a, const Answered& b, const std::string& about) {
  TEST_ASSERT_EQUAL_STRING_MESSAGE(a.code.c_str(), b.code.c_str(), about.c_str());
  TEST_ASSERT_EQUAL_STRING_MESSAGE(a.text.c_str(), b.text.c_str(), about.c_str());
  TEST_ASSERT_EQUAL_STRING_MESSAGE(json::to_text(a.data).c_str(), json::to_text(b.data).c_str(),
                                   about.c_str());
}

std::string page(const char* name) {
  std::ifstream in(std::string(LAIRD_SOURCE_DIR) + "/docs/" + name);
  std::ostringstream out;
  out << in.rdbuf();
  return out.str();
}

}  // namespace

TEST(every_verb_has_a_case_that_works_and_one_that_does_not) {
  for (const Verb& verb : verbs()) {
    const auto has = [&verb](bool works) {
      return std::any_of(std::begin(kCases), std::end(kCases), [&](const Case& c) {
        return c.verb == verb.name && (std::string_view(c.code) == "ok") == works;
      });
    };
    const std::string name(verb.name);
    TEST_ASSERT_TRUE_MESSAGE(has(true), name.c_str());
    TEST_ASSERT_TRUE_MESSAGE(has(false), name.c_str());
  }
}

TEST(both_ways_in_answer_the_same_and_do_the_same) {
  for (const Case& c : kCases) {
    const std::string about = std::string(c.verb) + " " + c.body;
    Board over_network(c.verb);
    const Answered signed_one = over_network.signed_answer(c);
    TEST_ASSERT_EQUAL_STRING_MESSAGE(c.code, signed_one.code.c_str(),
                                     (about + ": " + signed_one.text).c_str());
    TEST_ASSERT_TRUE_MESSAGE(signed_one.text.find(c.text) != std::string::npos,
                             (about + ": " + signed_one.text).c_str());
    Board at_socket(c.verb);
    const Answered local = at_socket.local_answer(c.verb, c.body);
    const Verb* verb = find_verb(c.verb);
    if (verb != nullptr && verb->who == WhoMay::kSignedOnly) {
      TEST_ASSERT_EQUAL_STRING_MESSAGE("refused", local.code.c_str(), about.c_str());
      continue;
    }
    TEST_ASSERT_EQUAL_STRING_MESSAGE(c.code, local.code.c_str(), about.c_str());
    // The socket's answer to a question has either a text or what it consists of.
    if (signed_one.data.is(json::Kind::kObject)) {
      TEST_ASSERT_EQUAL_STRING_MESSAGE(json::to_text(signed_one.data).c_str(),
                                       json::to_text(local.data).c_str(), about.c_str());
    } else {
      TEST_ASSERT_EQUAL_STRING_MESSAGE(signed_one.text.c_str(), local.text.c_str(), about.c_str());
    }
    TEST_ASSERT_EQUAL_STRING_MESSAGE(changed(over_network.state()).c_str(),
                                     changed(at_socket.state()).c_str(), about.c_str());
  }
}

TEST(every_old_verb_of_the_socket_stands_for_one_of_the_table) {
  struct Pair {
    const char* old_verb;
    const char* old_body;
    const char* verb;
    const char* body;
  };
  constexpr Pair kPairs[] = {
      {"cap-set", R"({"cap":"15W","for":"1h"})", "cap", R"({"power_w":15,"for_s":3600})"},
      {"cap-clear", "{}", "cap", R"({"power_w":null})"},
      {"tasks", "{}", "get", R"({"what":"tasks"})"},
      {"power", "{}", "get", R"({"what":"power"})"},
      {"status", "{}", "get", R"({"what":"status"})"},
  };
  for (const OldVerb& old : old_verbs()) {
    const auto* pair = std::find_if(std::begin(kPairs), std::end(kPairs),
                                    [&old](const Pair& p) { return p.old_verb == old.name; });
    TEST_ASSERT_TRUE_MESSAGE(pair != std::end(kPairs), std::string(old.name).c_str());
    Board before;
    Board now;
    const Answered first = before.local_answer(pair->old_verb, pair->old_body);
    TEST_ASSERT_EQUAL_STRING_MESSAGE("ok", first.code.c_str(), first.text.c_str());
    assert_same(first, now.local_answer(pair->verb, pair->body), pair->old_verb);
    TEST_ASSERT_EQUAL_STRING(changed(before.state()).c_str(), changed(now.state()).c_str());
    // Rights name the verbs of the table, so an old one has none.
    const Answered refused = now.signed_answer({pair->old_verb, pair->old_body, "", ""});
    TEST_ASSERT_EQUAL_STRING("invalid", refused.code.c_str());
    TEST_ASSERT_TRUE_MESSAGE(
        refused.text.find("did you mean '" + std::string(old.verb) + "'?") != std::string::npos,
        refused.text.c_str());
  }
}

TEST(a_body_is_an_object) {
  for (const char* verb : {"ping", "cap", "cap-set", "cap-clear", "tasks", "dance"}) {
    const auto request = parse_request(Way::kLocal, verb, Value::string(""));
    TEST_ASSERT_FALSE_MESSAGE(request.has_value(), verb);
    TEST_ASSERT_EQUAL_STRING("the body of a command is an object", request.error().context.c_str());
  }
}

TEST(an_old_verb_keeps_its_own_rules) {
  Board board;
  // A slip must not take a cap back.
  TEST_ASSERT_EQUAL_STRING("invalid", board.local_answer("cap-set", "{}").code.c_str());
  TEST_ASSERT_EQUAL_STRING("invalid",
                           board.local_answer("cap-clear", R"({"cap":"15W"})").code.c_str());
  TEST_ASSERT_EQUAL_STRING("invalid", board.local_answer("tasks", R"({"x":1})").code.c_str());
}

TEST(what_was_done_before_is_said_by_the_answer_itself) {
  Board board;
  const mqtt::Command drain = board.command("drain");
  TEST_ASSERT_EQUAL_STRING("ok", of_reply(board.send(drain)).code.c_str());
  const Answered again = of_reply(board.send(drain));
  TEST_ASSERT_EQUAL_STRING("replayed", again.code.c_str());
  TEST_ASSERT_EQUAL_STRING("done before", again.text.c_str());
}

TEST(the_pages_have_the_tables) {
  TEST_ASSERT_TRUE_MESSAGE(page("mqtt-api.md").find(verbs_reference()) != std::string::npos,
                           ("put this table into docs/mqtt-api.md:\n" + verbs_reference()).c_str());
  TEST_ASSERT_TRUE_MESSAGE(
      page("lairctl.md").find(old_verbs_reference()) != std::string::npos,
      ("put this table into docs/lairctl.md:\n" + old_verbs_reference()).c_str());
}
