// What members have told this node of the register: who its keepers are, and what it says of this
// node's account. A word is believed when enough members say it alike; what one member says alone
// changes nothing. docs/ledger.md, "Liars".
//
// The transport vouches for who says a word (see Ledger), so nobody has more than one voice here.
// Invariant: each list holds one word of a speaker, the last one, and at most kSpeakersMax.
#pragma once

#include <optional>
#include <vector>

#include "base/time.hpp"
#include "consensus/message.hpp"

namespace laird::consensus {

class Words {
 public:
  // Who keeps the register, as a member knows it.
  struct Guide {
    NodeId by = 0;
    TimeNs at = 0;
    Epoch founding_epoch = 0;
    std::uint32_t version = 0;
    std::vector<Account> keepers;
    void archive(Archive& ar);
  };

  void hear_guide(NodeId by, Epoch founding_epoch, std::uint32_t version,
                  const std::vector<Account>& keepers, TimeNs now);
  void hear_statement(const Account& by, const StatementBody& body);

  // The newest founding that `needed` members say they take part in; 0: none.
  [[nodiscard]] Epoch agreed_epoch(std::size_t needed) const;
  // The newest keepers of a founding that `needed` members name alike, or that `trusted` names,
  // from a later version than `after` and told since then.
  [[nodiscard]] std::optional<Guide> agreed_keepers(Epoch founding_epoch, std::uint32_t after,
                                                    std::size_t needed,
                                                    std::optional<NodeId> trusted,
                                                    TimeNs since) const;
  // What `needed` of these keepers say alike of the account of that incarnation, from a later
  // version than `after`.
  [[nodiscard]] std::optional<StatementBody> agreed_statement(const std::vector<Account>& keepers,
                                                              std::uint32_t incarnation,
                                                              std::uint32_t after,
                                                              std::size_t needed) const;
  // Whether a keeper has said something of the account that too few others have confirmed yet.
  [[nodiscard]] bool unconfirmed(std::uint32_t incarnation, std::uint32_t after) const;
  // How many members have spoken since then.
  [[nodiscard]] std::size_t speakers(TimeNs since) const;
  // Statements of one founding mean nothing in another.
  void forget_statements() { statements_.clear(); }
  void forget() { *this = {}; }
  void archive(Archive& ar);

 private:
  struct Statement {
    Account by;
    StatementBody body;
    void archive(Archive& ar);
  };
  std::vector<Guide> guides_;
  std::vector<Statement> statements_;
};

}  // namespace laird::consensus
