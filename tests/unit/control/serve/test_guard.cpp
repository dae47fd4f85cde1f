#include "control/serve/guard.hpp"

#include "tests/harness/unit.hpp"

using namespace laird;
using namespace laird::control::serve;

namespace {

Guard guard(bool control = false) { return {"0123456789abcdef", {"127.0.0.1"}, false, control}; }

http::Request request(const std::string& path, std::string method = "GET") {
  http::Request out;
  out.method = std::move(method);
  out.path = path;
  out.headers = {{"host", "127.0.0.1:9478"}, {"authorization", "Bearer 0123456789abcdef"}};
  return out;
}

http::Request with(http::Request out, const std::string& name, const std::string& value) {
  std::erase_if(out.headers, [&](const auto& header) { return header.first == name; });
  if (!value.empty()) out.headers.emplace_back(name, value);
  return out;
}

void assert_status(int wanted, const http::Request& asked, const Guard& by = guard()) {
  TEST_ASSERT_EQUAL_INT(wanted, judge(asked, by).status);
}

}  // namespace

TEST(data_needs_the_token_and_the_page_itself_does_not) {
  const http::Request data = request("/api/stream");
  assert_status(200, data);
  assert_status(401, with(data, "authorization", ""));
  assert_status(401, with(data, "authorization", "Bearer 0123456789abcdee"));
  assert_status(401, with(data, "authorization", "Bearer 0123456789abcdef0"));
  assert_status(401, with(data, "authorization", "Basic 0123456789abcdef"));
  assert_status(200, with(request("/"), "authorization", ""));
}

TEST(a_name_that_was_made_to_point_here_is_refused) {
  for (const char* host : {"evil.example:9478", "127.0.0.1.evil.example", "", "127.0.0.1:x"}) {
    assert_status(421, with(request("/"), "host", host));
  }
  Guard anywhere = guard();
  anywhere.any_address = true;
  assert_status(200, with(request("/"), "host", "10.1.2.3:9478"), anywhere);
  assert_status(421, with(request("/"), "host", "evil.example"), anywhere);
}

TEST(what_a_foreign_page_sends_is_refused) {
  const http::Request data = request("/api/stream");
  assert_status(200, with(data, "origin", "http://127.0.0.1:9478"));
  assert_status(403, with(data, "origin", "http://evil.example"));
  assert_status(403, with(data, "origin", "null"));
  assert_status(403, with(data, "sec-fetch-site", "cross-site"));
  assert_status(200, with(data, "sec-fetch-site", "same-origin"));
}

TEST(orders_are_taken_only_with_control_from_the_page_and_as_json) {
  const http::Request order =
      with(with(request("/api/order", "POST"), "origin", "http://127.0.0.1:9478"), "content-type",
           "application/json");
  assert_status(405, order);
  assert_status(200, order, guard(true));
  assert_status(403, with(order, "origin", ""), guard(true));
  assert_status(415, with(order, "content-type", "text/plain"), guard(true));
  assert_status(401, with(order, "authorization", ""), guard(true));
  assert_status(405, request("/", "DELETE"), guard(true));
}

TEST(texts_are_compared_whole) {
  TEST_ASSERT_TRUE(equal_in_constant_time("abc", "abc"));
  for (const char* other : {"", "ab", "abd", "abcd", "xbc"}) {
    TEST_ASSERT_FALSE(equal_in_constant_time(other, "abc"));
  }
}
