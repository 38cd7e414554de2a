#pragma once

#include <string>
#include <vector>

namespace couplet {

/// A tick of an axis.
struct Tick {
    double value = 0;
    std::string label = {};  ///< empty: a mark without a number
};

/// Maps numbers to places on paper, linearly or by their logarithm.
class Scale {
  public:
    /// Holds [low, high] with a little air; a range of one number is widened. On a logarithmic scale both must be
    /// positive, which the caller sees to; throws InputError otherwise, and for numbers that are not finite.
    Scale(double low, double high, bool log, double from, double to);

    double at(double value) const;
    double low() const noexcept { return low_; }
    double high() const noexcept { return high_; }
    bool log() const noexcept { return log_; }
    /// Four to eight ticks at round numbers; on a logarithmic scale at powers of ten, and between them where there are
    /// few.
    std::vector<Tick> ticks() const;

  private:
    double low_;
    double high_;
    bool log_;
    double from_;
    double to_;
};

/// Few digits, for a table: "0.0123", "12,300", "1.39 M", "1.2e-7".
std::string short_number(double value);

/// As many digits in every cell of a table: "0.160", "75", "12,300".
std::string table_number(double value);

/// Fewer still, for an axis: "12k", "1.4M".
std::string tick_number(double value);

/// Below this a squared relative error is rounding, and is shown as that.
inline constexpr double rounding_rse = 1e-12;

/// An RSE for people: "exact" where it is rounding only.
std::string rse_text(double rse);

}  // namespace couplet
