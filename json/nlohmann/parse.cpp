// The only file that names nlohmann::json: its SAX parser fills our tree. No exception leaves it.
#include <cstdint>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "json/value.hpp"

namespace laird::json {
namespace {

// An input iterator that counts lines as the lexer reads, which is how values get theirs: the
// vendor's SAX events carry no position.
class CountingIterator {
 public:
  using iterator_category = std::input_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char*;
  using reference = const char&;

  CountingIterator(const char* at, int* line) : at_(at), line_(line) {}
  reference operator*() const { return *at_; }
  CountingIterator& operator++() {
    if (*at_ == '\n') ++*line_;
    ++at_;
    return *this;
  }
  bool operator==(const CountingIterator& other) const { return at_ == other.at_; }
  bool operator!=(const CountingIterator& other) const { return at_ != other.at_; }

 private:
  const char* at_;
  int* line_;
};

class TreeBuilder final : public nlohmann::json_sax<nlohmann::json> {
 public:
  TreeBuilder(const ParseLimits& limits, const int* line) : limits_(limits), line_(line) {}

  bool null() override { return place(Value()); }
  bool boolean(bool v) override { return place(Value::boolean(v)); }
  bool number_integer(number_integer_t v) override { return place(Value::integer(v)); }
  bool number_unsigned(number_unsigned_t v) override {
    if (v <= static_cast<number_unsigned_t>(std::numeric_limits<std::int64_t>::max())) {
      return place(Value::integer(static_cast<std::int64_t>(v)));
    }
    return place(Value::number(static_cast<double>(v)));
  }
  bool number_float(number_float_t v, const string_t&) override { return place(Value::number(v)); }
  bool string(string_t& v) override { return place(Value::string(std::move(v))); }
  bool binary(binary_t&) override { return refuse("binary data has no place in JSON text"); }

  bool start_object(std::size_t) override { return open(Value::object()); }
  bool start_array(std::size_t) override { return open(Value::array()); }
  bool key(string_t& key) override {
    if (!is_new(key)) {
      return refuse("the key " + json::quoted(key) + " is there twice: remove one");
    }
    key_ = std::move(key);
    return true;
  }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }

  bool parse_error(std::size_t, const std::string& last_token,
                   const nlohmann::detail::exception&) override {
    std::string near = last_token;
    if (near.size() > 40) near = "..." + near.substr(near.size() - 37);
    // It may be no text at all, or cut inside a character.
    for (char& c : near) {
      if (static_cast<unsigned char>(c) >= 0x80) c = '?';
    }
    return refuse(near.empty() ? "the text ends too early"
                               : "not valid JSON near " + json::quoted(near));
  }

  [[nodiscard]] const std::string& problem() const { return problem_; }
  [[nodiscard]] Value take() { return std::move(root_); }

 private:
  bool refuse(std::string why) {
    if (problem_.empty()) problem_ = std::move(why);
    return false;
  }

  // To look through a long object for each of its keys would take the square of its length.
  bool is_new(const std::string& key) {
    constexpr std::size_t kFew = 16;
    const std::vector<Value::Member>& members = open_.back()->members();
    if (members.size() < kFew) return open_.back()->find(key) == nullptr;
    std::set<std::string>& known = keys_.back();
    if (known.empty()) {
      for (const Value::Member& member : members) known.insert(member.first);
    }
    return known.insert(key).second;
  }

  Value* attach(Value value) {
    if (open_.empty()) {
      root_ = std::move(value);
      return &root_;
    }
    Value& parent = *open_.back();
    if (parent.is(Kind::kArray)) {
      parent.items().push_back(std::move(value));
      return &parent.items().back();
    }
    parent.members().emplace_back(std::move(key_), std::move(value));
    return &parent.members().back().second;
  }

  bool place(Value value) {
    if (++values_ > limits_.values_max) {
      return refuse("more than " + std::to_string(limits_.values_max) + " values");
    }
    value.set_line(*line_);
    attach(std::move(value));
    return true;
  }

  // Pointers in open_ stay valid: only the innermost container grows while it is open.
  bool open(Value value) {
    if (static_cast<int>(open_.size()) >= limits_.depth_max) {
      return refuse("nested deeper than " + std::to_string(limits_.depth_max) + " levels");
    }
    if (++values_ > limits_.values_max) {
      return refuse("more than " + std::to_string(limits_.values_max) + " values");
    }
    value.set_line(*line_);
    open_.push_back(attach(std::move(value)));
    keys_.emplace_back();
    return true;
  }

  bool close() {
    open_.pop_back();
    keys_.pop_back();
    return true;
  }

  const ParseLimits& limits_;
  const int* line_;
  Value root_;
  std::vector<Value*> open_;
  std::vector<std::set<std::string>> keys_;  // of each of `open_`, once it has many
  std::string key_;
  std::string problem_;
  std::size_t values_ = 0;
};

tl::unexpected<Error> fail_at(std::string_view source, int line, const std::string& what) {
  return tl::make_unexpected(
      Error{Code::kInvalid, std::string(source) + ":" + std::to_string(line) + ": " + what, line});
}

}  // namespace

Result<Value> parse(std::string_view text, std::string_view source, const ParseLimits& limits) {
  if (text.size() > limits.bytes_max) {
    return fail(Code::kInvalid, std::string(source) + ": " + std::to_string(text.size()) +
                                    " bytes, the limit is " + std::to_string(limits.bytes_max));
  }
  int line = 1;
  TreeBuilder builder(limits, &line);
  bool ok = false;
  try {
    ok = nlohmann::json::sax_parse(CountingIterator(text.data(), &line),
                                   CountingIterator(text.data() + text.size(), &line), &builder,
                                   nlohmann::json::input_format_t::json, true, limits.comments);
  } catch (const std::exception& e) {
    return fail_at(source, line, e.what());
  }
  if (!ok) return fail_at(source, line, builder.problem());
  return builder.take();
}

}  // namespace laird::json
