#include "couplet/audit/peel_records.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "couplet/audit/row_relations.hpp"
#include "couplet/audit/short_vectors.hpp"
#include "couplet/core/error.hpp"

namespace couplet {
namespace {

using Vector = std::vector<double>;
using Groups = std::vector<std::vector<Index>>;

// In units of the precision: rows that differ by less are equal, and a solution may be off by as much. What was taken
// off leaves rounding of its own behind.
constexpr double equal_within = 6;
constexpr double solved_within = 12;
// Of a lattice's vector: records with more groups of features than that are rare.
constexpr double most_groups = 64;
// Columns that a lattice is given: a record of some tens of features is told by fewer.
constexpr Index most_columns = 24;
constexpr std::size_t most_relations = 100000;
// Groups of equal rows; pairs of more take too much memory. Records of a few features make far fewer.
constexpr Index most_rows = 2500;
constexpr std::size_t most_differences = 600;
// A round ends early when records that need larger lattices follow: smaller ones are left of them afterwards.
constexpr std::size_t enough_of_a_round = 8;
constexpr std::size_t small_lattice = 45;

/// A vector s Q^T x that may be of a single record, and groups of features that it has then.
struct Candidate {
    Vector vector;
    std::set<Index> must;
};

/// What a candidate leaves to be solved.
struct Search {
    Candidate candidate;
    std::vector<Index> groups = {};        ///< that the record may have
    std::vector<Relation> relations = {};  ///< by place in groups
    IntegerRows generators = {};           ///< what relations leave free; the last entry is 1 where the record is
};

struct Found {
    std::vector<Index> groups;
    double weight = 1;
};

double largest(const Vector& v) {
    double most = 0;
    for (const double x : v) most = std::max(most, std::abs(x));
    return most;
}

/// One look at the sums: groups of equal rows, what relates them, and who may be solved for.
class Round {
  public:
    Round(MatrixView<const double> rest, MatrixView<const double> basis, const Shape& features,
          std::optional<double> clip2)
        : basis_(basis), features_(features), clip2_(clip2), groups_(equal_rows(rest, equal_within)) {
        const auto m = static_cast<Index>(groups_.size());
        rows_ = Matrix<double>(m, rest.cols);
        bases_ = Matrix<double>::zeros(m, rest.cols);
        of_.assign(static_cast<std::size_t>(rest.rows), -1);
        for (Index g = 0; g < m; ++g) {
            const auto& members = group(g);
            std::copy_n(rest.row(members.front()), rest.cols, rows_.view().row(g));
            for (const Index feature : members) {
                of_[static_cast<std::size_t>(feature)] = g;
                for (Index j = 0; j < rest.cols; ++j) bases_(g, j) += basis(feature, j);
            }
        }
        if (m > most_rows) return;
        // Sums of two rows that agree by chance would be relations of nobody.
        const auto pairs = static_cast<double>(m + 1) * static_cast<double>(m + 2) / 2;
        if (bits_beyond(2 * equal_within) > 2 * std::log2(pairs)) {
            relations_ = row_relations(rows_.view(), 2 * equal_within, most_relations);
        }
        touching_.resize(groups_.size());
        Elimination known(m);
        for (std::size_t r = 0; r < relations_.size(); ++r) {
            for (const auto& [g, times] : relations_[r]) touching_[static_cast<std::size_t>(g)].push_back(r);
            if (known.add(relations_[r])) independent_.push_back(r);
        }
    }

    const std::vector<Index>& group(Index g) const { return groups_[static_cast<std::size_t>(g)]; }
    Index groups() const { return static_cast<Index>(groups_.size()); }
    MatrixView<const double> rows() const { return rows_.view(); }
    Vector row(Index g) const { return {rows_.view().row(g), rows_.view().row(g) + rows_.cols()}; }

