#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "couplet/experiments/statistic.hpp"
#include "couplet/tensor/shape.hpp"

namespace couplet {

/// lines: y over x, a line per method and variant. dots: a row per method and variant below each category.
enum class Chart { lines, dots };

struct Axis {
    std::string label = {};  ///< with its unit
    bool log = false;
    friend bool operator==(const Axis&, const Axis&) = default;
};

/// What is drawn from the rows that name it.
struct Figure {
    std::string id = {};
    std::string title = {};
    Chart chart = Chart::lines;
    Axis x = {};
    Axis y = {};
    bool own_axes = false;  ///< dots: every category has an axis of its own, as data sets that do not compare
    friend bool operator==(const Figure&, const Figure&) = default;
};

/// One number of an experiment, measured once per repeat.
struct Row {
    std::string figure = {};
    std::string method = {};    ///< see style.hpp
    std::string variant = {};   ///< what else tells its line apart, "L = 2"; may be empty
    std::string category = {};  ///< dots; empty for lines
    double x = 0;               ///< lines; 0 for dots
    Statistic y = {};
    std::optional<double> paper = {};  ///< the paper's number for the same place
    std::string note = {};             ///< why it differs from the paper's
    friend bool operator==(const Row&, const Row&) = default;
};

/// The parameters that a method of another paper ran with.
struct MethodTuning {
    std::string method = {};     ///< see style.hpp
    std::string data = {};       ///< the data set, "Diabetes"
    std::string found_for = {};  ///< fingerprint() of what they were found on
    Index rank = 1;
    std::string parameters = {};  ///< describe(); empty where nothing was tuned and the defaults served
    friend bool operator==(const MethodTuning&, const MethodTuning&) = default;
};

struct ExperimentResult {
    std::string name = {};
    std::vector<Figure> figures = {};
    std::vector<Row> rows = {};
    std::vector<std::string> findings = {};  ///< what the rows say, in sentences
    std::vector<std::string> absent = {};    ///< parts that did not run: what is missing and where one gets it
    std::vector<MethodTuning> tunings = {};
    double seconds = 0;
    Index threads = 1;  ///< that computed it
    friend bool operator==(const ExperimentResult&, const ExperimentResult&) = default;
};

/// The rows of a result that belong to one figure, in their order.
std::vector<Row> rows_of(const ExperimentResult& result, const std::string& figure);

/// The row at this place, if there is one.
const Row* find_row(const ExperimentResult& result, const std::string& figure, const std::string& method,
                    const std::string& variant, double x);
const Row* find_category(const ExperimentResult& result, const std::string& figure, const std::string& method,
                         const std::string& category);

/// The least y of a method's rows up to this x; nothing when it has none there.
std::optional<double> least_within(const std::vector<Row>& rows, const std::string& method, double x);

/// Where a number belongs.
struct Place {
    std::string figure = {};
    std::string method = {};
    std::string variant = {};
    std::string category = {};
    double step = 0;  ///< tells the points of a line apart; x itself unless that is measured too
    friend auto operator<=>(const Place&, const Place&) = default;
};

/// Gathers the numbers of repeats and turns them into rows, in the order in which places were first named.
class Collector {
  public:
    /// Lines.
    void add(const std::string& figure, const std::string& method, const std::string& variant, double x, double y);
    /// Lines whose x is measured too: `step` tells the points of one line apart.
    void add_measured(const std::string& figure, const std::string& method, const std::string& variant, double step,
                      double x, double y);
    /// Dots.
    void add_dot(const std::string& figure, const std::string& method, const std::string& category, double y,
                 const std::string& variant = "");
    /// The paper's number for a place, which must have been named.
    void paper(const std::string& figure, const std::string& method, const std::string& variant, double x,
               double value);
    void paper_dot(const std::string& figure, const std::string& method, const std::string& category, double value);

    std::vector<Row> rows() const;

  private:
    struct Samples {
        std::vector<double> x;
        std::vector<double> y;
        std::optional<double> paper;
    };
    void add_sample(const Place& place, double x, double y);

    std::map<Place, Samples> samples_;
    std::vector<Place> order_;
};

}  // namespace couplet
