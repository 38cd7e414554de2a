#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "couplet/ctt/prepare.hpp"
#include "couplet/tensor/tensor.hpp"

namespace couplet::net {

/// Patients who take part in a job, known by their records: two cohorts that share patients are recognised, in whatever
/// file they came.
struct Cohort {
    std::string id;                      ///< hash of all records
    std::vector<std::uint64_t> records;  ///< a hash of each, ascending
};

/// Records are alike as single precision has them, in whatever order the labels of the features come: a file that was
/// converted on its way holds the same patients. Features without labels are known by their place alone.
/// Those of `x` whom prepare_client() leaves to take part with the same share, seed and place.
Cohort make_cohort(const Tensor<double>& x, double heldout, std::uint64_t seed, Index place);

/// How a job saw a cohort.
enum class Exposure {
    rows,   ///< the leading rows of the cohort, prepared as `basis` says: those of a larger rank hold a smaller one's
    sums,   ///< sums over the cohort, each on a basis of its own
    masked  ///< sums over the cohorts of all clients
};

/// What a job sees of a cohort, or is about to see.
struct Disclosure {
    std::string job;
    Exposure exposure = Exposure::rows;
    Index directions = 0;    ///< of the row space
    std::string basis = {};  ///< of sums: what names the same sum asked for again, which shows nothing new; of rows:
                             ///< what was done to the records before
    Index figures = 0;  ///< single numbers over the cohort on top: half of the features and one are a direction, as
                        ///< a Gram matrix holds so many for each
};

/// How much all jobs together may see; the defaults allow everything.
struct DisclosureLimits {
    double most = 1e300;         ///< directions, by jobs of the same sort (masked or not) on patients of the cohort
    std::string most_key = {};   ///< of the policy, for whoever is refused
    double per_patient = 1e300;  ///< directions for each patient by whom two cohorts differ
    Index least_difference = 0;  ///< such patients; two cohorts are the same, share nobody, or differ by as many
    Index own_figures = 0;       ///< single numbers that come with the job: they count against every other one
};

/// What a site has shown of its patients, in a file of its kit: one line for each cohort and for each thing shown,
/// appended and durable before it is sent. Jobs do not know of each other; what they show adds up, and the difference
/// of two jobs is a job on the patients by whom they differ. Of three and more whatever can be added up and taken away
/// is over patients who took part in the same ones: each such group must be as large as a difference of two.
class DisclosureLedger {
  public:
    /// A file that others than its owner may write is refused when it is read, and so is what makes no sense.
    explicit DisclosureLedger(std::filesystem::path file);

    /// Books it. Throws InputError, and books nothing, when it would exceed the limits, or when the file cannot be
    /// read: it must not count as empty. What the cohort has shown before, or shows by something larger, is not booked
    /// twice. `features` is the number of directions there are.
    void book(const Cohort& cohort, Index features, const Disclosure& what, const DisclosureLimits& limits);
    /// The same without booking.
    void require_room(const Cohort& cohort, Index features, const Disclosure& what,
                      const DisclosureLimits& limits) const;
    /// Writes down who they are, where nothing is booked of them.
    void enter(const Cohort& cohort);
    /// Names of all cohorts that share patients with this one.
    std::set<std::string> related(const Cohort& cohort) const;
    /// Whether the cohort has shown it before.
    bool knows(const Cohort& cohort, const Disclosure& what) const;
    /// Whether a sum whose name begins so was shown.
    bool knows_sum(const Cohort& cohort, Exposure exposure, const std::string& beginning) const;
    /// Directions of the cohort that jobs have seen, masked or not.
    Index shown(const Cohort& cohort, Index features, bool masked) const;

  private:
    struct Page {
        std::vector<std::uint64_t> records;
        std::vector<Disclosure> entries;
    };
    using Pages = std::map<std::string, Page>;

    Pages parse(const std::string& text) const;
    Pages read() const;
    static void check(const Pages& pages, const Cohort& cohort, Index features, const Disclosure& what,
                      const DisclosureLimits& limits);

    std::filesystem::path file_;
};

}  // namespace couplet::net
