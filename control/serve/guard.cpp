#include "control/serve/guard.hpp"

#include <algorithm>

namespace laird::control::serve {
namespace {

constexpr std::string_view kScheme = "Bearer ";

bool is_number_address(std::string_view host) {
  if (host.starts_with('[')) return true;
  return !host.empty() && std::all_of(host.begin(), host.end(),
                                      [](char c) { return (c >= '0' && c <= '9') || c == '.'; });
}

bool is_known(std::string_view host, const Guard& guard) {
  if (guard.any_address && is_number_address(host)) return true;
  return std::find(guard.hosts.begin(), guard.hosts.end(), host) != guard.hosts.end();
}

// A browser tells where a request comes from; other programs do not.
bool is_foreign(const http::Request& request) {
  const std::string_view origin = request.header("origin");
  if (!origin.empty() && origin != "http://" + std::string(request.header("host"))) return true;
  const std::string_view site = request.header("sec-fetch-site");
  return !site.empty() && site != "same-origin" && site != "none";
}

bool has_token(const http::Request& request, const Guard& guard) {
  const std::string_view told = request.header("authorization");
  return told.starts_with(kScheme) &&
         equal_in_constant_time(told.substr(kScheme.size()), guard.token);
}

}  // namespace

bool equal_in_constant_time(std::string_view a, std::string_view b) {
  unsigned differ = a.size() == b.size() ? 0U : 1U;
  for (std::size_t i = 0; i < b.size(); ++i) {
    const char other = i < a.size() ? a[i] : '\0';
    differ |=
        static_cast<unsigned>(static_cast<unsigned char>(other) ^ static_cast<unsigned char>(b[i]));
  }
  return differ == 0;
}

std::string host_of(std::string_view host_and_port) {
  const std::size_t bracket = host_and_port.rfind(']');
  const std::size_t colon =
      host_and_port.find(':', bracket == std::string_view::npos ? 0 : bracket);
  const std::string_view host = host_and_port.substr(0, colon);
  const bool has_port = colon != std::string_view::npos;
  const std::string_view port = has_port ? host_and_port.substr(colon + 1) : std::string_view();
  const bool good_port =
      !has_port || (!port.empty() && std::all_of(port.begin(), port.end(),
                                                 [](char c) { return c >= '0' && c <= '9'; }));
  return good_port ? std::string(host) : std::string();
}

bool is_public(std::string_view path) {
  return path == "/" || path == "/page.js" || path == "/page.css";
}

Judgement judge(const http::Request& request, const Guard& guard) {
  if (!is_known(host_of(request.header("host")), guard)) {
    return {421, "this page is not known by that name; open the address that lairctl printed"};
  }
  const bool post = request.method == "POST";
  if (request.method != "GET" && !(post && guard.control)) {
    return {405, post ? "this page only shows; lairctl serve --control also takes orders"
                      : "GET is all there is"};
  }
  if (post && (request.header("origin").empty() || is_public(request.path))) {
    return {403, "an order comes from the page itself"};
  }
  if (is_public(request.path)) return {};
  if (is_foreign(request)) return {403, "this comes from another page"};
  if (!has_token(request, guard)) {
    return {401, "the token is missing or wrong; open the address that lairctl printed"};
  }
  if (post && request.header("content-type") != "application/json") {
    return {415, "an order is application/json"};
  }
  return {};
}

std::string_view safety_headers() {
  return "Content-Security-Policy: default-src 'none'; script-src 'self'; style-src 'self'; "
         "connect-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; "
         "frame-ancestors 'none'\r\n"
         "X-Content-Type-Options: nosniff\r\n"
         "X-Frame-Options: DENY\r\n"
         "Referrer-Policy: no-referrer\r\n"
         "Cross-Origin-Opener-Policy: same-origin\r\n"
         "Cross-Origin-Resource-Policy: same-origin\r\n";
}

}  // namespace laird::control::serve
