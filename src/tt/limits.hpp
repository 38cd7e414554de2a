#pragma once

#include <vector>

#include "couplet/tt/tt_svd.hpp"

namespace couplet {

/// Throws InputError for a tensor without modes or with a mode of size 0.
void check_tensor(const Shape& shape);

/// Throws InputError for method gram with an eps that a Gram matrix cannot show.
void check_method(const TtSvdOptions& options, const Shape& shape);

/// The limits of all N - 1 bonds. Throws InputError for an eps or a rank out of range, or as many bonds as do not fit.
std::vector<BondLimit> bond_limits(const TtSvdOptions& options, const Shape& shape);

/// The limits of the bonds that remain when modes of size 1 are left out: of several in a row the tightest.
std::vector<BondLimit> squeezed_limits(const Shape& shape, const std::vector<BondLimit>& all);

/// float cores hold about 1e-7 of the norm each; a bound tighter than this is computed in double and rounded once.
bool needs_double(const TtSvdOptions& options, const Shape& shape);

}  // namespace couplet
