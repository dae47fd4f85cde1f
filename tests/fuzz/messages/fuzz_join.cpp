// Whatever comes on the topics of joining is refused with a reason or is an ask or an answer that
// keeps its bounds; one that is written again parses to the same; and a board believes no answer
// that its authority has not signed.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "agent/join/join_files.hpp"
#include "mqtt/sign/authority.hpp"
#include "mqtt/sign/join_keys.hpp"

namespace {

using laird::mqtt::JoinAnswer;
using laird::mqtt::JoinAsk;

void check_ask(std::string_view text) {
  const auto ask = laird::mqtt::parse_ask(text);
  if (!ask) {
    if (ask.error().context.empty()) std::abort();
    return;
  }
  if (!laird::mqtt::is_serial(ask->serial) || ask->model.size() > 128) std::abort();
  const std::string again = to_signed_text(*ask);
  const auto twice = laird::mqtt::parse_ask(again);
  // Escapes may make it longer than an ask may be; nothing else may differ.
  if (!twice && again.size() <= laird::mqtt::kAskBytesMax) std::abort();
  if (twice && to_signed_text(*twice) != again) std::abort();
}

void check_answer(std::string_view text) {
  const auto answer = laird::mqtt::parse_answer(text);
  if (!answer) return;
  if (answer->to.size() != laird::mqtt::kFingerprintDigits) std::abort();
  if (answer->admitted != !answer->node.empty()) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const auto authority = laird::mqtt::Authority::create("lab", 10);
  static const laird::agent::JoinImage image{"lab", {"mqtts://a:1"}, *authority->cert_pem()};
  static const auto made = laird::mqtt::make_board_key();
  static const laird::agent::BoardKey key{made->key_pem, made->public_key,
                                          laird::mqtt::fingerprint_of(made->public_key)};
  const std::string text(reinterpret_cast<const char*>(data), size);
  check_ask(text);
  check_answer(text);
  if (const auto form = laird::mqtt::parse_ask_message(text)) {
    check_ask(form->text);
    if (laird::mqtt::fits_key(form->key, form->text, form->signature)) std::abort();
  }
  if (judged_answer(text, image, key)) std::abort();
  laird::mqtt::SignedText sealed{text, {}, "signature"};
  if (judged_answer(answer_message(sealed), image, key)) std::abort();
  return 0;
}
