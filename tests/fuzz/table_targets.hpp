#pragma once

#include <stdlib.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "couplet/core/error.hpp"
#include "couplet/io/text.hpp"
#include "couplet/table/build.hpp"
#include "couplet/table/delimited.hpp"
#include "couplet/table/fhir.hpp"
#include "couplet/table/json_lines.hpp"
#include "couplet/table/similar_codes.hpp"

/// What a hospital may hand in as a table: any bytes must give a result or a couplet::InputError. The first byte says
/// how the rest is read, so that the fuzzer tries every form.
namespace couplet::fuzz {

template <class F>
int only_input_errors(F&& decode) {
    try {
        decode();
    } catch (const InputError&) {
        // The expected answer to bad bytes.
    }
    return 0;
}

inline void require(bool holds, const char* property) {
    if (!holds) throw std::logic_error(property);
}

inline TextForm form_of(std::uint8_t choice) {
    constexpr char separators[] = {'\0', ',', ';', '\t'};
    return {.separator = separators[choice & 3],
            .decimal = (choice & 4) != 0 ? ',' : '.',
            .encoding = (choice & 8) != 0 ? Encoding::latin1 : Encoding::utf8,
            .header = (choice & 16) == 0};
}

/// Every cell as text, as a number and as a date.
inline void read_all(RecordReader& reader, char decimal) {
    const std::size_t columns = reader.columns().size();
    for (std::vector<std::string_view> row; reader.next(row);) {
        require(row.size() == columns, "rows are as long as the header");
        for (std::size_t c = 0; c < columns; ++c) {
            require(is_utf8(row[c]), "text is UTF-8");
            only_input_errors([&] { number_cell(reader, static_cast<Index>(c), row[c], decimal); });
            for (const DateOrder order : {DateOrder::iso, DateOrder::day_first, DateOrder::month_first}) {
                const auto day = parse_date(row[c], order);
                if (!day) continue;
                for (const TimeBin bin :
                     {TimeBin::day, TimeBin::week, TimeBin::month, TimeBin::quarter, TimeBin::year}) {
                    const std::int64_t number = bin_of(*day, bin);
                    require(parse_bin_label(bin_label(number, bin), bin) == number, "a bin's label is that of the bin");
                }
            }
        }
    }
}

inline int table_csv(const std::uint8_t* data, std::size_t size) {
    if (size == 0) return 0;
    return only_input_errors([&] {
        const TextForm form = form_of(data[0]);
        DelimitedReader reader(std::as_bytes(std::span(data + 1, size - 1)), "fuzz.csv", form);
        read_all(reader, form.decimal);
    });
}

inline int table_ndjson(const std::uint8_t* data, std::size_t size) {
    const std::vector<std::string> wanted{"patient", "code.0.text", "value"};
    only_input_errors([&] {
        JsonLinesReader reader(std::as_bytes(std::span(data, size)), "fuzz.ndjson", wanted);
        read_all(reader, '.');
    });
    return only_input_errors([&] {
        FhirReader reader(std::as_bytes(std::span(data, size)), "fuzz.ndjson");
        read_all(reader, '.');
    });
}

/// A table of events or, where the second byte is odd, a wide one; to a folder, and back as a vocabulary.
inline int table_build(const std::uint8_t* data, std::size_t size) {
    if (size < 2) return 0;
    std::string pattern = (std::filesystem::temp_directory_path() / "couplet-fuzz-XXXXXX").string();
    const std::filesystem::path folder = ::mkdtemp(pattern.data());
    const auto bytes = std::as_bytes(std::span(data + 2, size - 2));
    TableInput input{.name = "fuzz"};
    input.open = [&](std::span<const std::string>) {
        return std::make_unique<DelimitedReader>(bytes, "fuzz.csv", form_of(data[0]));
    };
    TableOptions options{.patient = {"p"}, .modes = {"c"}, .most_codes = 1000};
    options.wide = (data[1] & 1) != 0;
    if (options.wide) options.modes = {};
    if ((data[1] & 2) != 0 && !options.wide) options.values = {"v"};
    options.decimal = form_of(data[0]).decimal;
    const int done = only_input_errors([&] {
        const TableReport report = build_table(std::vector{input}, options, folder / "out", false);
        require(report.patients > 0 && report.entries >= 0, "a table has patients");
        require(load_vocabulary(folder / "out").modes.size() == report.vocabulary.modes.size(), "the manifest is read");
    });
    std::error_code ignored;
    std::filesystem::remove_all(folder, ignored);
    return done;
}

/// A proposal of another site.
inline int vocabulary(const std::uint8_t* data, std::size_t size) {
    return only_input_errors([&] {
        const auto json = nlohmann::ordered_json::parse(data, data + size, nullptr, false);
        if (json.is_discarded()) return;
        const Vocabulary one = parse_vocabulary(json, "fuzz.json");
        const std::vector<std::string> names{"a", "b"};
        const Vocabulary both = merge_vocabularies(std::vector{one, one}, names, {});
        require(both.modes.size() == one.modes.size(), "merging keeps the modes");
        similar_json(similar_codes(both, true));
    });
}

}  // namespace couplet::fuzz
