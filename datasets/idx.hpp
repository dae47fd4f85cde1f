// Reader of the IDX format of the MNIST family: big-endian header, then unsigned bytes.
//
// Source: Y. LeCun, "The MNIST database of handwritten digits": two zero bytes, a type byte (8 is
// unsigned byte, the one taken here), the number of dimensions, each dimension in 32 bits.
#pragma once

#include <cstdint>

#include "datasets/byte_source.hpp"
#include "datasets/dataset.hpp"

namespace laird::datasets {

// Rows beyond `rows_max` are not read. Both files must hold as many rows as their headers say.
[[nodiscard]] Result<Dataset> read_idx(ByteSource& images, ByteSource& labels,
                                       std::uint32_t rows_max);

}  // namespace laird::datasets
