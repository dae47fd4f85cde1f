#include "trainer_protocol/to_agent.hpp"

#include <charconv>
#include <cmath>
#include <utility>

#include "base/require.hpp"
#include "json/value.hpp"
#include "mqtt/codec/base64.hpp"
#include "mqtt/codec/limits.hpp"
#include "mqtt/codec/topics.hpp"

namespace laird::trainer_protocol {
namespace {

using json::Kind;
using json::Value;
using Type = TrainerMessage::Type;

constexpr double kAmountMax = 1e15;

Result<std::uint64_t> count_of(const Value& message, std::string_view key) {
  const Value* value = message.find(key);
  if (value == nullptr) return fail(Code::kInvalid, "\"" + std::string(key) + "\" is missing");
  if (!value->is(Kind::kInteger) || value->as_integer() < 0 ||
      static_cast<std::uint64_t>(value->as_integer()) > kSamplesMax) {
    return fail(Code::kInvalid, "\"" + std::string(key) + "\" is no count of samples");
  }
  return static_cast<std::uint64_t>(value->as_integer());
}

Status read_loss(const Value& message, TrainerMessage& out) {
  const Value* loss = message.find("loss");
  if (loss == nullptr || !loss->is_number() || !std::isfinite(loss->as_double())) {
    return fail(Code::kInvalid, "\"loss\" is no finite number");
  }
  out.loss = loss->as_double();
  return {};
}

Status read_ready(const Value& message, TrainerMessage& out) {
  const Value* version = message.find("v", Kind::kInteger);
  if (version == nullptr || version->as_integer() != kVersion) {
    return fail(Code::kInvalid, "the trainer does not speak protocol version 1");
  }
  // null or absent: the trainer does not know how long it will go on.
  const Value* planned = message.find("planned_samples");
  if (planned == nullptr || planned->is(Kind::kNull)) return {};
  const Result<std::uint64_t> count = count_of(message, "planned_samples");
  LAIRD_TRY(count);
  out.planned_samples = *count;
  return {};
}

Result<TrainerMessage> read_share(const Value& message) {
  const Value* to = message.find("to", Kind::kString);
  const Value* data = message.find("data", Kind::kString);
  if (to == nullptr || data == nullptr) {
    return fail(Code::kInvalid, "a share without \"to\" or \"data\"");
  }
  TrainerMessage out;
  out.type = Type::kToPeers;
  if (to->as_string() != "*") {
    if (!mqtt::is_node_id(to->as_string())) return fail(Code::kInvalid, "a share to no node");
    out.to = to->as_string();
  }
  Result<std::string> bytes = mqtt::from_base64(data->as_string());
  if (!bytes || bytes->empty()) return fail(Code::kInvalid, "a share whose data is no base64");
  if (bytes->size() > mqtt::kModelPartBytesMax) {
    return fail(Code::kInvalid,
                "a share of more than " + std::to_string(mqtt::kModelPartBytesMax) + " bytes");
  }
  out.bytes = std::move(*bytes);
  return out;
}

Result<TrainerMessage> read_yield(const Value& message) {
  const Value* ms = message.find("for_ms", Kind::kInteger);
  if (ms == nullptr || ms->as_integer() < 1 || ms->as_integer() > kYieldMax / kMillisecond) {
    return fail(Code::kInvalid, "a yield without \"for_ms\", 1 to 1000");
  }
  TrainerMessage out;
  out.type = Type::kYield;
  out.for_ns = ms->as_integer() * kMillisecond;
  return out;
}

std::optional<double> part_of(const Value& message, std::string_view key) {
  const Value* value = message.find(key);
  if (value == nullptr || !value->is_number()) return std::nullopt;
  const double part = value->as_double();
  if (!(part >= 0.0 && part <= 1.0)) return std::nullopt;
  return part;
}

Result<TrainerMessage> read_group(const Value& message) {
  TrainerMessage out;
  out.type = Type::kGroup;
  GroupStatus& group = out.group;
  const Result<std::uint64_t> round = count_of(message, "round");
  LAIRD_TRY(round);
  const Result<std::uint64_t> rounds = count_of(message, "rounds");
  LAIRD_TRY(rounds);
  if (*round > UINT32_MAX || *rounds > UINT32_MAX) return fail(Code::kInvalid, "no such round");
  group.round = static_cast<std::uint32_t>(*round);
  group.rounds = static_cast<std::uint32_t>(*rounds);
  if (const Value* note = message.find("note", Kind::kString)) group.note = note->as_string();
  if (group.note.size() > kGroupNoteMax) return fail(Code::kInvalid, "too long a note of a group");
  group.accuracy = part_of(message, "accuracy");
  const Value* epsilon = message.find("epsilon");
  if (epsilon != nullptr && epsilon->is_number() && epsilon->as_double() >= 0.0) {
    group.epsilon = epsilon->as_double();
    group.delta = part_of(message, "delta").value_or(0.0);
  }
  const Value* boards = message.find("boards", Kind::kArray);
  const Value* waits = message.find("waits_for", Kind::kArray);
  if (boards == nullptr || waits == nullptr || boards->items().size() > kGroupBoardsMax ||
      waits->items().size() > kGroupBoardsMax) {
    return fail(Code::kInvalid, "a group without \"boards\" and \"waits_for\", or with too many");
  }
  for (const Value& board : boards->items()) {
    const Value* node = board.find("node", Kind::kString);
    const Result<std::uint64_t> rows = count_of(board, "rows");
    if (node == nullptr || !mqtt::is_node_id(node->as_string()) || !rows) {
      return fail(Code::kInvalid, "a group with a board that is none");
    }
    group.boards.push_back({node->as_string(), *rows, part_of(board, "accuracy")});
  }
  for (const Value& node : waits->items()) {
    if (!node.is(Kind::kString) || !mqtt::is_node_id(node.as_string())) {
      return fail(Code::kInvalid, "a group that waits for no board");
    }
    group.waits_for.push_back(node.as_string());
  }
  return out;
}

Result<double> amount_of(const Value& message, std::string_view key) {
  const Value* value = message.find(key);
  if (value == nullptr || !value->is_number() || !std::isfinite(value->as_double()) ||
      value->as_double() < 0.0 || value->as_double() > kAmountMax) {
    return fail(Code::kInvalid, "\"" + std::string(key) + "\" is no amount");
  }
  return value->as_double();
}

Status read_promoted(const Value& message, TrainerMessage& out) {
  const Value* choice = message.find("choice", Kind::kString);
  const bool known =
      choice != nullptr && (choice->as_string() == "int8" || choice->as_string() == "fp16" ||
                            choice->as_string() == "fp32" || choice->as_string() == "onnx");
  if (!known) return fail(Code::kInvalid, "\"choice\" is none of int8, fp16, fp32 and onnx");
  Promoted& to = out.promoted;
  to.choice = choice->as_string();
  const std::pair<std::string_view, double*> amounts[] = {{"agreement", &to.agreement},
                                                          {"latency_us_p50", &to.latency_us_p50},
                                                          {"latency_us_p95", &to.latency_us_p95},
                                                          {"latency_us_p99", &to.latency_us_p99},
                                                          {"rows_per_s", &to.rows_per_s}};
  for (const auto& [key, place] : amounts) {
    const Result<double> amount = amount_of(message, key);
    LAIRD_TRY(amount);
    *place = *amount;
  }
  if (to.agreement > 1.0) return fail(Code::kInvalid, "\"agreement\" is more than the whole");
  const Result<std::uint64_t> bytes = count_of(message, "bytes");
  LAIRD_TRY(bytes);
  to.bytes = *bytes;
  if (const Value* note = message.find("note", Kind::kString)) to.note = note->as_string();
  return {};
}

// A progress report as trainers write it, read without a tree: nearly every line of a trainer is
// one. Takes only what the parser of JSON would read the same; of anything else it says nothing.
class PlainProgress {
 public:
  explicit PlainProgress(std::string_view line) : left_(line) {}

