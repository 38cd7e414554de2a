#include "sign_message.hpp"

#include <cmath>
#include <utility>

#include "cp.hpp"

namespace couplet {

SignMessage compress_signs(MatrixView<const double> p) {
    SignMessage message{p.rows, p.cols, 0, std::vector<std::uint8_t>(static_cast<std::size_t>((p.size() + 7) / 8), 0)};
    double sum = 0;
    for (Index i = 0; i < p.rows; ++i) {
        for (Index j = 0; j < p.cols; ++j) {
            const double value = p(i, j);
            sum += std::abs(value);
            const Index at = i * p.cols + j;
            if (value < 0) message.bits[static_cast<std::size_t>(at / 8)] |= static_cast<std::uint8_t>(1U << (at % 8));
        }
    }
    if (p.size() > 0) message.scale = sum / static_cast<double>(p.size());
    return message;
}

Matrix<double> expand_signs(const SignMessage& message) {
    Matrix<double> result(message.rows, message.cols);
    for (Index at = 0; at < result.size(); ++at) {
        const bool negative = (message.bits[static_cast<std::size_t>(at / 8)] >> (at % 8) & 1U) != 0;
        result.data()[at] = negative ? -message.scale : message.scale;
    }
    return result;
}

SignMessage ErrorFeedback::send(Matrix<double> p) {
    if (rest_.size() == 0) rest_ = Matrix<double>::zeros(p.rows(), p.cols());
    add_scaled(p, 1, rest_);
    SignMessage message = compress_signs(p.view());
    add_scaled(p, -1, expand_signs(message));
    rest_ = std::move(p);
    return message;
}

}  // namespace couplet
