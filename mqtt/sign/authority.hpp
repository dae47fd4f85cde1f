// A fleet's certificate authority, in memory: makes certificates and the list of revoked ones.
//
// One authority per fleet. TLS keys are P-256, which every broker takes; commands are signed with
// keys of their own (mqtt/sign/ed25519.hpp). A certificate says what it is for: nobody can pose as
// the broker with the certificate of a board or an operator, or as a client with the broker's.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"

namespace laird::mqtt {

// kJoin: whoever has a board that has no identity yet; it may ask for one and nothing else.
enum class Role : std::uint8_t { kNode, kOperator, kBroker, kJoin };

[[nodiscard]] std::string_view name(Role role);

struct Subject {
  std::string name;  // becomes the common name: the user name that the broker's ACL sees
  Role role = Role::kNode;
  std::vector<std::string> hosts;  // of a broker: names and addresses it is reached by
  std::int64_t days = 825;
};

struct Issued {
  std::string cert_pem;
  std::string key_pem;           // secret; empty when the key was made elsewhere
  std::string serial;            // hexadecimal, capitals
  std::int64_t not_after_s = 0;  // Unix time
};

struct Revoked {
  std::string serial;
  std::int64_t at_s = 0;  // Unix time
};

class Authority {
 public:
  // A new one, for `fleet`; its common name is "laird fleet <fleet>".
  [[nodiscard]] static Result<Authority> create(std::string_view fleet, std::int64_t days);
  [[nodiscard]] static Result<Authority> parse(std::string_view cert_pem, std::string_view key_pem);

  Authority(Authority&&) noexcept;
  Authority& operator=(Authority&&) noexcept;
  ~Authority();

  [[nodiscard]] Result<Issued> issue(const Subject& subject) const;
  // For a key that was made elsewhere and stays there: its public part, DER.
  [[nodiscard]] Result<Issued> issue_for(const Subject& subject, std::string_view public_key) const;
  // The list is valid until the authority itself expires, because an outdated list would lock every
  // board out. Boards never go back to a list of a lower number.
  [[nodiscard]] Result<std::string> revocation_list(const std::vector<Revoked>& revoked,
                                                    std::uint64_t number) const;

  [[nodiscard]] Result<std::string> cert_pem() const;
  [[nodiscard]] Result<std::string> key_pem() const;  // secret

 private:
  struct Parts;
  explicit Authority(std::unique_ptr<Parts> parts);

  std::unique_ptr<Parts> parts_;
};

}  // namespace laird::mqtt
