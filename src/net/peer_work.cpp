#include "peer_work.hpp"

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <limits>
#include <map>
#include <mutex>
#include <set>
#include <utility>

#include "couplet/core/error.hpp"
#include "couplet/core/stopwatch.hpp"
#include "couplet/ctt/message_bytes.hpp"
#include "crash_point.hpp"

namespace couplet::net {

/// One epoch of the job.
class PeerWork::Run {
  public:
    Run(const wire::JobSpec& spec, std::shared_ptr<const Tensor<double>> x, const Hooks& hooks, std::uint64_t epoch,
        const Graph& graph, Index place, const Schema& schema, const std::optional<MaskedEpoch>& masked)
        : spec_(spec), hooks_(hooks), epoch_(epoch), schema_(schema) {
        const Stopwatch watch(seconds_);
        crash_point("peer-computing");
        data_ = prepare_client(std::move(x), spec.preparation, spec.job.seed, place);
        reordered_ = follow_schema(data_, schema, spec.job.unnamed, "this peer");
        if (masked) {
            begin_masked(graph, place, *masked);
            return;
        }
        plan_ = make_consensus_plan(graph, spec.job.consensus);
        peer_ = make_peer(spec.job, plan_, place, data_.training->view());
    }

    void start() {
        std::vector<PeerMessage> messages;
        {
            const Stopwatch watch(seconds_);
            messages = peer_->start();
        }
        send(messages);
    }
    void receive(Index from, const PeerMessage& message) {
        std::vector<PeerMessage> messages;
        try {
            const Stopwatch watch(seconds_);
            messages = peer_->receive(from, message);
        } catch (const InputError& error) {
            hooks_.refused(from, error.what());
        }
        send(messages);
    }

  private:
    void begin_masked(const Graph& graph, Index place, const MaskedEpoch& masked) {
        plan_ = make_consensus_plan(graph, {.engine = ConsensusEngine::tree});
        auto peer = std::make_unique<SecurePeer>(data_.training->view(),
                                                 SecurePeer::Options{.job = spec_.job,
                                                                     .graph = graph,
                                                                     .node = place,
                                                                     .terms = *spec_.shield,
                                                                     .session = masked.session,
                                                                     .sign = masked.sign,
                                                                     .verify = masked.verify,
                                                                     .demands = masked.demands,
                                                                     .on_plan = hooks_.plan,
                                                                     .on_sum = hooks_.sum,
                                                                     .on_masked = [this] { hooks_.masked(epoch_); }});
        secure_ = peer.get();
        peer_ = std::move(peer);
    }
    void send(const std::vector<PeerMessage>& messages) {
        for (const PeerMessage& message : messages) {
            if (!std::holds_alternative<Start>(*message.body)) {
                report_.numbers += static_cast<double>(count_numbers(*message.body));
                report_.bytes += static_cast<double>(serialised_bytes(*message.body));
                links_.insert(message.to);
            }
            hooks_.send(epoch_, message);
        }
        if (peer_->finished() && !std::exchange(told_, true)) hooks_.finished(epoch_, output());
    }
    PeerOutput output() {
        const PersonalFit& fit = peer_->result();
        const HeldOutError heldout = heldout_error(data_, peer_->features());
        PeerOutput output;
        output.features = peer_->features().clone();
        output.personal = scaled_back(fit.personal, data_.scale);
        output.rel_error_bound = peer_->rel_error_bound();
        output.rounds = secure_ ? secure_->rounds() : count_rounds(spec_.job, plan_, output.features.train.shape());
        output.lambda2 = plan_.lambda2;
        output.iterations = plan_.iterations;
        output.schema = schema_;
        output.reordered = reordered_;
        if (secure_) {
            // What others hear of this peer's patients: nothing.
            output.own_rse = fit.norm2 > 0 ? fit.error2 / fit.norm2 : 0;
            if (heldout.norm2 > 0) output.own_rse_heldout = heldout.error2 / heldout.norm2;
            output.shield = secure_->report();
        } else {
            report_.error2 = fit.error2;
            report_.norm2 = fit.norm2;
            report_.heldout_error2 = heldout.error2;
            report_.heldout_norm2 = heldout.norm2;
        }
        report_.rank = peer_->personal_rank();
        report_.seconds = seconds_;
        report_.links = static_cast<Index>(links_.size());
        output.report = report_;
        return output;
    }

    const wire::JobSpec& spec_;
    const Hooks& hooks_;
    std::uint64_t epoch_;
    Schema schema_;
    std::string reordered_;
    double seconds_ = 0;
    PreparedClient data_;
    ConsensusPlan plan_;
    std::unique_ptr<Peer> peer_;
    const SecurePeer* secure_ = nullptr;  ///< peer_, where sums are masked
    wire::PeerReport report_;
    std::set<Index> links_;
    bool told_ = false;
};

namespace {

// Peers wait for each other at every step: an honest neighbour is never more than a handful of messages ahead.
constexpr Index most_waiting = 64;
// For a computation that is about to end; longer ones are left to themselves.
constexpr std::chrono::milliseconds last_patience{500};
std::atomic<int> left_to_themselves{0};

}  // namespace

/// What the thread works on. It lives as long as the thread, which may be longer than its owner.
class PeerWork::Loop {
  public:
    Loop(wire::JobSpec spec, std::shared_ptr<const Tensor<double>> x, Hooks hooks)
        : spec_(std::move(spec)), x_(std::move(x)), hooks_(guarded(std::move(hooks))) {}

