#include "couplet/net/disclosure_ledger.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <iterator>
#include <limits>
#include <nlohmann/json.hpp>
#include <numeric>
#include <set>
#include <utility>

#include "couplet/core/error.hpp"
#include "couplet/net/kit.hpp"
#include "couplet/privacy/records.hpp"
#include "couplet/privacy/secret.hpp"
#include "couplet/wire/hex.hpp"

namespace couplet::net {
namespace {

using Json = nlohmann::ordered_json;

// Sixteen digits a patient of every different cohort.
constexpr std::uintmax_t largest_file = std::uintmax_t{1} << 30;
constexpr std::size_t digits = 16;

constexpr std::array<std::pair<Exposure, const char*>, 3> exposures{
    {{Exposure::rows, "rows"}, {Exposure::sums, "sums"}, {Exposure::masked, "masked"}}};

constexpr const char* masked_remedy =
    "The same job again, with its seed, clients and patients, shows nothing new and is allowed. For another one the "
    "site "
    "decides: patients_per_direction in policy.toml in its kit, or `policy`. Jobs with `dp_epsilon` have an account of "
    "their own.";

const char* name_of(Exposure exposure) {
    return std::find_if(exposures.begin(), exposures.end(), [&](const auto& one) { return one.first == exposure; })
        ->second;
}
Exposure exposure_of(const std::string& name) {
    const auto found =
        std::find_if(exposures.begin(), exposures.end(), [&](const auto& one) { return one.second == name; });
    if (found == exposures.end()) throw std::invalid_argument(name);
    return found->first;
}

Bytes bytes_of(const void* data, std::size_t size) { return {static_cast<const std::uint8_t*>(data), size}; }

/// What is missing is missing, whatever bits say so.
std::uint64_t record_hash(const std::vector<double>& record) {
    const std::string key = record_key(record, Likeness::rounded);
    const Key hash = hash_bytes(bytes_of(key.data(), key.size()));
    std::uint64_t value = 0;
    std::memcpy(&value, hash.data(), sizeof value);
    return value;
}

/// For each place of a record that is sorted by labels, the place in the record as it came.
std::vector<Index> sorted_places(const Tensor<double>& x) {
    std::vector<Index> places{0};
    for (std::size_t mode = 1; mode < x.shape().sizes().size(); ++mode) {
        const Index size = x.shape().sizes()[mode];
        std::vector<Index> order(static_cast<std::size_t>(size));
        std::iota(order.begin(), order.end(), Index{0});
        if (!x.labels().empty() && !x.labels()[mode].entries.empty()) {
            const auto& names = x.labels()[mode].entries;
            std::stable_sort(order.begin(), order.end(), [&](Index a, Index b) {
                return names[static_cast<std::size_t>(a)] < names[static_cast<std::size_t>(b)];
            });
        }
        std::vector<Index> longer;
        longer.reserve(places.size() * order.size());
        for (const Index place : places) {
            for (const Index one : order) longer.push_back(place * size + one);
        }
        places = std::move(longer);
    }
    return places;
}

/// The rows that take part, by the function that chooses them.
std::vector<Index> training_rows(Index rows, double heldout, std::uint64_t seed, Index place) {
    auto numbers = Tensor<double>::zeros({rows, 1});
    for (Index i = 0; i < rows; ++i) numbers.data()[i] = static_cast<double>(i);
    const Tensor<double> chosen =
        heldout > 0 ? hold_out(numbers.view(), heldout, seed, place).training : std::move(numbers);
    std::vector<Index> result;
    for (Index i = 0; i < chosen.size(); ++i) result.push_back(static_cast<Index>(chosen.data()[i]));
    return result;
}

std::string cohort_line(const Cohort& cohort) {
    std::string records;
    records.reserve(digits * cohort.records.size());
    for (const std::uint64_t one : cohort.records) records += fmt::format("{:016x}", one);
    return Json{{"cohort", cohort.id}, {"records", records}}.dump() + "\n";
}

std::string entry_line(const std::string& cohort, const Disclosure& what) {
    Json line{{"cohort", cohort},
              {"job", what.job},
              {"exposure", name_of(what.exposure)},
              {"directions", what.directions},
              {"basis", what.basis}};
    if (what.figures > 0) line["figures"] = what.figures;
    return line.dump() + "\n";
}

std::vector<std::uint64_t> parse_records(const std::string& text) {
    if (text.size() % digits != 0) throw std::invalid_argument("records");
    std::vector<std::uint64_t> records;
    for (std::size_t at = 0; at < text.size(); at += digits) {
        records.push_back(std::stoull(text.substr(at, digits), nullptr, 16));
    }
    if (!std::is_sorted(records.begin(), records.end())) throw std::invalid_argument("records");
    return records;
}

/// Patients in either cohort and not in both; nothing: they share nobody.
std::optional<Index> patients_apart(const std::vector<std::uint64_t>& a, const std::vector<std::uint64_t>& b) {
    std::vector<std::uint64_t> both;
    std::set_intersection(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(both));
    if (both.empty()) return std::nullopt;
    return static_cast<Index>(a.size() + b.size() - 2 * both.size());
}

bool is_masked(const Disclosure& what) { return what.exposure == Exposure::masked; }

/// Larger rows show the smaller ones, and no sum shows more when it is asked for again.
bool covers(const Disclosure& before, const Disclosure& what) {
    if (before.exposure != what.exposure || before.basis != what.basis) return false;
    return what.exposure == Exposure::rows ? before.directions >= what.directions : !what.basis.empty();
}

/// The single numbers of one job may be left out.
Index directions_of(const std::vector<Disclosure>& entries, Index features, bool masked,
                    const std::string* without_figures_of = nullptr) {
    std::map<std::string, Index> rows;  // of records that were prepared in one way
    Index all = 0;
    Index figures = 0;
    for (const Disclosure& one : entries) {
        if (is_masked(one) != masked) continue;
        if (without_figures_of == nullptr || one.job != *without_figures_of) figures += one.figures;
        Index& before = rows[one.basis];
        const bool of_rows = one.exposure == Exposure::rows;
        all += of_rows ? std::max<Index>(0, one.directions - before) : one.directions;
        if (of_rows) before = std::max(before, one.directions);
    }
    return std::min(features, all + 2 * figures / (features + 1));
}

Index figures_of(const std::vector<Disclosure>& entries, const std::string& job) {
    Index figures = 0;
    for (const Disclosure& one : entries) figures += one.job == job ? one.figures : 0;
    return figures;
}

using Records = std::vector<std::uint64_t>;

/// The first and whoever shares patients with it, or with one who does.
std::vector<const Records*> linked(std::vector<const Records*> cohorts) {
    std::vector<const Records*> group{cohorts.front()};
    cohorts.erase(cohorts.begin());
    for (std::size_t at = 0; at < group.size(); ++at) {
        std::erase_if(cohorts, [&](const Records* other) {
            const bool shares = patients_apart(*group[at], *other).has_value();
            if (shares) group.push_back(other);
            return shares;
        });
    }
    return group;
}

/// Patients of the smallest group who took part in the same jobs.
Index smallest_group(const std::vector<const Records*>& cohorts) {
    std::map<std::uint64_t, std::vector<std::size_t>> jobs_of;
    for (std::size_t at = 0; at < cohorts.size(); ++at) {
        for (const std::uint64_t patient : *cohorts[at]) {
            auto& jobs = jobs_of[patient];
            if (jobs.empty() || jobs.back() != at) jobs.push_back(at);
        }
    }
    std::map<std::vector<std::size_t>, Index> groups;
    for (const auto& [patient, jobs] : jobs_of) ++groups[jobs];
    Index smallest = std::numeric_limits<Index>::max();
    for (const auto& [jobs, patients] : groups) smallest = std::min(smallest, patients);
    return smallest;
}

/// Patients that it takes to hide so many directions.
double hiding(Index directions, const DisclosureLimits& limits) {
    return std::max(static_cast<double>(limits.least_difference),
                    std::ceil(static_cast<double>(directions) / std::max(limits.per_patient, 1e-9)));
}

/// What sums over several cohorts can be made to show is over such groups, and a single one may come out by itself.
void require_large_groups(const std::vector<const Records*>& cohorts, Index directions,
                          const DisclosureLimits& limits) {
    const std::vector<const Records*> together = linked(cohorts);
    constexpr std::size_t pair = 2;  // whose difference is all that there is, and was looked at
    if (together.size() <= pair || limits.least_difference == 0) return;
    const Index patients = smallest_group(together);
    if (static_cast<double>(patients) >= hiding(directions, limits)) return;
    throw InputError({"this site's policy",
                      fmt::format("a job whose patients, with those of {} cohorts before, leave a group of {} who took "
                                  "part in the same jobs",
                                  together.size() - 1, patients),
                      fmt::format("the patients of a job before (`heldout` and `seed` as there), or larger groups "
                                  "(any_cohort): {} directions take {:.0f}",
                                  directions, hiding(directions, limits)),
                      "The site decides: policy.toml in its kit, or `policy`."});
}

/// Bytes that are lines. What is after them a crash cut off, before anything of it was shown, unless it is a line whose
/// end an editor took.
std::size_t whole_lines(const std::string& text) {
    const std::size_t end = text.rfind('\n');
    const std::size_t last = end == std::string::npos ? 0 : end + 1;
    return Json::accept(text.substr(last)) ? text.size() : last;
}

/// The file, locked against other processes of this kit.
class Ledger {
  public:
    explicit Ledger(const std::filesystem::path& path) : name_(path.string()) {
        descriptor_ = ::open(name_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
        if (descriptor_ < 0) fail();
        if (::flock(descriptor_, LOCK_EX) == 0) return;
        ::close(descriptor_);
        fail();
    }
    ~Ledger() { ::close(descriptor_); }
    Ledger(const Ledger&) = delete;
    Ledger& operator=(const Ledger&) = delete;

    /// Replaces what is not whole in `before`, which the file holds.
    void append(const std::string& before, std::string text) {
        const std::size_t whole = whole_lines(before);
        if (whole > 0 && before[whole - 1] != '\n') text.insert(0, 1, '\n');
        const auto end = static_cast<off_t>(whole);
        if (::ftruncate(descriptor_, end) != 0 || ::fchmod(descriptor_, 0600) != 0) fail();
        std::size_t written = 0;
        while (written < text.size()) {
            const ssize_t now =
                ::pwrite(descriptor_, text.data() + written, text.size() - written, end + static_cast<off_t>(written));
            if (now <= 0) {
                const int why = now < 0 ? errno : ENOSPC;
                [[maybe_unused]] const int undone = ::ftruncate(descriptor_, end);
                errno = why;
                fail();
            }
            written += static_cast<std::size_t>(now);
        }
        if (::fsync(descriptor_) != 0) fail();
    }

  private:
    [[noreturn]] void fail() const {
        throw RunError({name_, std::strerror(errno), "a ledger that can be written",
                        "Free some space or change its permissions: nothing is shown that is not booked."});
    }
    std::string name_;
    int descriptor_ = -1;
};

}  // namespace

Cohort make_cohort(const Tensor<double>& x, double heldout, std::uint64_t seed, Index place) {
    const Index rows = x.shape()[0];
    const Index length = rows > 0 ? x.size() / rows : 0;
    Cohort cohort;
    const std::vector<Index> places = sorted_places(x);
    std::vector<double> record(places.size());
    for (const Index row : training_rows(rows, heldout, seed, place)) {
        const double* values = x.data() + row * length;
        std::transform(places.begin(), places.end(), record.begin(), [&](Index at) {
            return std::isnan(values[at]) ? std::numeric_limits<double>::quiet_NaN() : values[at];
        });
        cohort.records.push_back(record_hash(record));
    }
    std::sort(cohort.records.begin(), cohort.records.end());
    cohort.id =
        wire::to_hex(hash_bytes(bytes_of(cohort.records.data(), cohort.records.size() * sizeof(std::uint64_t))));
    return cohort;
}

DisclosureLedger::DisclosureLedger(std::filesystem::path file) : file_(std::move(file)) {}

DisclosureLedger::Pages DisclosureLedger::parse(const std::string& text) const {
    Pages pages;
    std::size_t number = 0;
    const std::size_t end = whole_lines(text);
    for (std::size_t at = 0; at < end;) {
        const std::size_t next = std::min(end, text.find('\n', at));
        ++number;
        try {
            const Json line = Json::parse(text.substr(at, next - at));
            const std::string id = line.at("cohort");
            if (line.contains("records")) {
                pages[id].records = parse_records(line.at("records"));
            } else {
                const Index directions = line.at("directions");
                if (directions < 0) throw std::invalid_argument("directions");
                const Index figures = line.value("figures", Index{0});
                if (figures < 0) throw std::invalid_argument("figures");
                pages.at(id).entries.push_back(
                    {line.at("job"), exposure_of(line.at("exposure")), directions, line.at("basis"), figures});
            }
        } catch (const std::exception& error) {
            throw InputError({fmt::format("{} line {}", file_.string(), number), error.what(), "what this site wrote",
                              "Restore the file from a backup: what was shown must not be forgotten."});
        }
        at = next + 1;
    }
    return pages;
}

DisclosureLedger::Pages DisclosureLedger::read() const {
    if (!std::filesystem::exists(file_)) return {};
    require_unshared(file_);
    return parse(read_text(file_, largest_file));
}

void DisclosureLedger::check(const Pages& pages, const Cohort& cohort, Index features, const Disclosure& what,
                             const DisclosureLimits& limits) {
    std::vector<Disclosure> own;
    if (const auto page = pages.find(cohort.id); page != pages.end()) own = page->second.entries;
    own.push_back(what);
    const Index mine = directions_of(own, features, is_masked(what));
    const bool promised = figures_of(own, what.job) <= limits.own_figures;
    Index all = directions_of(own, features, is_masked(what), promised ? &what.job : nullptr);
    std::vector<const Records*> cohorts{&cohort.records};
    std::set<std::string> jobs;
    for (const auto& [id, page] : pages) {
        const bool same = id == cohort.id;
        if (!same && !page.entries.empty()) cohorts.push_back(&page.records);
        const auto apart = patients_apart(cohort.records, page.records);
        if (!apart || page.entries.empty()) continue;
        for (const Disclosure& one : page.entries) {
            const bool adds = is_masked(one) == is_masked(what) && one.directions > 0;
            if (adds && one.job != what.job) jobs.insert(one.job);
        }
        if (same) continue;
        all += directions_of(page.entries, features, is_masked(what));
        const auto patients = static_cast<double>(*apart);
        if (*apart >= limits.least_difference && static_cast<double>(mine) <= limits.per_patient * patients) continue;
        throw InputError(
            {"this site's policy",
             fmt::format("a job on the patients of job {} but for {}, who are what both differ by",
                         page.entries.back().job, *apart),
             fmt::format("the same patients (`heldout` and `seed` as there), or others by more (any_cohort): {} "
                         "directions take {:.0f}",
                         mine, hiding(mine, limits)),
             "The site decides: policy.toml in its kit, or `policy`."});
    }
    require_large_groups(cohorts, mine, limits);
    if (static_cast<double>(all) <= limits.most) return;
    const std::string before = jobs.size() == 1 ? "job " + *jobs.begin() : fmt::format("{} jobs before", jobs.size());
    // How many patients there are is nobody's business where sums are masked.
    const std::string of = is_masked(what) ? "by masked sums" : fmt::format("of {} patients", cohort.records.size());
    throw InputError({"this site's policy",
                      jobs.empty() ? fmt::format("{} directions {}", all, of)
                                   : fmt::format("{} directions {}, with those that {} showed", all, of, before),
                      fmt::format("at most {:.0f} by all jobs together ({})", std::floor(limits.most), limits.most_key),
                      is_masked(what) ? masked_remedy : "The site decides: policy.toml in its kit, or `policy`."});
}

void DisclosureLedger::enter(const Cohort& cohort) {
    Ledger ledger(file_);
    require_unshared(file_);
    const std::string text = read_text(file_, largest_file);
    if (!parse(text).contains(cohort.id)) ledger.append(text, cohort_line(cohort));
}

std::set<std::string> DisclosureLedger::related(const Cohort& cohort) const {
    std::set<std::string> names;
    for (const auto& [id, page] : read()) {
        if (patients_apart(cohort.records, page.records)) names.insert(id);
    }
    return names;
}

bool DisclosureLedger::knows(const Cohort& cohort, const Disclosure& what) const {
    const Pages pages = read();
    const auto page = pages.find(cohort.id);
    return page != pages.end() && std::any_of(page->second.entries.begin(), page->second.entries.end(),
                                              [&](const Disclosure& before) { return covers(before, what); });
}

bool DisclosureLedger::knows_sum(const Cohort& cohort, Exposure exposure, const std::string& beginning) const {
    const Pages pages = read();
    const auto page = pages.find(cohort.id);
    return page != pages.end() &&
           std::any_of(page->second.entries.begin(), page->second.entries.end(), [&](const Disclosure& before) {
               return before.exposure == exposure && before.basis.starts_with(beginning);
           });
}

Index DisclosureLedger::shown(const Cohort& cohort, Index features, bool masked) const {
    const Pages pages = read();
    const auto page = pages.find(cohort.id);
    return page == pages.end() ? 0 : directions_of(page->second.entries, features, masked);
}

void DisclosureLedger::require_room(const Cohort& cohort, Index features, const Disclosure& what,
                                    const DisclosureLimits& limits) const {
    check(read(), cohort, features, what, limits);
}

void DisclosureLedger::book(const Cohort& cohort, Index features, const Disclosure& what,
                            const DisclosureLimits& limits) {
    Ledger ledger(file_);
    require_unshared(file_);
    const std::string text = read_text(file_, largest_file);
    const Pages pages = parse(text);
    const auto page = pages.find(cohort.id);
    const bool known = page != pages.end() && std::any_of(page->second.entries.begin(), page->second.entries.end(),
                                                          [&](const Disclosure& one) { return covers(one, what); });
    if (known) return;
    check(pages, cohort, features, what, limits);
    ledger.append(text, (page == pages.end() ? cohort_line(cohort) : "") + entry_line(cohort.id, what));
}

}  // namespace couplet::net