  [[nodiscard]] std::optional<TrainerMessage> read() {
    if (!take('{')) return std::nullopt;
    do {
      if (!member()) return std::nullopt;
    } while (take(','));
    const bool whole = take('}') && skip_space().empty();
    if (!whole || !has_type_ || !has_samples_ || !has_loss_) return std::nullopt;
    return out_;
  }

 private:
  std::string_view skip_space() {
    while (!left_.empty() && (left_.front() == ' ' || left_.front() == '\t')) {
      left_.remove_prefix(1);
    }
    return left_;
  }

  bool take(char c) {
    if (!skip_space().starts_with(c)) return false;
    left_.remove_prefix(1);
    return true;
  }

  bool take(std::string_view text) {
    if (!skip_space().starts_with(text)) return false;
    left_.remove_prefix(text.size());
    return true;
  }

  // A key twice is for the parser to judge.
  bool member() {
    if (take("\"samples\"")) return !std::exchange(has_samples_, true) && take(':') && samples();
    if (take("\"loss\"")) return !std::exchange(has_loss_, true) && take(':') && loss();
    if (!take("\"type\"") || std::exchange(has_type_, true) || !take(':')) return false;
    out_.type = Type::kProgress;
    return take("\"progress\"");
  }

  static bool is_digit(char c) { return c >= '0' && c <= '9'; }
  // JSON writes no leading zeros and no sign but a minus, which the parser may have.
  bool begins_number() {
    const std::string_view text = skip_space();
    if (text.empty() || !is_digit(text.front())) return false;
    return text.front() != '0' || text.size() < 2 || !is_digit(text[1]);
  }

