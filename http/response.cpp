#include "http/response.hpp"

namespace laird::http {

std::string_view status_text(int status) {
  switch (status) {
    case 200: return "200 OK";
    case 400: return "400 Bad Request";
    case 401: return "401 Unauthorized";
    case 403: return "403 Forbidden";
    case 404: return "404 Not Found";
    case 405: return "405 Method Not Allowed";
    case 408: return "408 Request Timeout";
    case 413: return "413 Content Too Large";
    case 415: return "415 Unsupported Media Type";
    case 421: return "421 Misdirected Request";
    case 429: return "429 Too Many Requests";
    case 431: return "431 Request Header Fields Too Large";
    case 503: return "503 Service Unavailable";
    case 504: return "504 Gateway Timeout";
    default: return "500 Internal Server Error";
  }
}

std::string to_text(const Response& response, bool head) {
  std::string out = "HTTP/1.1 " + std::string(status_text(response.status)) + "\r\nContent-Type: ";
  out += response.type;
  out += "\r\nContent-Length: " + std::to_string(response.body.size()) + "\r\n";
  out += response.headers;
  out += "Cache-Control: no-store\r\nConnection: close\r\n\r\n";
  return head ? out : out + response.body;
}

}  // namespace laird::http
