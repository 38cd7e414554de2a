#include "peer_work.hpp"

#include <utility>

#include "couplet/core/error.hpp"
#include "couplet/ctt/message_bytes.hpp"
#include "stopwatch.hpp"

namespace couplet::net {

/// One epoch of the job.
class PeerWork::Run {
  public:
    Run(const wire::JobSpec& spec, std::shared_ptr<const Tensor<double>> x, const Hooks& hooks, std::uint64_t epoch,
        const Graph& graph, Index place)
        : spec_(spec), hooks_(hooks), epoch_(epoch) {
        const Stopwatch watch(seconds_);
        data_ = prepare_client(std::move(x), spec.preparation, spec.job.seed, place);
        plan_ = make_consensus_plan(graph, spec.job.consensus);
        peer_.emplace(spec.job, plan_, place, data_.training->view());
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
    void send(const std::vector<PeerMessage>& messages) {
        for (const PeerMessage& message : messages) {
            if (!std::holds_alternative<Start>(*message.body)) {
                const auto numbers = static_cast<double>(count_numbers(*message.body));
                report_.numbers += numbers;
                report_.bytes += serialised_bytes(numbers);
                links_.insert(message.to);
            }
            hooks_.send(epoch_, message);
        }
        if (peer_->finished() && !std::exchange(told_, true)) hooks_.finished(epoch_, output());
    }
    PeerOutput output() {
        const PersonalFit& fit = peer_->result();
        const HeldOutError heldout = heldout_error(data_, peer_->features());
        report_.rank = peer_->personal_rank();
        report_.error2 = fit.error2;
        report_.norm2 = fit.norm2;
        report_.heldout_error2 = heldout.error2;
        report_.heldout_norm2 = heldout.norm2;
        report_.seconds = seconds_;
        report_.links = static_cast<Index>(links_.size());
        const Shape features = peer_->features().train.shape();
        return {peer_->features().clone(), scaled_back(fit.personal, data_.scale),   report_,
                peer_->rel_error_bound(),  count_rounds(spec_.job, plan_, features), plan_.lambda2,
                plan_.iterations};
    }

    const wire::JobSpec& spec_;
    const Hooks& hooks_;
    std::uint64_t epoch_;
    double seconds_ = 0;
    PreparedClient data_;
    ConsensusPlan plan_;
    std::optional<Peer> peer_;
    wire::PeerReport report_;
    std::set<Index> links_;
    bool told_ = false;
};

PeerWork::PeerWork(wire::JobSpec spec, std::shared_ptr<const Tensor<double>> x, Hooks hooks)
    : spec_(std::move(spec)), x_(std::move(x)), hooks_(std::move(hooks)), thread_([this] { loop(); }) {}

PeerWork::~PeerWork() {
    {
        const std::lock_guard lock(mutex_);
        ending_ = true;
        changed_.notify_all();
    }
    thread_.join();
}

void PeerWork::add(std::uint64_t epoch, std::function<void()> action) {
    const std::lock_guard lock(mutex_);
    if (epoch < epoch_) return;
    if (epoch > epoch_) tasks_.clear();
    epoch_ = epoch;
    tasks_.push_back({epoch, std::move(action)});
    changed_.notify_all();
}

void PeerWork::begin(std::uint64_t epoch, Graph graph, Index place) {
    add(epoch, [this, epoch, graph = std::move(graph), place] {
        run_.reset();
        run_ = std::make_unique<Run>(spec_, x_, hooks_, epoch, graph, place);
        run_->start();
    });
}

void PeerWork::receive(std::uint64_t epoch, Index from, PeerMessage message) {
    add(epoch, [this, from, message = std::move(message)] {
        if (run_) run_->receive(from, message);
    });
}

void PeerWork::loop() {
    std::unique_lock lock(mutex_);
    for (;;) {
        changed_.wait(lock, [&] { return ending_ || !tasks_.empty(); });
        if (ending_) return;
        const Task task = std::move(tasks_.front());
        tasks_.pop_front();
        lock.unlock();
        try {
            task.action();
        } catch (const std::exception& error) {
            run_.reset();
            hooks_.failed(task.epoch, error.what());
        }
        lock.lock();
    }
}

}  // namespace couplet::net
