// The files of a new fleet, made step by step: the authority, the first operator, the boards'
// folders, the broker's folder, lairctl's own config. Every step looks first whether it is done, so
// that a run that was killed is completed by the next one, and a run too many changes nothing.
#pragma once

#include <functional>
#include <string>

#include "control/provision/founding/plan.hpp"

namespace laird::control {

struct FoundingPlaces {
  std::string pki;
  std::string enroll;     // a folder for each board
  std::string mosquitto;  // the broker's folder
  std::string broker_at;  // where that folder will stand on the broker's machine
  std::string access;     // lairctl's config; empty: none is written
};

struct FoundingStep {
  std::string what;  // "the authority"
  std::string where;
  bool there = false;  // it was there already
};

struct Founding {
  FoundingPlan plan;
  FoundingPlaces places;
  bool dry_run = false;
  // Told of each step when it is done, or would be.
  std::function<void(const FoundingStep&)> tell;
};

// Refuses before anything is made what can never work: an authority of another fleet.
[[nodiscard]] Status found_files(const Founding& founding);

// lairctl's config for the first operator.
[[nodiscard]] std::string access_text(const FoundingPlan& plan, const std::string& credentials);

}  // namespace laird::control
