// The list of revoked certificates (CRL, RFC 5280) that a fleet's authority signs. OpenSSL stays
// behind this header.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <string_view>

#include "base/error.hpp"

namespace laird::mqtt {

class Revocations {
 public:
  // None is revoked, and every real list is newer.
  Revocations() = default;
  // `pem` must be signed by the authority whose certificate is the PEM file `ca`.
  [[nodiscard]] static Result<Revocations> parse(std::string_view pem, const std::string& ca);

  // Whether this list may take the other's place: lists are numbered, and a list that is older than
  // the one in force would bring back what was revoked.
  [[nodiscard]] bool newer_than(const Revocations& other) const {
    return number_ != other.number_ ? number_ > other.number_ : issued_s_ > other.issued_s_;
  }
  // The number of the list (crlNumber); lists made before they were numbered count as 0.
  [[nodiscard]] std::uint64_t number() const { return number_; }
  // `serial` as Issued::serial has it.
  [[nodiscard]] bool has(const std::string& serial) const { return serials_.count(serial) != 0; }
  [[nodiscard]] std::size_t size() const { return serials_.size(); }

 private:
  std::uint64_t number_ = 0;
  std::int64_t issued_s_ = -1;  // Unix time
  std::set<std::string> serials_;
};

}  // namespace laird::mqtt
