#pragma once

#include <memory>
#include <optional>

#include "couplet/ctt/block_code.hpp"

namespace couplet {

/// What a code may lose, in absolute squares.
struct CodeLimits {
    double total2 = 0;  ///< of everything: rows that vanish and the error of the others
    double error2 = 0;  ///< of the others alone
};

struct CodedRows {
    std::shared_ptr<const BlockCode> code;
    std::vector<Index> kept;                 ///< rows that are left
    double dropped2 = 0;                     ///< of the rows that became zero and are not sent
    double error2 = 0;                       ///< of the others: what the receiver decodes against what they were
    std::vector<Tensor<double>> cores = {};  ///< decode_cores(*code): who coded them knows them
};

/// Rows quantised with the largest step within the limits, as dense rows or as a train, whichever is fewer bytes. One
/// step for all rows is reverse water-filling: rows whose energy lies below it vanish, so the limits choose rank and
/// precision together. Rows should be orthogonal and by falling norm, as D_k = S_k V_k^T is.
///
/// The step is found by bisection on the measured error; the last probe is what is sent. Nothing comes back where the
/// limits ask for more than 30 bits a number, or the rows are zero.
/// Cost: some ten quantisations of the rows, one SVD of every feature bond, and for each probe of a train the product
/// of its cores.
std::optional<CodedRows> code_rows(const Matrix<double>& rows, const Shape& features, const CodeLimits& limits);

/// The same for a number of bytes: the smallest step whose code has at most so many, in the form that loses less.
/// Nothing where even the largest number alone takes more, or the rows are zero.
std::optional<CodedRows> code_rows_within(const Matrix<double>& rows, const Shape& features, Index bytes);

/// The same for rows that are only held as a train with right-orthonormal cores 2..N, too many to be multiplied out.
std::optional<CodedRows> code_train(const TensorTrain<double>& train, const CodeLimits& limits);
std::optional<CodedRows> code_train_within(const TensorTrain<double>& train, Index bytes);

/// One row of zeros: what travels where there is nothing but zeros.
std::shared_ptr<const BlockCode> zero_code(const Shape& features);
/// One direction that hardly weighs anything, the first number alone: the features of a federation of zeros.
std::shared_ptr<const BlockCode> idle_code(const Shape& features);

/// The block in 32-bit numbers, in the form it has, and the error that makes. Throws InputError where such numbers
/// cannot hold it: the largest beyond 3e38 or below 1e-30.
CodedRows float_block(const FeatureBlock& block);

}  // namespace couplet
