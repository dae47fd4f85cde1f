#include "http/request.hpp"

#include "tests/harness/unit.hpp"

using namespace laird::http;

namespace {

constexpr Limits kSmall{1'024, 16};

void assert_verdict(Verdict wanted, std::string_view bytes) {
  TEST_ASSERT_EQUAL_INT_MESSAGE(static_cast<int>(wanted),
                                static_cast<int>(parse_request(bytes, kSmall).verdict),
                                std::string(bytes.substr(0, 60)).c_str());
}

}  // namespace

TEST(a_request_is_read_with_its_headers_query_and_body) {
  const Parsed parsed = parse_request(
      "POST /api/order?what=a%20b&n HTTP/1.1\r\nHost: a:1\r\nX-Two:  b \r\nContent-Length: 3\r\n"
      "\r\nabcrest",
      kSmall);
  TEST_ASSERT_EQUAL_INT(static_cast<int>(Verdict::kWhole), static_cast<int>(parsed.verdict));
  const Request& request = parsed.request;
  TEST_ASSERT_EQUAL_STRING("POST", request.method.c_str());
  TEST_ASSERT_EQUAL_STRING("/api/order", request.path.c_str());
  TEST_ASSERT_EQUAL_STRING("a b", query_value(request.query, "what").c_str());
  TEST_ASSERT_EQUAL_STRING("", query_value(request.query, "n").c_str());
  TEST_ASSERT_EQUAL_STRING("abc", request.body.c_str());
  TEST_ASSERT_TRUE(request.header("host") == "a:1");
  TEST_ASSERT_TRUE(request.header("x-two") == "b");
  TEST_ASSERT_TRUE(request.header("origin").empty());
}

TEST(a_request_that_is_not_there_whole_is_waited_for) {
  const std::string_view whole = "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\nab";
  for (std::size_t n = 0; n < whole.size(); ++n) {
    assert_verdict(Verdict::kIncomplete, whole.substr(0, n));
  }
  assert_verdict(Verdict::kWhole, whole);
}

TEST(what_is_too_large_is_refused_before_it_is_read) {
  assert_verdict(Verdict::kHeadTooLarge, "GET / HTTP/1.1\r\nA: " + std::string(2'000, 'x'));
  assert_verdict(Verdict::kBodyTooLarge, "POST / HTTP/1.1\r\nContent-Length: 17\r\n\r\n");
  assert_verdict(Verdict::kBodyTooLarge,
                 "POST / HTTP/1.1\r\nContent-Length: 18446744073709551615\r\n\r\n");
}

TEST(what_two_servers_may_read_differently_is_refused) {
  for (const char* bad :
       {"GET /\r\n\r\n", "GET / HTTP/2.0\r\n\r\n", "GET  / HTTP/1.1\r\n\r\n",
        "G(T / HTTP/1.1\r\n\r\n", "GET http://a/ HTTP/1.1\r\n\r\n",
        "GET / HTTP/1.1\r\nno colon\r\n\r\n", "GET / HTTP/1.1\r\n folded: a\r\n\r\n",
        "GET / HTTP/1.1\r\nHost : a\r\n\r\n", "GET / HTTP/1.1\r\nHost: a\r\nhost: b\r\n\r\n",
        "GET / HTTP/1.1\r\nOrigin: a\r\nOrigin: a\r\n\r\n",
        "GET / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n",
        "GET / HTTP/1.1\r\nContent-Length: -1\r\n\r\n",
        "GET / HTTP/1.1\r\nContent-Length: 1 1\r\n\r\n",
        "GET / HTTP/1.1\r\nContent-Length: 99999999999999999999999\r\n\r\n",
        "GET / HTTP/1.1\r\nA: b\nC: d\r\n\r\n", "GET / HTTP/1.1\r\nA: \x80\r\n\r\n",
        "\x16\x03\x01\r\n\r\n"}) {
    assert_verdict(Verdict::kBad, bad);
  }
  std::string many = "GET / HTTP/1.1\r\n";
  for (std::size_t i = 0; i <= kHeadersMax; ++i) many += "A: b\r\n";
  assert_verdict(Verdict::kBad, many + "\r\n");
}

TEST(a_query_that_cannot_be_decoded_is_empty) {
  TEST_ASSERT_EQUAL_STRING("", query_value("a=%4", "a").c_str());
  TEST_ASSERT_EQUAL_STRING("", query_value("a=%zz", "a").c_str());
  TEST_ASSERT_EQUAL_STRING("A", query_value("b=1&a=%41", "a").c_str());
  TEST_ASSERT_EQUAL_STRING("", query_value("aa=1", "a").c_str());
}
