// exp and log whose every bit is the same on every machine.
//
// Symbols: exp(x) = e^x, log(x) = ln x, doubles in, doubles out.
// Why ours: libm differs between glibc releases and architectures in the last bit, and a decision
// that depends on that bit would not replay. These use only +, -, *, / and integer operations on
// the bits, which IEEE 754 fixes exactly (the build sets -ffp-contract=off, never -ffast-math).
// Accuracy: within 2 units in the last place of the true value over the normal range (tested
// against long double). They are not correctly rounded, and need not be.
// Special values: log(0) = -inf, log(negative) = NaN, log(inf) = inf, NaN in gives NaN out;
// exp overflows to inf above 709.78 and returns 0 below -745.13, subnormal results included.
#pragma once

namespace laird::exact {

[[nodiscard]] double exp(double x);
[[nodiscard]] double log(double x);
// x^y for x > 0, as exp(y log x); about 1e-13 relative for |y log x| < 700.
[[nodiscard]] double pow(double x, double y);
// sqrt is correctly rounded by IEEE 754, so the hardware's is exact already.
[[nodiscard]] double sqrt(double x);

}  // namespace laird::exact
