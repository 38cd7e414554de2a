#include "couplet/data/ecg.hpp"

#include <fmt/format.h>

#include <span>
#include <utility>
#include <vector>

#include "couplet/core/error.hpp"
#include "couplet/core/threads.hpp"
#include "couplet/data/cells.hpp"
#include "couplet/data/data_file.hpp"
#include "couplet/data/sample.hpp"

namespace couplet {
namespace {

constexpr Index beat_points = 140;

struct Beats {
    std::vector<double> points;  ///< beat_points per beat
    std::vector<std::int64_t> labels;
};

Beats read_beats(const std::filesystem::path& file) {
    CsvReader csv(file);
    Beats beats;
    for (std::vector<std::string_view> row; csv.next(row);) {
        require_fields(csv, row, beat_points + 1, "140 points and the label");
        for (Index t = 0; t < beat_points; ++t) beats.points.push_back(finite_cell(csv, row, t));
        beats.labels.push_back(whole_cell(csv, row, beat_points, 0, 1));
    }
    return beats;
}

/// Class 1 to 5 of each line of ecg.csv.
std::vector<std::int64_t> read_classes(const std::filesystem::path& file, Index beats) {
    CsvReader csv(file);
    csv.read_header();
    const Index line = csv.column("ecg_csv_row");
    const Index five = csv.column("class5");
    std::vector<std::int64_t> classes(static_cast<std::size_t>(beats), 0);
    Index named = 0;
    for (std::vector<std::string_view> row; csv.next(row);) {
        auto& entry = classes[static_cast<std::size_t>(whole_cell(csv, row, line, 0, beats - 1))];
        if (entry != 0) refuse_cell(csv, row, line, "each row of ecg.csv once");
        entry = whole_cell(csv, row, five, 1, 5);
        ++named;
    }
    if (named != beats) {
        throw InputError({file.string(), fmt::format("classes of {} beats", named),
                          fmt::format("{}, one for each row of ecg.csv", beats),
                          "Use the two files that belong together."});
    }
    return classes;
}

void embed(const double* x, EcgEmbedding embedding, MatrixView<double> out) {
    for (Index i = 0; i < out.rows; ++i) {
        for (Index t = 0; t < out.cols; ++t)
            out(i, t) = embedding == EcgEmbedding::outer ? x[i] * x[t] : x[(i + t) % beat_points];
    }
}

}  // namespace

Dataset load_ecg(const std::filesystem::path& file, const EcgOptions& options) {
    if (options.points < 1 || options.points > beat_points) {
        throw InputError({"points", std::to_string(options.points), "a number from 1 to 140", ""});
    }
    const Beats beats = read_beats(file);
    const auto available = static_cast<Index>(beats.labels.size());
    const Index count = options.count.value_or(available);
    if (count < 1 || count > available) {
        throw InputError(
            {file.string(), fmt::format("{} beats", available),
             fmt::format("at least the {} asked for, and that at least 1", count),
             fmt::format("Ask for fewer beats, or check that the file is complete: it has {} lines as published.",
                         *published_rows(DataFile::ecg))});
    }
    const std::vector<std::int64_t> labels = options.classes ? read_classes(*options.classes, available) : beats.labels;
    const std::vector<Index> rows = sample_without_replacement(available, count, options.seed);
    Dataset data{.tensor = Tensor<double>(Shape{count, options.points, beat_points}),
                 .source = file.string(),
                 .available = available,
                 .records = available};
    for (const Index row : rows) data.labels.push_back(labels[static_cast<std::size_t>(row)]);
    const Index size = options.points * beat_points;
    parallel_for(count, [&](Index p) {
        const double* x = beats.points.data() + rows[static_cast<std::size_t>(p)] * beat_points;
        embed(x, options.embedding, {data.tensor.data() + p * size, options.points, beat_points});
    });
    data.tensor.set_labels(
        {{"beat", {}}, {options.embedding == EcgEmbedding::outer ? "signal" : "lag", {}}, {"time", {}}});
    return data;
}

}  // namespace couplet