    /// What the numbers of a row tell, in bits, where they are known to within `off`. As many unknowns can be told.
    double bits_beyond(double off) const {
        double bits = 0;
        for (Index j = 0; j < rows_.cols(); ++j) {
            double most = off;
            for (Index g = 0; g < rows_.rows(); ++g) most = std::max(most, std::abs(rows_(g, j)));
            bits += std::log2(most / off);
        }
        return bits;
    }
    Index largest_lattice(Index most) const {
        return static_cast<Index>(std::min(static_cast<double>(most), bits_beyond(solved_within)));
    }

    /// Rows, which one record alone may have; then differences of rows, the most frequent first.
    std::vector<Candidate> candidates() const {
        std::vector<Candidate> all;
        for (Index g = 0; g < groups(); ++g) all.push_back({row(g), {g}});
        std::map<std::vector<std::int64_t>, std::pair<std::int64_t, Candidate>> differences;
        for (const auto& relation : relations_) {
            std::vector<Index> plus;
            std::vector<Index> minus;
            for (const auto& [g, times] : relation) {
                if (times == 1) plus.push_back(g);
                if (times == -1) minus.push_back(g);
            }
            if (relation.size() != 4 || plus.size() != 2 || minus.size() != 2) continue;
            for (const Index a : plus) {
                for (const Index b : minus) {
                    count_difference(differences, a, b);
                    count_difference(differences, b, a);
                }
            }
        }
        std::vector<std::pair<std::int64_t, const Candidate*>> order;
        for (const auto& [key, one] : differences) order.emplace_back(one.first, &one.second);
        std::stable_sort(order.begin(), order.end(), [](const auto& x, const auto& y) { return x.first > y.first; });
        for (std::size_t i = 0; i < std::min(order.size(), most_differences); ++i) all.push_back(*order[i].second);
        return all;
    }

    /// Nothing: no such record can be. `product`: an outer product of the modes. No generators: more than `most`.
    std::optional<Search> narrowed(const Candidate& candidate, bool product, Index most) const {
        std::vector<char> possible(groups_.size(), 1);
        if (product) keep_products(candidate, possible);
        propagate(possible);
        Search search{.candidate = candidate};
        for (const Index g : candidate.must) {
            if (!possible[static_cast<std::size_t>(g)]) return std::nullopt;
        }
        for (Index g = 0; g < groups(); ++g) {
            if (possible[static_cast<std::size_t>(g)]) search.groups.push_back(g);
        }
        add_equations(search, most);
        return search;
    }

    /// The groups of a record with this vector, and its weight.
    std::optional<Found> solve(const Search& search, std::int64_t& work) const {
        if (auto found = solve(search, false, work)) return found;
        if (!clip2_) return std::nullopt;
        return solve(search, true, work);
    }
    std::vector<Index> features_of(const std::vector<Index>& groups) const {
        std::vector<Index> all;
        for (const Index g : groups) all.insert(all.end(), group(g).begin(), group(g).end());
        std::sort(all.begin(), all.end());
        return all;
    }