    void begin(std::uint64_t epoch, Graph graph, Index place, Schema schema, std::optional<MaskedEpoch> masked) {
        add(epoch,
            [this, epoch, graph = std::move(graph), place, schema = std::move(schema), masked = std::move(masked)] {
                run_.reset();
                run_ = std::make_unique<Run>(spec_, x_, hooks_, epoch, graph, place, schema, masked);
                run_->start();
            });
    }
    /// False when too many messages of that neighbour wait already.
    bool receive(std::uint64_t epoch, Index from, PeerMessage message) {
        return add(
            epoch,
            [this, from, message = std::move(message)] {
                if (run_) run_->receive(from, message);
            },
            from);
    }

    void work() {
        std::unique_lock lock(mutex_);
        for (;;) {
            changed_.wait(lock, [&] { return ending_ || !tasks_.empty(); });
            if (ending_) break;
            const Task task = std::move(tasks_.front());
            tasks_.pop_front();
            if (task.from >= 0) --waiting_[task.from];
            lock.unlock();
            try {
                task.action();
            } catch (const std::exception& error) {
                run_.reset();
                hooks_.failed(task.epoch, error.what());
            }
            lock.lock();
        }
        ended_ = true;
        if (left_) --left_to_themselves;
        changed_.notify_all();
    }

    /// Whether the thread has ended soon after it was told to.
    bool end() {
        {
            const std::lock_guard lock(hooks_mutex_);
            silent_ = true;
        }
        std::unique_lock lock(mutex_);
        ending_ = true;
        changed_.notify_all();
        if (changed_.wait_for(lock, last_patience, [&] { return ended_; })) return true;
        left_ = true;
        ++left_to_themselves;
        return false;
    }

  private:
    struct Task {
        std::uint64_t epoch = 0;
        Index from = -1;  ///< the neighbour whose message it is, if it is one
        std::function<void()> action;
    };

    bool add(std::uint64_t epoch, std::function<void()> action, Index from = -1) {
        const std::lock_guard lock(mutex_);
        if (epoch < epoch_) return true;
        if (epoch > epoch_) {
            tasks_.clear();
            waiting_.clear();
        }
        epoch_ = epoch;
        if (from >= 0 && waiting_[from] >= most_waiting) return false;
        if (from >= 0) ++waiting_[from];
        tasks_.push_back({epoch, from, std::move(action)});
        changed_.notify_all();
        return true;
    }

    /// Hooks that do nothing once their owner is gone.
    Hooks guarded(Hooks hooks) {
        const auto guard = [this](auto hook) {
            return [this, hook = std::move(hook)](auto&&... values) {
                const std::lock_guard lock(hooks_mutex_);
                if (!silent_ && hook) hook(std::forward<decltype(values)>(values)...);
            };
        };
        return {guard(std::move(hooks.send)),    guard(std::move(hooks.finished)), guard(std::move(hooks.failed)),
                guard(std::move(hooks.refused)), guard(std::move(hooks.plan)),     guard(std::move(hooks.masked)),
                guard(std::move(hooks.sum))};
    }

    wire::JobSpec spec_;
    std::shared_ptr<const Tensor<double>> x_;
    std::mutex hooks_mutex_;
    bool silent_ = false;
    Hooks hooks_;
    std::unique_ptr<Run> run_;  ///< touched by the thread alone
    std::mutex mutex_;
    std::condition_variable changed_;
    std::deque<Task> tasks_;
    std::map<Index, Index> waiting_;  ///< tasks of each neighbour
    std::uint64_t epoch_ = 0;
    bool ending_ = false;
    bool ended_ = false;
    bool left_ = false;
};

Index largest_payload_bytes(const Shape& features) noexcept {
    constexpr double room = 1 << 20;  // for whatever is not numbers
    const auto p = static_cast<double>(features.size());
    const double bytes = 8 * (2 * p * p + p) + room;
    return bytes < 1e18 ? static_cast<Index>(bytes) : std::numeric_limits<Index>::max();
}

PeerWork::PeerWork(wire::JobSpec spec, std::shared_ptr<const Tensor<double>> x, Hooks hooks)
    : loop_(std::make_shared<Loop>(std::move(spec), std::move(x), std::move(hooks))),
      thread_([loop = loop_] { loop->work(); }) {}

PeerWork::~PeerWork() {
    if (loop_->end()) {
        thread_.join();
    } else {
        thread_.detach();
    }
}

void PeerWork::begin(std::uint64_t epoch, Graph graph, Index place, Schema schema, std::optional<MaskedEpoch> masked) {
    loop_->begin(epoch, std::move(graph), place, std::move(schema), std::move(masked));
}

bool PeerWork::receive(std::uint64_t epoch, Index from, PeerMessage message) {
    return loop_->receive(epoch, from, std::move(message));
}

bool PeerWork::left_behind() noexcept { return left_to_themselves > 0; }

}  // namespace couplet::net
