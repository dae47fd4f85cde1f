#include "agent/view/http_request.hpp"

#include "agent/settings/listen_address.hpp"
#include "tests/harness/unit.hpp"

using namespace laird::agent;

namespace {

void assert_verdict(HttpVerdict expected, std::string_view bytes) {
  TEST_ASSERT_EQUAL_INT(static_cast<int>(expected), static_cast<int>(judge_request(bytes).verdict));
}

}  // namespace

TEST(only_get_metrics_is_served) {
  assert_verdict(HttpVerdict::kMetrics, "GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n");
  assert_verdict(HttpVerdict::kMetrics, "GET /metrics?a=b HTTP/1.0\r\n\r\n");
  TEST_ASSERT_TRUE(judge_request("HEAD /metrics HTTP/1.1\r\n\r\n").head);
  assert_verdict(HttpVerdict::kNotFound, "GET / HTTP/1.1\r\n\r\n");
  assert_verdict(HttpVerdict::kNotFound, "GET /metrics/../etc/passwd HTTP/1.1\r\n\r\n");
  assert_verdict(HttpVerdict::kNotAllowed, "POST /metrics HTTP/1.1\r\n\r\n");
  assert_verdict(HttpVerdict::kBad, "GET /metrics\r\n\r\n");
  assert_verdict(HttpVerdict::kBad, "GET /metrics HTTP/2.0\r\n\r\n");
  assert_verdict(HttpVerdict::kBad, "\x16\x03\x01\r\n\r\n");
  assert_verdict(HttpVerdict::kBad, "GET /a b HTTP/1.1\r\n\r\n");
}

TEST(a_request_is_read_to_its_end_and_no_further_than_the_limit) {
  assert_verdict(HttpVerdict::kIncomplete, "GET /metrics HTTP/1.1\r\nHost: x\r\n");
  assert_verdict(HttpVerdict::kIncomplete, "");
  assert_verdict(HttpVerdict::kTooLarge, "GET /metrics HTTP/1.1\r\n" + std::string(5000, 'x'));
  const std::string late =
      "GET /metrics HTTP/1.1\r\n" + std::string(kHttpRequestMax, 'x') + "\r\n\r\n";
  assert_verdict(HttpVerdict::kTooLarge, late);
}

TEST(an_answer_says_how_long_it_is_and_closes) {
  const std::string good = http_response({HttpVerdict::kMetrics, false}, "a 1\n# EOF\n");
  TEST_ASSERT_TRUE(good.starts_with("HTTP/1.1 200 OK\r\n"));
  TEST_ASSERT_TRUE(good.find("application/openmetrics-text; version=1.0.0") != std::string::npos);
  TEST_ASSERT_TRUE(good.find("Content-Length: 10\r\n") != std::string::npos);
  TEST_ASSERT_TRUE(good.ends_with("\r\n\r\na 1\n# EOF\n"));
  TEST_ASSERT_TRUE(http_response({HttpVerdict::kMetrics, true}, "abc").ends_with("\r\n\r\n"));
  TEST_ASSERT_TRUE(http_response({HttpVerdict::kNotAllowed, false}, "").find("Allow: GET") !=
                   std::string::npos);
}

TEST(addresses_are_numbers_and_loopback_is_known) {
  TEST_ASSERT_TRUE(parse_listen_address("127.0.0.1:9477")->loopback);
  TEST_ASSERT_TRUE(parse_listen_address("[::1]:9477")->loopback);
  TEST_ASSERT_FALSE(parse_listen_address("0.0.0.0:9477")->loopback);
  TEST_ASSERT_FALSE(parse_listen_address("[::]:9477")->loopback);
  for (const char* wrong : {"localhost:9477", "127.0.0.1", "127.0.0.1:0", "127.0.0.1:70000",
                            ":9477", "[]:1", "127.0.0.1:94x", "::1:9477"}) {
    TEST_ASSERT_FALSE_MESSAGE(parse_listen_address(wrong).has_value(), wrong);
  }
}
