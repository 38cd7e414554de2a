#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "couplet/ctt/blocks.hpp"

namespace couplet {

/// Rows over the feature modes as they travel: few bytes that every receiver turns into the same numbers.
///
/// Dense (no ranks): rows x (I2 ... IN) numbers. A train: core n has R_{n-1} x I_n x R_n numbers, R_1 = rows; the first
/// core carries the norm, the others are nearly orthonormal.
///
/// - integers: the numbers are integers times a step, entropy-coded in one stream. Dense rows and the first core have
///   `step` itself; slice r of a later core has step / (norm of the column r of all cores before it), so that every
///   core adds error alike. Those norms come from the numbers decoded before.
/// - floats: 32-bit numbers, little endian.
struct BlockCode {
    enum class Kind { integers, floats };

    Kind kind = Kind::integers;
    Index rows = 0;
    Shape features = {};
    std::vector<Index> ranks = {};  ///< R_1 ... R_N of a train; empty: dense
    double step = 0;                ///< of integers
    std::vector<std::byte> bytes = {};

    /// Numbers that are coded.
    Index numbers() const;
};

/// Size of the last mode where a row of the code is a matrix of such rows: see encode_integers().
Index code_inner(const BlockCode& code);

/// Throws InputError unless rows and ranks are at least 1 and fit together, the step is positive and finite, and floats
/// have the bytes their numbers need. Nothing is allocated.
void check_code(const BlockCode& code);

/// The cores of a code: one of rows x P x 1 where it is dense. Throws InputError for bytes that do not decode, or
/// decode to numbers that are not finite. Fixed order of operations: the same bits on every machine.
std::vector<Tensor<double>> decode_cores(const BlockCode& code);

/// The rows, ready to be merged; carries the code, so that it travels again as it came.
FeatureBlock decode_block(std::shared_ptr<const BlockCode> code);
/// The same for one who has decode_cores(*code) already: its sender.
FeatureBlock decoded_block(std::shared_ptr<const BlockCode> code, std::vector<Tensor<double>> cores);

/// The features that everybody uses: the same row space, right-orthonormal cores, rows by falling norm, which is their
/// weight. Rows that others span already are left out. Plain loops in a fixed order, no BLAS: every party holds the
/// same bits. Throws InputError when nothing is left (a coordinator sends at least one direction). Cost: about 4 R1^2 P
/// flops for dense rows, sum of 8 R_{n-1} I_n R_n (R_{n-1} + R_n) for a train.
Features decode_features(std::shared_ptr<const BlockCode> code);
Features decoded_features(std::shared_ptr<const BlockCode> code, std::vector<Tensor<double>> cores);

}  // namespace couplet
