// The board's meter, as a promotion under an agent sees it: what was counted for its own task.
#pragma once

#include <optional>
#include <string>

#include "base/error.hpp"
#include "trainer_protocol/from_agent.hpp"

namespace laird::promote {

class Meter {
 public:
  virtual ~Meter() = default;
  [[nodiscard]] virtual Result<trainer_protocol::Metered> look() = 0;
};

// The agent's, asked through whoever started this process: a line out and a line back on `socket`.
class AskedMeter final : public Meter {
 public:
  explicit AskedMeter(int socket) : socket_(socket) {}
  [[nodiscard]] Result<trainer_protocol::Metered> look() override;

 private:
  int socket_;
};

// Mean power above idle between two looks, in watts; an error when too little was read in between.
[[nodiscard]] Result<double> power_between(const trainer_protocol::Metered& first,
                                           const trainer_protocol::Metered& last);

}  // namespace laird::promote
