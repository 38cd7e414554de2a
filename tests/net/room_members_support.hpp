#pragma once

#include <map>
#include <set>
#include <thread>

#include "client_work.hpp"
#include "couplet/wire/encoder.hpp"
#include "job_desk.hpp"
#include "net_test_support.hpp"
#include "spool.hpp"

namespace couplet::net {

/// The clients of a room, each the real work of a client in a thread of its own: whole merges without a socket.
class RoomMembers {
  public:
    using Data = std::vector<std::shared_ptr<const Tensor<double>>>;

    /// `tools` are one for each client where sums are masked.
    RoomMembers(Room& room, Data data, std::vector<MaskingTools*> tools = {}) : room_(room), reasons_(data.size()) {
        for (std::size_t k = 0; k < data.size(); ++k) {
            MaskingTools* own = tools.empty() ? &none_ : tools[k];
            threads_.emplace_back([this, k, x = data[k], own] { attend(k, x, *own); });
        }
    }
    ~RoomMembers() { end(); }
    RoomMembers(const RoomMembers&) = delete;
    RoomMembers& operator=(const RoomMembers&) = delete;

    void end() {
        room_.stop();
        for (std::thread& thread : threads_) {
            if (thread.joinable()) thread.join();
        }
    }
    /// Clients that compute for ever, and what others say of the norm of their data once it is centred. Set before
    /// anybody is asked.
    std::set<std::size_t> silent = {};
    std::map<std::size_t, double> false_norms = {};
    /// Why a client was turned away; empty: it was not. After end().
    const std::string& reason(std::size_t k) const { return reasons_[k]; }

  private:
    void attend(std::size_t k, const std::shared_ptr<const Tensor<double>>& x, MaskingTools& tools) {
        const std::string name = room_.roster()[k];
        const Room::Ticket ticket = room_.enter(name, {name, version()});
        try {
            ClientWork work(room_.welcome(ticket), x, tools);
            room_.greet(ticket, work.hello());
            for (wire::Route cursor;;) {
                const Room::Next next = room_.next(ticket, cursor, 20ms);
                if (next.what == Room::What::over) return;
                if (next.what == Room::What::nothing) continue;
                cursor = next.message->route;
                if (const auto* features = std::get_if<FeaturesMessage>(&next.message->body);
                    features != nullptr && wire::is_final(*features)) {
                    work.fit(copy_of(*features));
                    room_.report(ticket, work.report());
                    return;
                }
                const wire::Message* answer = work.answer(*next.message);
                if (next.wants_reply && answer != nullptr) send(k, ticket, *answer);
            }
        } catch (const Error& error) {
            reasons_[k] = error.what();
            room_.leave(ticket);
        }
    }
    void send(std::size_t k, Room::Ticket ticket, const wire::Message& answer) {
        if (silent.contains(k)) return;
        std::optional<wire::Message> lie;
        const auto* sum = std::get_if<SumReply>(&answer.body);
        if (sum != nullptr && sum->sum->size() == 1 && false_norms.contains(k)) {
            lie = wire::Message{answer.route, SumReply{sum->pass, release_norm2(false_norms.at(k))}};
        }
        const wire::Message* what = lie ? &*lie : &answer;
        wire::Receiver receiver(room_.who(ticket.place));
        const wire::Head head = receiver.head(wire::Encoder(*what).head());
        const auto path = room_.accept(ticket, head);
        if (!path) return;
        save_message(*path, *what);
        room_.arrived(ticket, head.route);
    }

    Room& room_;
    MaskingTools none_{{}, SumMemory("")};
    std::vector<std::string> reasons_;
    std::vector<std::thread> threads_;
};

/// A room whose clients have all come, and a desk at it.
class DeskTest : public NetTest {
  protected:
    static constexpr std::size_t clients = 3;

    JobFile new_job(const JobOptions& options) const {
        JobFile job;
        job.id = wire::parse_job_id("00112233445566778899aabbccddeeff");
        job.version = version();
        job.spec = {resolve_job(options), {}};
        job.roster = {"a", "b", "c"};
        return job;
    }
    RoomMembers::Data data(Index rows = 12) const {
        RoomMembers::Data result;
        for (const Tensor<double>& x : population(clients, {rows, 5, 4}, 3, 0.7, 0.05)) {
            result.push_back(std::make_shared<const Tensor<double>>(Tensor<double>::copy(x.view())));
        }
        return result;
    }
    static SimulationResult simulated(const RoomMembers::Data& data, const JobOptions& job) {
        Clients copies;
        for (const auto& x : data) copies.push_back(Tensor<double>::copy(x->view()));
        return simulate(MemorySource(std::move(copies)), {.job = job});
    }
    /// Everybody is there, and the first attempt begins.
    static std::vector<Index> begin(Room& room) {
        const std::vector<Index> members = room.gather(Room::Clock::now() + 10min);
        room.update([&](JobFile& job) {
            job.phase = Phase::running;
            job.attempt = 1;
            job.members = members;
        });
        room.begin(1, members);
        return members;
    }
    Room make_room(JobFile job) { return Room(std::move(job), {path("job"), false}, log_); }

    Log log_{{}, {}};
};

}  // namespace couplet::net
