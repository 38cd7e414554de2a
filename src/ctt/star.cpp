#include "couplet/ctt/star.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <utility>

#include "couplet/core/error.hpp"
#include "couplet/core/operations.hpp"
#include "couplet/ctt/prepare.hpp"

namespace couplet {
namespace {

Shape feature_shape(const Shape& shape) {
    if (shape.order() < 2) {
        throw InputError(
            {"tensor", "order " + std::to_string(shape.order()), "at least two modes: patients and a feature", ""});
    }
    return Shape(std::vector<Index>(shape.sizes().begin() + 1, shape.sizes().end()));
}

void add_into(const double* from, Index size, double* to) {
    count_operations(static_cast<double>(size));
    for (Index i = 0; i < size; ++i) to[i] += from[i];
}

constexpr double same_squares = 1e-6;  ///< squares of the same data, summed up in another order

/// What a client of this norm can send is a projection of its data, or products of its rows: nothing is larger. Whoever
/// sends more would spoil the sums of all.
double most_squares(const Hello& hello) {
    return (1 + same_squares) * hello.norm2 + std::numeric_limits<double>::min();
}

Ledger ledger_of(const Upload& upload) { return {1, upload.rows, upload.norm2, upload.svd_tail2, upload.tt_tail2, 0}; }

MergeState contribution_of(const Upload& upload) { return {upload.block->clone(), ledger_of(upload)}; }

/// An upload is of the data of the greeting, and its figures are those of its rows.
void require_own_figures(const Upload& upload, const Hello& hello, const std::string& who) {
    const double most = most_squares(hello);
    for (const double squares : {upload.norm2, upload.svd_tail2, upload.tt_tail2}) {
        if (squares >= 0 && squares <= most) continue;
        throw InputError({who, "a squared norm that its data cannot have", "one from 0 to that of its greeting", ""});
    }
    if (upload.norm2 < hello.norm2 * (1 - same_squares)) {
        throw InputError({who, "an upload of data with a smaller norm", "the data of its greeting", ""});
    }
    if (is_consistent(upload.block.get(), ledger_of(upload))) return;
    throw InputError({who, "figures that do not fit what it sent", "the norm of its rows and of what was cut", ""});
}

}  // namespace

StarClient::StarClient(const Job& job, TensorView<const double> x) : StarClient(job, std::move(x), std::nullopt) {}

StarClient::StarClient(const Job& job, TensorView<const double> x, std::optional<double> norm2)
    : job_(job),
      x_(std::move(x)),
      hello_{feature_shape(x_.shape()), x_.shape()[0], norm2 ? *norm2 : job_norm2(x_, "client")} {
    data_.schema = hello_.schema();
}

StarClient::StarClient(const Job& job, PreparedClient data) : StarClient(job, data.training->view(), data.norm2) {
    data_ = std::move(data);
    hello_.labels = data_.schema.modes;
}

void StarClient::follow(const Start& start) {
    schema_ = {hello_.features, start.labels};
    std::string moved = follow_schema(data_, schema_, job_.unnamed, "client");
    if (moved.empty()) return;
    reordered_ = std::move(moved);
    x_ = data_.training->view();
}

std::optional<FromClient> StarClient::receive(const ToClient& message) {
    if (const auto* start = std::get_if<Start>(&message)) return on_start(*start);
    if (const auto* request = std::get_if<SumRequest>(&message)) {
        if (job_.aggregate != Aggregate::subspace) {
            throw InputError({"coordinator", "a request for a sum", "a job with aggregate subspace", ""});
        }
        if (request->want == SubspaceIteration::Want::projected) {
            return SumReply{request->pass, projected_gram(x_, request->basis.view())};
        }
        return SumReply{request->pass, sketch_sum(x_, request->basis.view())};
    }
    on_features(std::get<FeaturesMessage>(message));
    return std::nullopt;
}

std::optional<FromClient> StarClient::on_start(const Start& start) {
    follow(start);
    if (job_.aggregate == Aggregate::subspace) return std::nullopt;
    if (job_.aggregate == Aggregate::stack) {
        return compress_client(x_, client_limits(job_, hello_, start));
    }
    average_.emplace(average_client(x_, *job_.rank, job_.eps1));
    return std::move(average_->upload);
}

void StarClient::on_features(const FeaturesMessage& message) {
    if (result_) return;  // a repeated message
    if (job_.refit) {
        result_ = refit(x_, message.features, hello_.norm2);
        return;
    }
    if (!average_) throw InputError({"coordinator", "features before the start", "the start of the job first", ""});
    PersonalFit fit;
    fit.norm2 = hello_.norm2;
    fit.error2 = fixed_error2(x_, average_->weighted, message.features);
    fit.personal = std::move(average_->personal);
    result_ = std::move(fit);
}

const PersonalFit& StarClient::result() const {
    if (!result_) throw RunError({"client", "no features yet", "a finished job", ""});
    return *result_;
}

StarCoordinator::StarCoordinator(const Job& job, Index clients)
    : job_(job),
      clients_(clients),
      hellos_(static_cast<std::size_t>(std::max<Index>(clients, 0))),
      hellos_missing_(clients),
      personal_ranks_(static_cast<std::size_t>(std::max<Index>(clients, 0)), 0) {
    if (clients < 1) throw InputError({"clients", std::to_string(clients), "at least one", ""});
}

void StarCoordinator::require_schema(Schema schema) { given_ = std::move(schema); }

void StarCoordinator::resume(std::vector<MergeState> earlier) {
    if (job_.aggregate != Aggregate::stack || start_) {
        throw InputError({"`resume`", "a job that cannot take up a saved merge", "`aggregate` stack", ""});
    }
    earlier_ = std::move(earlier);
}

void StarCoordinator::merge_in_tree(Index width) {
    if (job_.aggregate != Aggregate::stack || start_ || !earlier_.empty() || keeping_) {
        throw InputError({"tree", "a job that merges nothing, or whose merge is saved", "`aggregate` stack", ""});
    }
    if (width < 2) throw InputError({"tree", std::to_string(width), "at least 2 clients to a merger", ""});
    width_ = width;
}

void StarCoordinator::make_mergers(const Shape& features, const Start& everybody) {
    if (width_ > 0 && clients_ > width_) {
        tree_.emplace(job_, features, everybody, clients_, width_);
        is_in_tree_.assign(static_cast<std::size_t>(clients_), false);
        return;
    }
    merger_.emplace(job_, features, everybody);
    for (MergeState& state : std::exchange(earlier_, {})) merger_->add(std::move(state));
}

void StarCoordinator::receive(Index client, FromClient message) {
    if (client < 0 || client >= clients_) {
        throw InputError({"client", std::to_string(client + 1), "1 to " + std::to_string(clients_), ""});
    }
    if (auto* hello = std::get_if<Hello>(&message)) {
        auto& place = hellos_[static_cast<std::size_t>(client)];
        if (place) return;
        place = std::move(*hello);
        --hellos_missing_;
    } else if (auto* upload = std::get_if<Upload>(&message)) {
        on_upload(client, std::move(*upload));
    } else {
        on_sum(client, std::get<SumReply>(message));
    }
}

void StarCoordinator::on_upload(Index client, Upload upload) {
    if (!start_sent_ || job_.aggregate == Aggregate::subspace) {
        throw InputError(
            {"client " + std::to_string(client + 1), "an upload", "the start of a job that wants one", ""});
    }
    const auto place = static_cast<std::size_t>(client);
    const bool is_known = tree_ ? is_in_tree_[place] : client < taken_ || waiting_uploads_.contains(client);
    if (is_known) return;
    const FeatureBlock& block = upload.block.get();
    const Shape& features = hellos_.front()->features;
    const Hello& hello = *hellos_[place];
    if (block.features() != features) {
        throw InputError({"client " + std::to_string(client + 1), "feature modes " + block.features().to_string(),
                          features.to_string(), ""});
    }
    const Index cap = std::min(rank_cap(hello), job_.rank.value_or(block.rows()));
    if (block.rows() > cap || (job_.aggregate == Aggregate::average && block.rows() != cap)) {
        throw InputError({"client " + std::to_string(client + 1), "rank " + std::to_string(block.rows()),
                          (job_.aggregate == Aggregate::average ? "" : "at most ") + std::to_string(cap), ""});
    }
    if (upload.rows != hello.rows) {
        throw InputError({"client " + std::to_string(client + 1), std::to_string(upload.rows) + " patients",
                          std::to_string(hello.rows) + " as it said", ""});
    }
    require_own_figures(upload, hello, "client " + std::to_string(client + 1));
    if (tree_) {
        personal_ranks_[place] = block.rows();
        is_in_tree_[place] = true;
        tree_->add(client, std::move(upload));
        ++taken_;
        return;
    }
    waiting_uploads_.emplace(client, std::move(upload));
    take_in_order();
}

void StarCoordinator::take_in_order() {
    for (auto it = waiting_uploads_.begin(); it != waiting_uploads_.end() && it->first == taken_;) {
        const FeatureBlock& block = it->second.block.get();
        personal_ranks_[static_cast<std::size_t>(taken_)] = block.rows();
        if (job_.aggregate == Aggregate::stack) {
            if (keeping_) kept_.push_back(contribution_of(it->second));
            merger_->add(std::move(it->second));
        } else {
            Matrix<double> rows(block.rows(), block.features().size());
            block.expand(rows.view());
            if (average_.size() == 0) average_ = Matrix<double>::zeros(rows.rows(), rows.cols());
            add_into(rows.data(), rows.size(), average_.data());
        }
        it = waiting_uploads_.erase(it);
        ++taken_;
    }
}

void StarCoordinator::on_sum(Index client, const SumReply& reply) {
    if (subspace_ && reply.pass >= 0 && reply.pass < pass_) return;  // late: that sum is complete
    if (!subspace_ || !request_sent_ || reply.pass != pass_) {
        throw InputError({"client " + std::to_string(client + 1), "a sum for pass " + std::to_string(reply.pass),
                          "pass " + std::to_string(pass_), ""});
    }
    if (client < taken_ || waiting_sums_.contains(client)) return;
    if (static_cast<Index>(reply.sum->size()) != subspace_->sum_length()) {
        throw InputError({"client " + std::to_string(client + 1), std::to_string(reply.sum->size()) + " numbers",
                          std::to_string(subspace_->sum_length()), ""});
    }
    const double most = most_squares(*hellos_[static_cast<std::size_t>(client)]);
    for (const double value : reply.sum.get()) {
        if (std::abs(value) <= most) continue;
        throw InputError({"client " + std::to_string(client + 1), "a sum that its data cannot have",
                          "numbers up to the squared norm of its greeting", ""});
    }
    waiting_sums_.emplace(client, reply.sum.get());
    for (auto it = waiting_sums_.begin(); it != waiting_sums_.end() && it->first == taken_; ++taken_) {
        if (taken_ == 0) {
            sum_ = std::move(it->second);
        } else {
            add_into(it->second.data(), static_cast<Index>(sum_.size()), sum_.data());
        }
        it = waiting_sums_.erase(it);
    }
}

std::optional<ToClient> StarCoordinator::next() {
    if (finished_ || hellos_missing_ > 0) return std::nullopt;
    if (!start_sent_) {
        std::vector<Hello> hellos;
        for (const auto& hello : hellos_) hellos.push_back(*hello);
        start_ = start_job(job_, hellos, given_);
        const Shape& features = hellos.front().features;
        schema_ = {features, start_->labels};
        Start everybody = *start_;
        for (const MergeState& state : earlier_) {
            everybody.clients += state.ledger.clients;
            everybody.rows += state.ledger.rows;
            everybody.norm2 += state.ledger.norm2;
        }
        // Clients share the error among themselves: those merged before have had theirs.
        start_->clients = everybody.clients;
        for (const MergeState& state : earlier_) start_->earlier_norm2 += state.ledger.norm2;
        if (job_.aggregate == Aggregate::stack) make_mergers(features, everybody);
        if (job_.aggregate == Aggregate::subspace) {
            subspace_.emplace(job_, features);
        }
        start_sent_ = true;
        return *start_;
    }
    if (subspace_ && subspace_->want() != SubspaceIteration::Want::nothing) {
        if (!request_sent_) {
            request_sent_ = true;
            taken_ = 0;
            rounds_ += pass_ == 0 ? 1 : 2;  // the first basis comes from the seed, so no round down
            return SumRequest{pass_, subspace_->want(), Matrix<double>::copy(subspace_->basis().view())};
        }
        if (taken_ < clients_) return std::nullopt;
        subspace_->take(sum_);
        ++pass_;
        request_sent_ = false;
        return next();
    }
    if (!subspace_ && taken_ < clients_) return std::nullopt;
    finished_ = true;
    rounds_ += subspace_ ? 1 : 2;
    return finish();
}

FeaturesMessage StarCoordinator::finish() {
    if (subspace_) {
        std::ranges::fill(personal_ranks_, subspace_->features().train.left_rank());
        return {subspace_->features().clone(), std::nullopt};
    }
    if (merger_ || tree_) {
        auto outcome = merger_ ? merger_->finish() : tree_->finish();
        return {std::move(outcome.features), outcome.rel_error_bound};
    }
    const double share = 1.0 / static_cast<double>(clients_);
    for (Index i = 0; i < average_.size(); ++i) average_.data()[i] *= share;
    auto train = decompose_rows(average_, hellos_.front()->features, job_.eps2);
    if (job_.refit) return {orthonormal_features(train), std::nullopt};
    return {{std::move(train), {}, false}, std::nullopt};
}

}  // namespace couplet