  private:
    void count_difference(std::map<std::vector<std::int64_t>, std::pair<std::int64_t, Candidate>>& all, Index a,
                          Index b) const {
        std::vector<std::int64_t> key;
        Vector difference;
        for (Index j = 0; j < rows_.cols(); ++j) {
            difference.push_back(rows_(a, j) - rows_(b, j));
            if (j < 3) key.push_back(std::llround(difference.back() / (16 * equal_within)));
        }
        auto& [count, candidate] = all[key];
        if (count++ == 0) candidate.vector = std::move(difference);
        candidate.must.insert(a);
    }
    /// In each mode only values that, put in the place of their own in every feature the record has, name a feature
    /// somebody has.
    void keep_products(const Candidate& candidate, std::vector<char>& possible) const {
        const auto modes = static_cast<std::size_t>(features_.order());
        std::vector<std::vector<char>> allowed(modes);
        std::vector<Index> stride(modes, 1);
        for (std::size_t n = modes - 1; n-- > 0;) {
            stride[n] = stride[n + 1] * features_[static_cast<Index>(n) + 1];
        }
        for (std::size_t n = 0; n < modes; ++n) {
            const Index size = features_[static_cast<Index>(n)];
            allowed[n].assign(static_cast<std::size_t>(size), 1);
            for (const Index g : candidate.must) {
                for (const Index feature : group(g)) {
                    const Index own = feature / stride[n] % size;
                    for (Index v = 0; v < size; ++v) {
                        const Index other = feature + (v - own) * stride[n];
                        if (of_[static_cast<std::size_t>(other)] < 0) allowed[n][static_cast<std::size_t>(v)] = 0;
                    }
                }
            }
        }
        for (Index g = 0; g < groups(); ++g) {
            for (const Index feature : group(g)) {
                for (std::size_t n = 0; n < modes; ++n) {
                    const Index own = feature / stride[n] % features_[static_cast<Index>(n)];
                    if (!allowed[n][static_cast<std::size_t>(own)]) possible[static_cast<std::size_t>(g)] = 0;
                }
            }
        }
    }
    /// Whatever is left of a relation with one sign alone is zero too.
    void propagate(std::vector<char>& possible) const {
        std::vector<std::size_t> waiting;
        for (std::size_t g = 0; g < possible.size(); ++g) {
            if (!possible[g]) waiting.insert(waiting.end(), touching_[g].begin(), touching_[g].end());
        }
        while (!waiting.empty()) {
            const Relation& relation = relations_[waiting.back()];
            waiting.pop_back();
            bool plus = false;
            bool minus = false;
            for (const auto& [g, times] : relation) {
                if (possible[static_cast<std::size_t>(g)]) (times > 0 ? plus : minus) = true;
            }
            if (plus == minus) continue;
            for (const auto& [g, times] : relation) {
                const auto at = static_cast<std::size_t>(g);
                if (!possible[at]) continue;
                possible[at] = 0;
                waiting.insert(waiting.end(), touching_[at].begin(), touching_[at].end());
            }
        }
    }
    void add_equations(Search& search, Index most) const {
        std::vector<Index> place(groups_.size(), -1);
        for (std::size_t i = 0; i < search.groups.size(); ++i) {
            place[static_cast<std::size_t>(search.groups[i])] = static_cast<Index>(i);
        }
        const auto n = static_cast<Index>(search.groups.size());
        for (const std::size_t r : independent_) {
            Relation relation;
            for (const auto& [g, times] : relations_[r]) {
                if (const Index at = place[static_cast<std::size_t>(g)]; at >= 0) relation[at] = times;
            }
            if (!relation.empty()) search.relations.push_back(std::move(relation));
        }
        const auto known = static_cast<Index>(search.relations.size() + search.candidate.must.size());
        if (n + 1 - known > most) return;
        Elimination free(n + 1);
        for (const Index g : search.candidate.must) free.add({{place[static_cast<std::size_t>(g)], 1}, {n, -1}});
        for (const Relation& relation : search.relations) free.add(relation);
        if (static_cast<Index>(free.free_unknowns().size()) <= most) search.generators = generators_of(free, n + 1);
    }
    static IntegerRows generators_of(const Elimination& free, Index unknowns) {
        std::map<Index, std::size_t> order;
        for (const Index unknown : free.free_unknowns()) order.emplace(unknown, order.size());
        IntegerRows generators(order.size(), std::vector<std::int64_t>(static_cast<std::size_t>(unknowns), 0));
        for (Index i = 0; i < unknowns; ++i) {
            for (const auto& [unknown, times] : free.told(i)) {
                generators[order.at(unknown)][static_cast<std::size_t>(i)] = times;
            }
        }
        return generators;
    }
    std::optional<Found> solve(const Search& search, bool clipped, std::int64_t& work) const {
        const auto n = static_cast<Index>(search.groups.size());
        const Index d = rows_.cols();
        Matrix<double> values = Matrix<double>::zeros(n + 1, d);
        for (Index i = 0; i < n; ++i) {
            const Index g = search.groups[static_cast<std::size_t>(i)];
            for (Index j = 0; j < d; ++j) {
                const double b = search.candidate.vector[static_cast<std::size_t>(j)];
                values(i, j) = bases_(g, j) - (clipped ? static_cast<double>(group(g).size()) * b / *clip2_ : 0);
            }
        }
        if (!clipped) {
            for (Index j = 0; j < d; ++j) values(n, j) = -search.candidate.vector[static_cast<std::size_t>(j)];
        }
        ShortVectorOptions how;
        how.tolerance = clipped ? solved_within * 2 : solved_within;
        how.longest = std::sqrt(std::min(static_cast<double>(n), most_groups) + 1 + static_cast<double>(d));
        const auto reduced = short_vectors(search.generators, values.view(), how, work);
        for (const auto& z : reduced) {
            if (auto found = read(search, z, clipped)) return found;
        }
        return std::nullopt;
    }
    std::optional<Found> read(const Search& search, const std::vector<std::int64_t>& z, bool clipped) const {
        const std::int64_t sign = z.back();
        if (sign != 1 && sign != -1) return std::nullopt;
        Found found;
        Index ones = 0;
        for (std::size_t i = 0; i + 1 < z.size(); ++i) {
            const std::int64_t x = sign * z[i];
            if (x < 0 || x > 1) return std::nullopt;
            if (x == 0) continue;
            found.groups.push_back(search.groups[i]);
            ones += static_cast<Index>(group(search.groups[i]).size());
        }
        for (const Relation& relation : search.relations) {
            std::int64_t sum = 0;
            for (const auto& [i, times] : relation) sum += times * z[static_cast<std::size_t>(i)];
            if (sum != 0) return std::nullopt;
        }
        const auto norm2 = static_cast<double>(ones);
        if (clipped != (clip2_ && norm2 > *clip2_ * (1 + 1e-9))) return std::nullopt;
        found.weight = clipped ? *clip2_ / norm2 : 1;
        for (Index j = 0; j < rows_.cols(); ++j) {
            double sum = 0;
            for (const Index g : found.groups) sum += bases_(g, j);
            const double off = found.weight * sum - search.candidate.vector[static_cast<std::size_t>(j)];
            if (!(std::abs(off) < solved_within)) return std::nullopt;
        }
        return found;
    }