  bool samples() {
    if (!begins_number()) return false;
    const auto end = std::from_chars(left_.data(), left_.data() + left_.size(), out_.samples);
    if (end.ec != std::errc() || out_.samples > kSamplesMax) return false;
    left_.remove_prefix(static_cast<std::size_t>(end.ptr - left_.data()));
    return !left_.empty() && left_.front() != '.' && left_.front() != 'e' && left_.front() != 'E';
  }

  bool loss() {
    if (!begins_number()) return false;
    const auto end = std::from_chars(left_.data(), left_.data() + left_.size(), out_.loss);
    if (end.ec != std::errc()) return false;
    const std::string_view read(left_.data(), static_cast<std::size_t>(end.ptr - left_.data()));
    left_.remove_prefix(read.size());
    // from_chars also takes "1." and "1.e5", which are no JSON.
    const std::size_t dot = read.find('.');
    return dot == read.npos || (dot + 1 < read.size() && is_digit(read[dot + 1]));
  }

  std::string_view left_;
  TrainerMessage out_;
  bool has_type_ = false;
  bool has_samples_ = false;
  bool has_loss_ = false;
};

Value typed(std::string_view type) {
  Value v = Value::object();
  v.set("type", type);
  return v;
}

Value count(std::uint64_t n) { return Value::integer(static_cast<std::int64_t>(n)); }

Value number_or_null(std::optional<double> v) { return v ? Value::number(*v) : Value(); }

std::string line_of(const Value& v) { return json::to_text(v) + "\n"; }

// A message whose text is too long for a line is cut.
std::string fitted_line(Value message, std::string_view key, std::string text) {
  for (;;) {
    message.set(std::string(key), text);
    std::string line = line_of(message);
    if (line.size() <= kLineToAgentMax || text.empty()) return line;
    // Escapes make a line longer than its text, so cut by steps; never inside a UTF-8 character.
    text.resize(text.size() - text.size() / 8 - 1);
    while (!text.empty() && (static_cast<unsigned char>(text.back()) & 0x80U) != 0) {
      text.pop_back();
    }
    text += "...";
  }
}

}  // namespace

Result<TrainerMessage> parse_trainer_line(std::string_view line) {
  if (line.size() <= kLineToAgentMax) {
    if (std::optional<TrainerMessage> plain = PlainProgress(line).read()) return std::move(*plain);
  }
  json::ParseLimits limits;
  limits.bytes_max = kToPeersLineMax;
  limits.depth_max = 4;
  limits.values_max = 512;  // a group has many boards
  const Result<Value> message = json::parse(line, "trainer", limits);
  LAIRD_TRY(message);
  const Value* type = message->find("type", Kind::kString);
  if (type == nullptr) return fail(Code::kInvalid, "a message without a \"type\"");
  const std::string& name = type->as_string();
  if (name == "share") return read_share(*message);
  if (name == "yield") return read_yield(*message);
  if (name == "group") return read_group(*message);
  if (name == "meter") {
    TrainerMessage asked;
    asked.type = Type::kMeter;
    return asked;
  }
  if (line.size() > kLineToAgentMax) {
    return fail(Code::kInvalid, "a line longer than " + std::to_string(kLineToAgentMax) + " bytes");
  }
  TrainerMessage out;
  if (name == "error") {
    out.type = Type::kError;
    const Value* text = message->find("message", Kind::kString);
    out.text = text == nullptr ? "no reason given" : text->as_string();
    return out;
  }
  const Result<std::uint64_t> samples = count_of(*message, "samples");
  LAIRD_TRY(samples);
  out.samples = *samples;
  Status ok;
  if (name == "ready") {
    out.type = Type::kReady;
    ok = read_ready(*message, out);
  } else if (name == "progress") {
    out.type = Type::kProgress;
    ok = read_loss(*message, out);
  } else if (name == "checkpointed") {
    out.type = Type::kCheckpointed;
  } else if (name == "done") {
    out.type = Type::kDone;
  } else if (name == "promoted") {
    out.type = Type::kPromoted;
    ok = read_promoted(*message, out);
  } else {
    ok = fail(Code::kInvalid, "unknown message type " + json::quoted(name.substr(0, 40)));
  }
  LAIRD_TRY(ok);
  return out;
}

std::optional<TrainerMessage> parse_progress_line(std::string_view line) {
  constexpr std::string_view kMark = "laird: samples=";
  if (!line.starts_with(kMark)) return std::nullopt;
  line.remove_prefix(kMark.size());
  TrainerMessage out;
  out.type = Type::kProgress;
  const auto count = std::from_chars(line.data(), line.data() + line.size(), out.samples);
  if (count.ec != std::errc() || out.samples > kSamplesMax) return std::nullopt;
  line.remove_prefix(static_cast<std::size_t>(count.ptr - line.data()));
  constexpr std::string_view kLoss = " loss=";
  if (!line.starts_with(kLoss)) return std::nullopt;
  line.remove_prefix(kLoss.size());
  while (!line.empty() && (line.back() == '\r' || line.back() == ' ')) line.remove_suffix(1);
  const auto loss = std::from_chars(line.data(), line.data() + line.size(), out.loss);
  if (loss.ec != std::errc() || loss.ptr != line.data() + line.size() || !std::isfinite(out.loss)) {
    return std::nullopt;
  }
  return out;
}

std::string ready_line(std::uint64_t samples, std::optional<double> loss, bool resumed,
                       std::optional<std::uint64_t> planned) {
  Value v = typed("ready");
  v.set("v", kVersion);
  v.set("samples", count(samples));
  v.set("loss", number_or_null(loss));
  v.set("resumed", resumed);
  v.set("planned_samples", planned ? count(*planned) : Value());
  return line_of(v);
}

std::string progress_line(std::uint64_t samples, double loss) {
  return line_of(typed("progress").set("samples", count(samples)).set("loss", loss));
}

std::string checkpointed_line(std::uint64_t samples, std::optional<double> loss) {
  return line_of(
      typed("checkpointed").set("samples", count(samples)).set("loss", number_or_null(loss)));
}

std::string done_line(std::uint64_t samples, double loss) {
  return line_of(typed("done").set("samples", count(samples)).set("loss", loss));
}

std::string yield_line(DurationNs for_ns) {
  return line_of(typed("yield").set("for_ms", for_ns / kMillisecond));
}

std::string group_line(const GroupStatus& group) {
  Value boards = Value::array();
  for (const GroupStatus::Board& board : group.boards) {
    boards.add(Value::object()
                   .set("node", board.node)
                   .set("rows", count(board.rows))
                   .set("accuracy", number_or_null(board.accuracy)));
  }
  Value waits = Value::array();
  for (const std::string& node : group.waits_for) waits.add(Value(node));
  Value line = typed("group")
                   .set("round", count(group.round))
                   .set("rounds", count(group.rounds))
                   .set("note", group.note.substr(0, kGroupNoteMax))
                   .set("boards", std::move(boards))
                   .set("waits_for", std::move(waits))
                   .set("accuracy", number_or_null(group.accuracy));
  if (group.epsilon) line.set("epsilon", *group.epsilon).set("delta", group.delta);
  return line_of(line);
}

std::string share_line(std::string_view to, std::string_view bytes) {
  // Neither base64 nor a node's name has anything to escape.
  std::string out = "{\"type\":\"share\",\"to\":\"";
  out += to.empty() ? "*" : to;
  out += "\",\"data\":\"" + mqtt::to_base64(bytes) + "\"}\n";
  LAIRD_REQUIRE(out.size() <= kToPeersLineMax, "a share fits a line");
  return out;
}

std::string error_line(std::string message) {
  return fitted_line(typed("error"), "message", std::move(message));
}

std::string meter_line() { return line_of(typed("meter")); }

std::string promoted_line(std::uint64_t samples, const Promoted& promoted) {
  Value message = typed("promoted");
  message.set("samples", count(samples))
      .set("choice", promoted.choice)
      .set("agreement", promoted.agreement)
      .set("latency_us_p50", promoted.latency_us_p50)
      .set("latency_us_p95", promoted.latency_us_p95)
      .set("latency_us_p99", promoted.latency_us_p99)
      .set("rows_per_s", promoted.rows_per_s)
      .set("bytes", count(promoted.bytes));
  return fitted_line(std::move(message), "note", promoted.note);
}

std::string exported_line(const Exported& exported) {
  Value message = typed("exported");
  message.set("samples", count(exported.samples));
  if (!exported.problem.empty()) {
    return fitted_line(std::move(message), "problem", exported.problem);
  }
  message.set("sha256", exported.sha256).set("bytes", count(exported.bytes));
  return fitted_line(std::move(message), "path", exported.path);
}

Result<Exported> parse_exported_line(std::string_view line) {
  json::ParseLimits limits;
  limits.bytes_max = kLineToAgentMax;
  limits.depth_max = 4;
  limits.values_max = 512;  // a group has many boards
  const Result<Value> message = json::parse(line, "trainer", limits);
  LAIRD_TRY(message);
  const Value* type = message->find("type", Kind::kString);
  if (type == nullptr || type->as_string() != "exported") {
    return fail(Code::kNotFound, "no \"exported\"");
  }
  Exported out;
  const Result<std::uint64_t> samples = count_of(*message, "samples");
  LAIRD_TRY(samples);
  out.samples = *samples;
  if (const Value* problem = message->find("problem", Kind::kString)) {
    out.problem = problem->as_string().empty() ? "no reason given" : problem->as_string();
    return out;
  }
  const Value* path = message->find("path", Kind::kString);
  const Value* sha256 = message->find("sha256", Kind::kString);
  const Result<std::uint64_t> bytes = count_of(*message, "bytes");
  if (path == nullptr || sha256 == nullptr || sha256->as_string().size() != 64 || !bytes) {
    return fail(Code::kInvalid, "exported: needs \"path\", \"sha256\" and \"bytes\"");
  }
  out.path = path->as_string();
  out.sha256 = sha256->as_string();
  out.bytes = *bytes;
  return out;
}

}  // namespace laird::trainer_protocol
