#pragma once

#include <cstdint>
#include <vector>

#include "couplet/tensor/matrix.hpp"

namespace couplet {

/// Integer vectors, each as long as the others.
using IntegerRows = std::vector<std::vector<std::int64_t>>;

struct ShortVectorOptions {
    double tolerance = 0;  ///< a sum of values this close to zero counts as zero
    double longest = 8;    ///< Euclidean norm of the vectors that are looked for, at most
};

/// Short integer combinations of the rows of `generators` (k vectors of Z^n, independent) for which the sums of
/// `values` (n x d; entry i of a vector times row i) vanish, each column within the tolerance: LLL (Lenstra, Lenstra
/// and Lovasz 1982) with exact integers and a floating-point orthogonalisation (Schnorr and Euchner 1994), bits of the
/// values being taken in a few at a time, so that numbers stay small and directions that no such vector can have are
/// dropped early (van Hoeij and Novocin 2010). Returns a reduced basis of what is left, the vectors in their order.
/// The same for the same numbers: nothing looks at a clock. Additions are taken off `work`; when none are left, nothing
/// is returned. Throws InputError for a tolerance that is not positive and vectors of other lengths.
IntegerRows short_vectors(IntegerRows generators, MatrixView<const double> values, const ShortVectorOptions& options,
                          std::int64_t& work);

}  // namespace couplet