    MatrixView<const double> basis_;
    const Shape& features_;
    std::optional<double> clip2_;
    Groups groups_;
    std::vector<Index> of_;  ///< group of a feature; -1: nobody has it
    Matrix<double> rows_;
    Matrix<double> bases_;  ///< of each group: the sum over its features
    std::vector<Relation> relations_;
    std::vector<std::vector<std::size_t>> touching_;
    std::vector<std::size_t> independent_;
};

/// Whether these features are all that share a set of values in every mode.
bool is_product(const std::vector<Index>& features, const Shape& shape) {
    Index product = 1;
    Index stride = 1;
    for (Index n = shape.order(); n-- > 0;) {
        std::set<Index> values;
        for (const Index feature : features) values.insert(feature / stride % shape[n]);
        product *= static_cast<Index>(values.size());
        stride *= shape[n];
    }
    return product == static_cast<Index>(features.size());
}

class Peeler {
  public:
    Peeler(const ReleasedSums& released, const Shape& features, const PeelOptions& options)
        : features_(features), options_(options), work_(options.work) {
        basis_ = scaled(released.basis, released.precision);
        rest_ = scaled(released.sums, released.precision);
        if (released.clip) clip2_ = *released.clip * *released.clip;
    }

    Matrix<double> run() {
        if (features_.order() > 1) peel(true);
        peel(false);
        Matrix<double> records = Matrix<double>::zeros(static_cast<Index>(found_.size()), rest_.rows());
        Index i = 0;
        for (const auto& record : found_) {
            for (const Index feature : record) records(i, feature) = 1;
            ++i;
        }
        return records;
    }

