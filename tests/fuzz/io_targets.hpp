#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <string>
#include <variant>
#include <vector>

#include "couplet/core/error.hpp"
#include "couplet/io/csv.hpp"
#include "couplet/io/model.hpp"
#include "couplet/io/tensor_file.hpp"

/// What the fuzzers run and the test suite replays: any bytes must give a result or a couplet::InputError,
/// nothing else. Every target returns 0, as libFuzzer wants.
namespace couplet::fuzz {

/// Small enough that an input of a few kilobytes cannot slow the fuzzer down.
inline constexpr Index memory_limit = 1 << 20;

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

/// Reads every element, so that the address sanitizer sees a view that reaches too far.
inline void touch(const TensorFile& file) {
    file.visit([](auto view) {
        Index finite = 0;
        for (Index i = 0; i < view.size(); ++i) finite += view.data()[i] == view.data()[i] ? 1 : 0;
        require(finite <= view.size(), "counts fit");
    });
    require(file.shape().order() >= 1 && file.shape().size() >= 1, "a tensor has elements");
    check_labels(file.labels(), file.shape());
}

inline int decode_as(const char* name, const std::uint8_t* data, std::size_t size) {
    return only_input_errors(
        [&] { touch(decode_tensor(std::as_bytes(std::span(data, size)), name, {.max_bytes = memory_limit})); });
}

inline int npy(const std::uint8_t* data, std::size_t size) { return decode_as("fuzz.npy", data, size); }
inline int tns(const std::uint8_t* data, std::size_t size) { return decode_as("fuzz.tns", data, size); }

/// Plain or gzip, whichever the bytes are.
inline int csv(const std::uint8_t* data, std::size_t size) {
    decode_as("fuzz.csv", data, size);
    return only_input_errors([&] {
        CsvReader reader(std::as_bytes(std::span(data, size)), "fuzz.csv");
        const std::size_t columns = reader.read_header().size();
        for (std::vector<std::string_view> row; reader.next(row);) {
            require(row.size() == columns, "rows are equally long");
            std::size_t characters = 0;
            for (const std::string_view field : row) characters += field.find('\0') == 0 ? 0 : 1;
            require(characters <= columns, "fields are readable");
        }
    });
}

inline int model(const std::uint8_t* data, std::size_t size) {
    return only_input_errors([&] {
        AnyModel any =
            decode_model(std::as_bytes(std::span(data, size)), "fuzz.npz", {.max_inflated_bytes = memory_limit});
        std::visit([](const auto& decoded) { check_model(decoded, "fuzz.npz"); }, any);
        Model<double> wide = to_double(std::move(any));
        if (wide.is_features() || wide.is_complete()) to_train(std::move(wide));
    });
}

}  // namespace couplet::fuzz
