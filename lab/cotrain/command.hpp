#pragma once

#include "lab/commands.hpp"

namespace laird::lab {

// `laird-lab cotrain`: one model on every board's data, measured on Fashion-MNIST.
void add_cotrain(cli::Command& app, ExitCode& code);

}  // namespace laird::lab
