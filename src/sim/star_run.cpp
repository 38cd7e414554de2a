#include <numeric>
#include <optional>
#include <utility>

#include "couplet/ctt/star.hpp"
#include "couplet/sim/run.hpp"

namespace couplet {
namespace {

/// One client while a phase needs it; lazily generated clients are made again for every phase.
struct Seat {
    std::optional<StarClient> client;
};

class StarRun {
  public:
    explicit StarRun(SimulationRun& run)
        : run_(run), coordinator_(run.job, run.clients()), seats_(static_cast<std::size_t>(run.clients())) {}

    void execute() {
        begin();
        std::vector<std::optional<FromClient>> replies(seats_.size());
        const auto deliver = [&](Index k) {
            auto& reply = replies[static_cast<std::size_t>(k)];
            if (!reply) return;
            count_up(*reply);
            const Stopwatch watch(run_.result.seconds.server);
            coordinator_.receive(k, std::move(*std::exchange(reply, std::nullopt)));
        };
        run_.for_clients(
            "hello", [&](Index k) { replies[static_cast<std::size_t>(k)] = seat(k).client->hello(); },
            [&](Index k) {
                deliver(k);
                leave(k);
            });
        while (!coordinator_.finished()) {
            std::optional<ToClient> message = ask_coordinator();
            if (const auto* start = std::get_if<Start>(&*message)) {
                start_ = *start;
                started_ = true;
                run_.result.schema = coordinator_.schema();
            }
            if (auto* features = std::get_if<FeaturesMessage>(&*message)) {
                conclude(std::move(*features));
                return;
            }
            count_down(*message);
            run_.for_clients(
                "clients", [&](Index k) { replies[static_cast<std::size_t>(k)] = seat(k).client->receive(*message); },
                [&](Index k) {
                    deliver(k);
                    leave(k);
                });
        }
    }

  private:
    /// What was merged before, without those who come again.
    void begin() {
        auto& options = run_.options;
        if (options.save_state) coordinator_.keep_uploads();
        if (options.schema) coordinator_.require_schema(*options.schema);
        if (!options.resume) return;
        SavedMerge& earlier = *options.resume;
        std::vector<std::string> names;
        for (Index k = 0; k < run_.clients(); ++k) names.push_back(run_.name(k));
        run_.result.replaced = earlier.take_out(names);
        run_.result.resumed_clients = earlier.ledger().clients;
        coordinator_.require_schema(earlier.schema);
        coordinator_.resume(earlier.states());
    }
    /// Everything that was merged, for more clients to join later.
    SavedMerge saved() {
        SavedMerge merge;
        if (run_.options.resume) merge = run_.options.resume->clone();
        merge.job = run_.job;
        merge.scale_clients = run_.options.scale_clients;
        merge.schema = coordinator_.schema();
        for (std::size_t k = 0; k < coordinator_.uploads().size(); ++k) {
            const MergeState& upload = coordinator_.uploads()[k];
            merge.contributions.push_back({run_.name(static_cast<Index>(k)), {upload.block.clone(), upload.ledger}});
        }
        return merge;
    }

    Seat& seat(Index k) {
        Seat& s = seats_[static_cast<std::size_t>(k)];
        if (s.client) return s;
        s.client.emplace(run_.job, run_.prepare(k));
        if (started_) s.client->follow(start_);
        return s;
    }
    void leave(Index k) {
        if (!run_.source.resident()) seats_[static_cast<std::size_t>(k)] = Seat{};
    }
    std::optional<ToClient> ask_coordinator() {
        const Stopwatch watch(run_.result.seconds.server);
        return coordinator_.next();
    }

    void count_up(const FromClient& reply) {
        if (const auto* upload = std::get_if<Upload>(&reply)) {
            traffic_.message_up(static_cast<double>(upload->block->numbers()), serialised_bytes(*upload));
        }
        if (const auto* sum = std::get_if<SumReply>(&reply)) {
            traffic_.message_up(static_cast<double>(sum->sum->size()), serialised_bytes(*sum));
        }
    }
    void count_down(const ToClient& message) {
        const auto* request = std::get_if<SumRequest>(&message);
        if (request == nullptr) return;
        // The first basis comes from the seed and does not travel.
        const Index numbers = request->pass == 0 ? 0 : request->basis.size();
        traffic_.message_down(static_cast<double>(numbers), serialised_bytes(*request), run_.clients());
    }

    void conclude(FeaturesMessage message) {
        auto& result = run_.result;
        if (run_.options.save_state) {
            const Stopwatch watch(result.seconds.server);
            result.state = saved();
        }
        traffic_.message_down(static_cast<double>(message.features.numbers()), serialised_bytes(message),
                              run_.clients());
        result.rel_error_bound = message.rel_error_bound;
        result.personal_ranks = coordinator_.personal_ranks();
        result.rounds = coordinator_.rounds();
        ToClient features = std::move(message);
        if (!run_.options.dry_run) fit_all(features);
        traffic_.store(result, run_.clients());
        result.features = std::move(std::get<FeaturesMessage>(features).features);
    }

    void fit_all(const ToClient& message) {
        run_.for_clients(
            "refit",
            [&](Index k) {
                Seat& s = seat(k);
                // A client made again has forgotten the personal core it computed at the start.
                if (!run_.job.refit && !run_.source.resident()) s.client->receive(start_);
                s.client->receive(message);
            },
            [&](Index k) {
                const StarClient& client = *seat(k).client;
                run_.result.reordered[static_cast<std::size_t>(k)] = client.reordered();
                run_.book(k, client.data(), client.result(), std::get<FeaturesMessage>(message).features);
                leave(k);
            });
    }

    SimulationRun& run_;
    StarCoordinator coordinator_;
    std::vector<Seat> seats_;
    Start start_;
    bool started_ = false;
    Traffic traffic_;
};

}  // namespace

void run_star(SimulationRun& run) { StarRun(run).execute(); }

}  // namespace couplet
