// Looks at a client's TLS files before they are used, so that a mistake is explained at the start
// and does not show up as a failed handshake.
#pragma once

#include <cstdint>
#include <string>

#include "base/error.hpp"

namespace laird::mqtt {

// All three are PEM and there; the certificate is valid now and signed by the CA; the key is the
// certificate's and not readable by everybody.
[[nodiscard]] Status check_tls_files(const std::string& ca, const std::string& cert,
                                     const std::string& key);

// Seconds until a certificate expires; below zero when it has expired.
[[nodiscard]] Result<std::int64_t> valid_for_s(const std::string& cert);

// The common name of a certificate: a board's id, an operator's name.
[[nodiscard]] Result<std::string> common_name(const std::string& cert);

}  // namespace laird::mqtt
