// The clocks that a cap may lower, through the privileged helper: set, read back, given back.
#include <poll.h>
#include <unistd.h>

#include <charconv>
#include <vector>

#include "agent/selftest/selftest.hpp"
#include "os/child_process.hpp"
#include "power/helper/client.hpp"
#include "power/readers/reader.hpp"

namespace laird::agent::selftest {
namespace {

using json::Value;
using power::priv::Client;

constexpr const char* kSocket = "/run/laird-priv/laird-priv.sock";
constexpr DurationNs kPatience = 5 * kSecond;

Result<Client> open_helper(const Options& options) {
  if (options.root.empty() && options.priv.empty() && ::access(kSocket, F_OK) == 0) {
    return Client::connect(kSocket);
  }
  const std::string program = options.priv.empty() ? program_beside("laird-priv") : options.priv;
  if (program.empty()) return fail(Code::kNotFound, "laird-priv is not installed");
  std::vector<std::string> arguments;
  if (!options.root.empty()) {
    arguments = {"--root", options.root, "--journal", options.root + "/laird-priv.journal"};
  }
  return Client::spawn(program, arguments);
}

// "error not found: no GPU" without its first word.
std::string without_head(const std::string& text) {
  constexpr std::string_view kHead = "error ";
  return text.starts_with(kHead) ? text.substr(kHead.size()) : text;
}

// The numbers of an answer "ok 1 2 3".
Result<std::vector<std::int64_t>> ask(Client& client, const std::string& request) {
  LAIRD_TRY(client.send(request));
  const TimeNs until = power::monotonic_now() + kPatience;
  for (;;) {
    if (const std::optional<power::priv::Reply> reply = client.poll()) {
      if (!reply->ok) return fail(Code::kRefused, without_head(reply->text));
      std::vector<std::int64_t> out;
      const char* p = reply->text.data();
      const char* end = p + reply->text.size();
      while (p < end) {
        std::int64_t value = 0;
        const auto parsed = std::from_chars(p, end, value);
        if (parsed.ec == std::errc{}) out.push_back(value);
        p = parsed.ec == std::errc{} ? parsed.ptr : p + 1;
      }
      if (out.empty()) return fail(Code::kCorrupt, "laird-priv answered '" + reply->text + "'");
      return out;
    }
    if (client.gone()) return fail(Code::kUnavailable, "laird-priv has gone");
    if (power::monotonic_now() >= until) {
      return fail(Code::kUnavailable, "laird-priv did not answer '" + request + "' in 5 s");
    }
    pollfd entry{client.fd(), POLLIN, 0};
    ::poll(&entry, 1, 100);
  }
}

// A value below `now` that the control allows: about two thirds of it.
std::int64_t lower(std::int64_t now, std::int64_t low, const std::vector<std::int64_t>& allowed) {
  std::int64_t best = now;
  for (const std::int64_t value : allowed) {
    if (value >= low && value < now &&
        (best == now || std::abs(value - now * 2 / 3) < std::abs(best - now * 2 / 3))) {
      best = value;
    }
  }
  if (best != now || !allowed.empty()) return best;
  return std::max(low, now * 2 / 3);
}

Finding not_here(const std::string& check, const Error& error) {
  return skipped(check, error.context);
}

// Lowers one clock, reads it back, hangs up as a killed agent would, and looks again.
Finding check_clock(const Options& options, const std::string& check, const std::string& key) {
  Value seen = Value::object();
  std::int64_t before = 0;
  std::int64_t asked = 0;
  {
    Result<Client> client = open_helper(options);
    if (!client) return not_here(check, client.error());
    const Result<std::vector<std::int64_t>> now = ask(*client, "get " + key);
    if (!now) return not_here(check, now.error());
    before = now->front();
    const std::int64_t low = now->size() > 1 ? (*now)[1] : 0;
    const Result<std::vector<std::int64_t>> allowed = ask(*client, "list " + key);
    asked = lower(before, low, allowed ? *allowed : std::vector<std::int64_t>{});
    if (asked == before) {
      return skipped(check, "its clock is at the lowest there is: " + std::to_string(before));
    }
    const Result<std::vector<std::int64_t>> held =
        ask(*client, "set " + key + " " + std::to_string(asked));
    if (!held) {
      return failed(check, "cannot be set: " + held.error().context,
                    "`systemctl status laird-priv`; the report says which file");
    }
    seen.set("before", before).set("asked", asked).set("held", held->front());
    if (held->front() != asked) {
      Finding out = failed(
          check,
          "asked for " + std::to_string(asked) + ", " + std::to_string(held->front()) + " holds",
          "is jetson_clocks in force? `jetson_clocks --restore`");
      out.measured = std::move(seen);
      return out;
    }
  }
  Result<Client> again = open_helper(options);
  if (!again) return failed(check, "laird-priv does not start again: " + again.error().context, "");
  const Result<std::vector<std::int64_t>> after = ask(*again, "get " + key);
  if (!after) return failed(check, "cannot be read again: " + after.error().context, "");
  seen.set("after", after->front());
  Finding out = after->front() == before
                    ? passed(check, "set from " + std::to_string(before) + " to " +
                                        std::to_string(asked) + ", and given back on hanging up")
                    : failed(check,
                             "was not given back: " + std::to_string(after->front()) +
                                 " instead of " + std::to_string(before),
                             "a restart of the board resets it");
  out.measured = std::move(seen);
  return out;
}

Finding check_modes(const Options& options) {
  Result<Client> client = open_helper(options);
  if (!client) return not_here("power modes", client.error());
  const Result<std::vector<std::int64_t>> modes = ask(*client, "list nvpmodel");
  if (!modes) return not_here("power modes", modes.error());
  const Result<std::vector<std::int64_t>> now = ask(*client, "get nvpmodel");
  if (!now) return not_here("power modes", now.error());
  Finding out = passed("power modes", std::to_string(modes->size()) + " may be switched live; " +
                                          std::to_string(now->front()) + " is in force");
  Value live = Value::array();
  for (const std::int64_t mode : *modes) live.add(mode);
  out.measured.set("live", std::move(live)).set("now", now->front());
  return out;
}

}  // namespace

std::vector<Finding> check_knobs(const Options& options) {
  return {check_clock(options, "gpu clock", "gpu-max-freq"),
          check_clock(options, "cpu clock", "cpu-max-freq 0"), check_modes(options)};
}

}  // namespace laird::agent::selftest
