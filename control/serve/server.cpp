#include "control/serve/server.hpp"

#include <poll.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>

#include "agent/settings/listen_address.hpp"
#include "base/harmless.hpp"
#include "config/schema.hpp"
#include "control/serve/assets.hpp"
#include "http/request.hpp"

namespace laird::control::serve {
namespace {

using json::Value;

constexpr int kBacklog = 32;
constexpr DurationNs kTickEvery = 500 * kMillisecond;
constexpr DurationNs kRequestMax = 5 * kSecond;   // until a request is whole
constexpr DurationNs kAnswerMax = 15 * kSecond;   // until an answer is written
constexpr DurationNs kStalledMax = 30 * kSecond;  // a browser that takes nothing for so long
constexpr http::Limits kLimits{8 * 1024, kOrderBytesMax};

BrowserQueue::Text shared(std::string text) {
  return std::make_shared<const std::string>(std::move(text));
}

}  // namespace

TimeNs steady_wall_ns() {
  using std::chrono::duration_cast;
  using std::chrono::nanoseconds;
  using Steady = std::chrono::steady_clock;
  static const Steady::time_point start = Steady::now();
  static const TimeNs wall = unix_ms_now() * kMillisecond;
  return wall + duration_cast<nanoseconds>(Steady::now() - start).count();
}

Server::Server(ServerOptions options, FleetClient& client, OrderRunner& orders, Fd listener)
    : options_(std::move(options)),
      client_(client),
      orders_(orders),
      listener_(std::move(listener)),
      feed_(options_.feed, steady_wall_ns()) {
  link_since_ = now();
}

Result<std::unique_ptr<Server>> Server::open(ServerOptions options, FleetClient& client,
                                             OrderRunner& orders) {
  const auto at = agent::parse_listen_address(options.listen);
  LAIRD_TRY(at);
  Fd fd(::socket(at->address.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd) return fail_errno(errno, "the page's socket");
  const int on = 1;
  ::setsockopt(fd.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  const auto* address = reinterpret_cast<const sockaddr*>(&at->address);
  if (::bind(fd.get(), address, at->length) != 0 || ::listen(fd.get(), kBacklog) != 0) {
    return fail_errno(errno, "cannot serve the page on " + options.listen +
                                 "; choose another address with --listen 127.0.0.1:PORT");
  }
  return std::unique_ptr<Server>(new Server(std::move(options), client, orders, std::move(fd)));
}

TimeNs Server::now() const { return steady_wall_ns(); }

int Server::run(int signals) {
  for (;;) {
    wait_for_something(signals);
    signalfd_siginfo info{};
    if (::read(signals, &info, sizeof info) == static_cast<ssize_t>(sizeof info)) {
      return static_cast<int>(info.ssi_signo);
    }
    client_.wait(after(0), [] { return true; });
    collect_replies();
    collect_orders();
    if (now() >= tick_at_) tick();
    drop_late();
  }
}

void Server::wait_for_something(int signals) {
  std::vector<pollfd> files = {
      {listener_.get(), POLLIN, 0}, {signals, POLLIN, 0}, {client_.ready_fd(), POLLIN, 0}};
  for (const int fd : orders_.files()) files.push_back({fd, POLLIN, 0});
  const std::size_t first = files.size();
  for (const auto& [fd, visitor] : visitors_) {
    const short out = visitor.out.empty() ? short{0} : short{POLLOUT};
    files.push_back({fd, static_cast<short>(POLLIN | out), 0});
  }
  const DurationNs left = std::max<DurationNs>(0, tick_at_ - now());
  ::poll(files.data(), files.size(), static_cast<int>(left / kMillisecond) + 1);
  for (std::size_t i = first; i < files.size(); ++i) {
    const auto found = visitors_.find(files[i].fd);
    if (found == visitors_.end() || files[i].revents == 0) continue;
    if ((files[i].revents & ~POLLOUT) != 0) read_some(found->second);
    if (!found->second.out.empty()) write_some(found->second);
    if (!found->second.fd) visitors_.erase(found);
  }
  if (files[0].revents != 0) accept_some();
}

// What has come since the last time goes to every browser.
void Server::tick() {
  tick_at_ = now() + kTickEvery;
  if (client_.connected() != link_up_) {
    link_up_ = !link_up_;
    link_since_ = now();
  }
  feed_.take(client_.view(), link(), now());
  const BrowserQueue::Text change = shared(feed_.changes(client_.view(), now()));
  BrowserQueue::Text whole;
  for (auto& [fd, visitor] : visitors_) {
    if (!visitor.watching) continue;
    if (visitor.out.needs_whole()) {
      if (!whole) whole = shared(feed_.whole(client_.view(), now()));
      visitor.out.put(whole);
    } else {
      visitor.out.offer(change);
    }
    write_some(visitor);
  }
  std::erase_if(visitors_, [](const auto& one) { return !one.second.fd; });
}

void Server::accept_some() {
  for (std::size_t i = 0; i < kVisitorsMax / 2; ++i) {
    Fd fd(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!fd) return;
    make_room();
    const int number = fd.get();
    Visitor visitor;
    visitor.fd = std::move(fd);
    visitor.number = ++came_;
    visitor.until = now() + kRequestMax;
    visitors_.insert_or_assign(number, std::move(visitor));
  }
}

// Whoever has asked for nothing yet gives way to the next; then the oldest that does not watch.
void Server::make_room() {
  if (visitors_.size() < kVisitorsMax) return;
  const auto worth = [](const Visitor& v) {
    return std::tuple(v.watching, v.answered || v.order != 0 || !v.question.empty(), v.number);
  };
  const auto first = std::min_element(
      visitors_.begin(), visitors_.end(),
      [&](const auto& a, const auto& b) { return worth(a.second) < worth(b.second); });
  if (!first->second.question.empty()) client_.forget(first->second.question);
  visitors_.erase(first);
}

void Server::read_some(Visitor& visitor) {
  char block[4096];
  const ssize_t n = ::recv(visitor.fd.get(), block, sizeof block, 0);
  if (n < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (n <= 0) {
    if (!visitor.question.empty()) client_.forget(visitor.question);
    visitor.fd.reset();
    return;
  }
  // Whatever comes behind a request is read and dropped: a page asks once.
  if (visitor.answered || visitor.order != 0 || !visitor.question.empty()) return;
  visitor.asked.append(block, static_cast<std::size_t>(n));
  http::Parsed parsed = http::parse_request(visitor.asked, kLimits);
  switch (parsed.verdict) {
    case http::Verdict::kIncomplete: return;
    case http::Verdict::kWhole: handle(visitor, parsed.request); break;
    case http::Verdict::kBad: refuse(visitor, 400, "this is no request"); break;
    case http::Verdict::kHeadTooLarge: refuse(visitor, 431, "the head is too large"); break;
    case http::Verdict::kBodyTooLarge: refuse(visitor, 413, "the body is too large"); break;
  }
  visitor.asked.clear();
  visitor.asked.shrink_to_fit();
}

void Server::write_some(Visitor& visitor) {
  while (visitor.fd && !visitor.out.empty()) {
    const std::string_view next = visitor.out.next();
    const ssize_t n = ::send(visitor.fd.get(), next.data(), next.size(), MSG_NOSIGNAL);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && errno == EAGAIN) return;
    if (n <= 0) {
      visitor.fd.reset();
      return;
    }
    visitor.out.written(static_cast<std::size_t>(n));
    if (visitor.watching) visitor.until = now() + kStalledMax;
  }
  if (visitor.answered && !visitor.watching) visitor.fd.reset();
}

void Server::drop_late() {
  const TimeNs at = now();
  std::erase_if(visitors_, [&](const auto& one) {
    if (one.second.fd && at < one.second.until) return false;
    if (!one.second.question.empty()) client_.forget(one.second.question);
    return true;
  });
}

void Server::answer(Visitor& visitor, http::Response response) {
  response.headers += safety_headers();
  visitor.answered = true;
  visitor.until = now() + kAnswerMax;
  visitor.out.put(shared(http::to_text(response)));
  write_some(visitor);
}

void Server::answer_json(Visitor& visitor, int status, const Value& value) {
  answer(visitor, {status, "application/json", json::to_text(value), {}});
}

void Server::refuse(Visitor& visitor, int status, const std::string& why) {
  http::Response response{status, "text/plain; charset=utf-8", why + "\n", {}};
  if (status == 405)
    response.headers = options_.guard.control ? "Allow: GET, POST\r\n" : "Allow: GET\r\n";
  answer(visitor, std::move(response));
}

void Server::handle(Visitor& visitor, const http::Request& request) {
  const Judgement judged = judge(request, options_.guard);
  if (judged.status != 200) return refuse(visitor, judged.status, judged.why);
  const std::string& path = request.path;
  if (request.method == "POST") {
    if (path == "/api/order") return take_order(visitor, request);
    return refuse(visitor, 404, "there is no such thing to order");
  }
  const auto asset = [&](std::string_view type, std::string text) {
    answer(visitor, {200, type, std::move(text), {}});
  };
  if (path == "/") return asset("text/html; charset=utf-8", std::string(page_html()));
  if (path == "/page.js") return asset("text/javascript; charset=utf-8", page_script());
  if (path == "/page.css") return asset("text/css; charset=utf-8", page_style());
  if (path == "/api/stream") return watch(visitor);
  if (path == "/api/why") return ask_why(visitor, request);
  const std::string board = http::query_value(request.query, "board");
  Value found;
  if (path == "/api/board") found = feed_.board(client_.view(), board);
  if (path == "/api/task") {
    found = feed_.task(client_.view(), {board, http::query_value(request.query, "task")});
  }
  if (found.is(json::Kind::kNull)) return refuse(visitor, 404, "there is no such thing here");
  answer_json(visitor, 200, found);
}

void Server::watch(Visitor& visitor) {
  const auto watching = std::count_if(visitors_.begin(), visitors_.end(),
                                      [](const auto& one) { return one.second.watching; });
  if (static_cast<std::size_t>(watching) >= kBrowsersMax) {
    return refuse(visitor, 503,
                  std::to_string(kBrowsersMax) + " pages watch already; close one of them");
  }
  visitor.answered = true;
  visitor.watching = true;
  visitor.until = now() + kStalledMax;
  feed_.take(client_.view(), link(), now());
  std::string head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n";
  head += safety_headers();
  head += "Cache-Control: no-store\r\nConnection: close\r\n\r\n";
  visitor.out.put(shared(std::move(head)));
  visitor.out.put(shared(feed_.whole(client_.view(), now())));
  write_some(visitor);
}

void Server::take_order(Visitor& visitor, const http::Request& request) {
  const auto order = parse_order(request.body);
  if (!order) return refuse(visitor, 400, order.error().context);
  const auto number = orders_.start(*order, now());
  if (!number) {
    return refuse(visitor, number.error().code == Code::kFull ? 429 : 503, number.error().context);
  }
  visitor.order = *number;
  visitor.until = now() + kOrderTimeMax + kAnswerMax;
}

void Server::collect_orders() {
  for (const OrderRunner::Done& done : orders_.collect(now())) {
    for (auto& [fd, visitor] : visitors_) {
      if (visitor.order != done.number) continue;
      visitor.order = 0;
      answer_json(
          visitor, 200,
          Value::object().set("ok", done.code == 0).set("code", done.code).set("text", done.text));
    }
  }
}

void Server::ask_why(Visitor& visitor, const http::Request& request) {
  const std::string board = http::query_value(request.query, "board");
  const std::string task = http::query_value(request.query, "task");
  if (!config::is_name(board) || !config::is_name(task)) {
    return refuse(visitor, 400, "board and task are wanted, by their names");
  }
  const auto asking = std::count_if(visitors_.begin(), visitors_.end(),
                                    [](const auto& one) { return !one.second.question.empty(); });
  if (static_cast<std::size_t>(asking) >= kQuestionsMax) {
    return refuse(visitor, 429, "other questions are under way; ask again");
  }
  const auto found = client_.view().boards().find(board);
  if (found == client_.view().boards().end()) return refuse(visitor, 404, "there is no such board");
  if (!found->second.is_live()) {
    return refuse(visitor, 503, board + " is " + found->second.state + " and cannot be asked");
  }
  const auto sent = client_.send(board, "why", Value::object().set("task", task), options_.timeout);
  if (!sent) return refuse(visitor, 503, sent.error().context);
  visitor.question = sent->id;
  visitor.board = board;
  visitor.until = now() + options_.timeout + kAnswerMax;
}

void Server::collect_replies() {
  for (auto& [fd, visitor] : visitors_) {
    if (visitor.question.empty()) continue;
    const auto& replies = client_.replies(visitor.question);
    const auto reply = replies.find(visitor.board);
    const bool late = now() > visitor.until - kAnswerMax;
    if (reply == replies.end() && !late) continue;
    const std::string question = std::exchange(visitor.question, {});
    if (reply == replies.end()) {
      refuse(visitor, 504, visitor.board + " did not answer in time");
    } else {
      const Value* text = reply->second.data.find("text", json::Kind::kString);
      const bool ok = reply->second.code == mqtt::ReplyCode::kOk && text != nullptr;
      answer_json(visitor, 200,
                  Value::object().set("ok", ok).set("text", ok ? harmless_lines(text->as_string())
                                                               : harmless(reply->second.text)));
    }
    client_.forget(question);
  }
}

}  // namespace laird::control::serve
