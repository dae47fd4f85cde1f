#include "mqtt/sign/tls_probe.hpp"

#include <fcntl.h>
#include <netdb.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <memory>
#include <utility>

#include "mqtt/sign/openssl.hpp"

namespace laird::mqtt {
namespace {

using openssl::fail_openssl;
using Context = std::unique_ptr<SSL_CTX, openssl::Release<SSL_CTX_free>>;
using Session = std::unique_ptr<SSL, openssl::Release<SSL_free>>;
using Addresses = std::unique_ptr<addrinfo, openssl::Release<freeaddrinfo>>;

// A broker that refuses our certificate says so only after our side of the handshake is done.
constexpr DurationNs kAlertWait = 300 * kMillisecond;

class Socket {
 public:
  explicit Socket(int fd) : fd_(fd) {}
  Socket(Socket&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Socket& operator=(Socket&&) = delete;
  ~Socket() {
    if (fd_ >= 0) ::close(fd_);
  }
  [[nodiscard]] int get() const { return fd_; }

 private:
  int fd_;
};

bool wait_for(int fd, short events, DurationNs wait) {
  pollfd one{fd, events, 0};
  return ::poll(&one, 1, static_cast<int>(wait / kMillisecond)) > 0;
}

// Returns 0 or an errno.
int connect_within(int fd, const addrinfo& to, DurationNs wait) {
  if (::connect(fd, to.ai_addr, to.ai_addrlen) == 0) return 0;
  if (errno != EINPROGRESS) return errno;
  if (!wait_for(fd, POLLOUT, wait)) return ETIMEDOUT;
  int error = 0;
  socklen_t size = sizeof error;
  if (::getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size) != 0) return errno;
  return error;
}

Result<Socket> reach(const ProbeTarget& target, DurationNs wait) {
  const std::string port = std::to_string(target.port);
  const std::string place = target.host + " port " + port;
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  const int unresolved = ::getaddrinfo(target.host.c_str(), port.c_str(), &hints, &found);
  if (unresolved != 0) {
    return fail(Code::kUnavailable, "the name " + target.host + " leads nowhere: " +
                                        ::gai_strerror(unresolved) + ": check DNS or /etc/hosts");
  }
  const Addresses all(found);
  int error = EHOSTUNREACH;
  for (const addrinfo* at = found; at != nullptr; at = at->ai_next) {
    Socket socket(::socket(at->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
    if (socket.get() < 0) continue;
    error = connect_within(socket.get(), *at, wait);
    if (error == 0) return socket;
  }
  const char* hint = error == ECONNREFUSED ? ": nothing listens there; is the broker running?"
                     : error == ETIMEDOUT  ? ": no answer; is there a route, a firewall?"
                                           : "";
  auto out = fail_errno(error, place);
  out.value().code = Code::kUnavailable;
  out.value().context += hint;
  return out;
}

std::string handshake_text(SSL* session, const ProbeTarget& target) {
  const long verdict = SSL_get_verify_result(session);
  const std::string why = openssl::last_error();
  if (verdict == X509_V_ERR_HOSTNAME_MISMATCH || verdict == X509_V_ERR_IP_ADDRESS_MISMATCH) {
    return "the broker's certificate is not for " + target.host +
           ": issue it for that name (lairctl pki issue broker --host " + target.host + ")";
  }
  if (verdict != X509_V_OK) {
    return std::string("the broker's certificate is not trusted: ") +
           X509_verify_cert_error_string(verdict) + "; " + target.ca + " must be its fleet's";
  }
  if (why.find("alert") != std::string::npos) {
    return "the broker does not take our certificate " + target.cert + ": " + why;
  }
  return why.empty() ? "the broker closed the connection in the TLS handshake"
                     : "the TLS handshake failed: " + why;
}

// Runs one nonblocking step of the session until it is done, fails or takes too long.
template <class Step>
int drive(SSL* session, int fd, DurationNs wait, Step step) {
  while (true) {
    const int rc = step();
    const int want = SSL_get_error(session, rc);
    if (want != SSL_ERROR_WANT_READ && want != SSL_ERROR_WANT_WRITE) return rc;
    if (!wait_for(fd, want == SSL_ERROR_WANT_READ ? POLLIN : POLLOUT, wait)) return 0;
  }
}

}  // namespace

Status probe(const ProbeTarget& target, DurationNs wait_max) {
  const auto socket = reach(target, wait_max);
  LAIRD_TRY(socket);
  if (!target.tls) return {};
  const Context context(SSL_CTX_new(TLS_client_method()));
  if (!context || SSL_CTX_load_verify_locations(context.get(), target.ca.c_str(), nullptr) != 1 ||
      SSL_CTX_use_certificate_chain_file(context.get(), target.cert.c_str()) != 1 ||
      SSL_CTX_use_PrivateKey_file(context.get(), target.key.c_str(), SSL_FILETYPE_PEM) != 1) {
    return fail_openssl(Code::kInvalid, "cannot use the TLS files");
  }
  SSL_CTX_set_verify(context.get(), SSL_VERIFY_PEER, nullptr);
  const Session session(SSL_new(context.get()));
  if (!session || SSL_set_fd(session.get(), socket->get()) != 1) {
    return fail_openssl(Code::kIo, "cannot begin TLS");
  }
  X509_VERIFY_PARAM* checks = SSL_get0_param(session.get());
  if (X509_VERIFY_PARAM_set1_ip_asc(checks, target.host.c_str()) != 1) {
    ERR_clear_error();
    SSL_set_tlsext_host_name(session.get(), target.host.c_str());
    X509_VERIFY_PARAM_set1_host(checks, target.host.c_str(), 0);
  }
  ERR_clear_error();
  const int shaken =
      drive(session.get(), socket->get(), wait_max, [&] { return SSL_connect(session.get()); });
  if (shaken != 1) return fail(Code::kRefused, handshake_text(session.get(), target));
  char byte = 0;
  const int got = drive(session.get(), socket->get(), kAlertWait,
                        [&] { return SSL_read(session.get(), &byte, 1); });
  const bool silent = got == 0 && SSL_get_error(session.get(), got) == SSL_ERROR_WANT_READ;
  if (got > 0 || silent) return {};
  return fail(Code::kRefused, handshake_text(session.get(), target));
}

}  // namespace laird::mqtt
