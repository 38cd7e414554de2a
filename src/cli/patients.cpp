#include "patients.hpp"

#include <fmt/format.h>

#include <utility>

#include "couplet/core/error.hpp"
#include "couplet/io/tensor_file.hpp"
#include "format.hpp"
#include "inputs.hpp"

namespace couplet::cli {
namespace {

void require_fit(const Shape& x, const std::string& path, const Describing& by) {
    const Shape& features = by.rows.shape();
    if (x.order() != features.order() + 1) {
        throw InputError(
            {path, fmt::format("{} modes ({})", x.order(), shape_text(x)),
             fmt::format("{}: patients, then {} as in {}", features.order() + 1, shape_text(features), by.file), ""});
    }
    const Labels& labels = by.rows.labels();
    for (Index n = 0; n < features.order(); ++n) {
        if (x[n + 1] == features[n]) continue;
        const std::string name = labels.empty() ? "" : labels[static_cast<std::size_t>(n)].name;
        throw InputError(
            {path, fmt::format("mode {}{} has size {}", n + 2, name.empty() ? "" : " (" + name + ")", x[n + 1]),
             fmt::format("{} as in {}", features[n], by.file), "Only the first mode, the patients, may differ."});
    }
}

/// Puts the patients' features in the order of the federation's. Returns what was done, in words.
std::string follow(Tensor<double>& x, const std::string& path, const Describing& by) {
    const Schema job = make_schema(by.rows.shape(), by.rows.labels(), by.file);
    const Schema mine = feature_schema(x, path);
    const Alignment alignment = align(job, mine, by.unnamed, path, by.file);
    if (alignment.empty()) return {};
    x = reordered(x.view(), alignment);
    return describe(alignment, job);
}

}  // namespace

Patients open_patients(const std::string& path, const Describing& by, const Session& session) {
    TensorFile file = by.incomplete
                          ? read_incomplete_tensor(path)
                          : read_tensor(path, "With --missing impute every patient is fitted to what is known of it.");
    tell_oddities(file, session);
    require_fit(file.shape(), path, by);
    Patients patients{.x = {}, .labels = file.labels().empty() ? ModeLabels{} : file.labels().front()};
    patients.x = std::move(file).take<double>();
    patients.moved = follow(patients.x, path, by);
    if (!patients.moved.empty()) session.note(fmt::format("note: {}: {}", path, patients.moved));
    if (!by.centring.empty()) patients.x = centred(patients.x.view(), by.centring, path);
    return patients;
}

}  // namespace couplet::cli
