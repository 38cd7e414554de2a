#include "couplet/table/build.hpp"

#include <utility>

#include "combine.hpp"
#include "couplet/core/error.hpp"
#include "folder.hpp"
#include "gather.hpp"

namespace couplet {

TableInput file_input(const std::filesystem::path& path, const TextForm& form, std::string name) {
    return {name.empty() ? table_name(path) : std::move(name),
            [path, form](std::span<const std::string> wanted) { return open_records(path, form, wanted); }};
}

TableReport build_table(std::span<const TableInput> tables, const TableOptions& options,
                        const std::filesystem::path& folder, bool overwrite, const ProgressSink& progress) {
    if (tables.empty()) throw InputError({"FILE", "no tables", "at least one", ""});
    const TableFolder place(folder, overwrite);
    Gathered gathered = options.wide ? gather_wide(tables, options, folder, progress)
                                     : gather_events(tables, options, folder, progress);
    Placement placement = place_terms(gathered, options);
    TableReport result;
    write_table(place, gathered, placement, options, result);
    result.vocabulary = std::move(placement.vocabulary);
    result.vocabulary.patients = result.patients + result.without;
    result.tables = std::move(gathered.tables);
    result.records = std::move(gathered.records);
    result.withdrawn = gathered.withdrawn;
    result.without_value = gathered.without_value;
    result.without_code = gathered.without_code;
    result.mapped_events = gathered.mapped_events;
    result.unmapped_events = gathered.unmapped_events;
    result.unmapped_codes = static_cast<Index>(gathered.unmapped.size());
    result.unknown = std::move(placement.unknown);
    result.unknown_events = placement.unknown_events;
    result.cut_terms = placement.cut_terms;
    return result;
}

}  // namespace couplet