  private:
    static Matrix<double> scaled(const Matrix<double>& columns, const std::vector<double>& precision) {
        auto result = leading_columns(columns.view(), std::min(columns.cols(), most_columns));
        for (Index i = 0; i < result.rows(); ++i) {
            for (Index j = 0; j < result.cols(); ++j) result(i, j) /= precision[static_cast<std::size_t>(j)];
        }
        return result;
    }
    using Key = std::vector<std::int64_t>;
    static Key key_of(const Vector& v) {
        Key key;
        for (std::size_t j = 0; j < std::min<std::size_t>(3, v.size()); ++j) {
            key.push_back(std::llround(v[j] / (16 * equal_within)));
        }
        return key;
    }
    /// Where nobody was found for long, nobody will be.
    void hope() { give_up_ = std::max<std::int64_t>(0, work_ - options_.work / 8); }
    void peel(bool product) {
        hopeless_.clear();
        hope();
        while (work_ > give_up_ && peel_once(product)) {
        }
    }
    bool peel_once(bool product) {
        const Round round(rest_.view(), basis_.view(), features_, clip2_);
        const Index m = round.groups();
        if (m == 0 || m > most_rows) return false;
        work_ -= 40 * m * m;
        std::vector<Search> searches;
        const Index most = round.largest_lattice(options_.largest_lattice);
        for (const auto& candidate : round.candidates()) {
            if (largest(candidate.vector) < equal_within || hopeless_.contains(key_of(candidate.vector))) continue;
            auto search = round.narrowed(candidate, product, most);
            if (!search) {
                hopeless_.insert(key_of(candidate.vector));
            } else if (!search->generators.empty()) {
                searches.push_back(std::move(*search));
            }
        }
        std::stable_sort(searches.begin(), searches.end(),
                         [](const Search& a, const Search& b) { return a.generators.size() < b.generators.size(); });
        return solve(round, searches, product) > 0;
    }
    std::size_t solve(const Round& round, const std::vector<Search>& searches, bool product) {
        std::size_t found = 0;
        std::set<Index> changed;
        for (const auto& search : searches) {
            if (work_ < give_up_ || (found >= enough_of_a_round && search.generators.size() > small_lattice)) break;
            // What was taken off in this round has changed its rows.
            const auto& must = search.candidate.must;
            if (std::any_of(must.begin(), must.end(), [&](Index g) { return changed.contains(g); })) continue;
            const auto record = round.solve(search, work_);
            if (!record || !take(round.features_of(record->groups), record->weight, product)) {
                hopeless_.insert(key_of(search.candidate.vector));
                continue;
            }
            changed.insert(record->groups.begin(), record->groups.end());
            ++found;
            hope();
        }
        return found;
    }
    bool take(std::vector<Index> record, double weight, bool product) {
        if (record.empty() || (product && !is_product(record, features_))) return false;
        Vector vector(static_cast<std::size_t>(rest_.cols()), 0.0);
        for (const Index feature : record) {
            for (Index j = 0; j < rest_.cols(); ++j) vector[static_cast<std::size_t>(j)] += weight * basis_(feature, j);
        }
        if (!found_.insert(record).second) return false;
        for (const Index feature : record) {
            for (Index j = 0; j < rest_.cols(); ++j) rest_(feature, j) -= vector[static_cast<std::size_t>(j)];
        }
        return true;
    }

    const Shape& features_;
    const PeelOptions& options_;
    std::int64_t work_;
    std::int64_t give_up_ = 0;  ///< work that is left when the search ends
    Matrix<double> basis_;      ///< in units of the precision, as the sums
    Matrix<double> rest_;
    std::optional<double> clip2_;
    std::set<std::vector<Index>> found_;
    std::set<Key> hopeless_;
};

}  // namespace

Matrix<double> peel_records(const ReleasedSums& released, const Shape& features, const PeelOptions& options) {
    if (static_cast<Index>(released.precision.size()) != released.sums.cols() ||
        released.basis.rows() != released.sums.rows() || released.basis.cols() != released.sums.cols() ||
        features.size() != released.sums.rows()) {
        throw InputError({"released sums",
                          std::to_string(released.sums.rows()) + " x " + std::to_string(released.sums.cols()),
                          "a basis of the same sizes, a precision for each column and the features' size", ""});
    }
    if (released.sums.cols() == 0) return Matrix<double>(0, features.size());
    return Peeler(released, features, options).run();
}

}  // namespace couplet
