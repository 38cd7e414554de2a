#include "exchange.hpp"

#include <deque>

#include "federation.pb.h"
#include "net_test_support.hpp"

namespace couplet::net {
namespace {

/// What is written can be read.
class Loop final : public FrameStream {
  public:
    bool write(const v1::Frame& frame) override {
        if (broken) return false;
        frames.push_back(frame);
        return true;
    }
    bool read(v1::Frame& frame) override {
        if (frames.empty()) return false;
        frame = frames.front();
        frames.pop_front();
        return true;
    }
    std::deque<v1::Frame> frames;
    bool broken = false;
};

class ExchangeTest : public NetTest {};

wire::Message some_features() {
    return {{wire::protocol_version, {}, 1, 2},
            FeaturesMessage{orthonormal_features(random_train<double>({50, 40}, {9, 30, 1}, 1)), 0.5}};
}

TEST_F(ExchangeTest, SentBytesAreReceivedBytesAndThoseOfTheFormula) {
    Loop loop;
    const Passed passed = send_message(loop, some_features());
    const double sent = passed.bytes;
    EXPECT_EQ(sent, static_cast<double>(serialised_bytes(std::get<FeaturesMessage>(some_features().body))));
    const Received received = receive_message(loop, "coordinator", {});
    EXPECT_EQ(received.bytes, sent);
    EXPECT_EQ(received.hash, passed.hash) << "both ends can compare what they wrote down";
    EXPECT_TRUE(same_bits(std::get<FeaturesMessage>(received.message.body).features,
                          std::get<FeaturesMessage>(some_features().body).features));
}

TEST_F(ExchangeTest, GoesToAFileWhenToldWhere) {
    Loop loop;
    send_message(loop, some_features());
    receive_to_file(loop, "client a", {}, [&](const wire::Head& head) {
        EXPECT_EQ(head.route.step, 2U);
        return std::optional(path("x"));
    });
    EXPECT_EQ(load_message(path("x"), "client a").kind(), wire::Kind::features);
    send_message(loop, some_features());
    receive_to_file(loop, "client a", {}, [](const wire::Head&) { return std::optional<std::filesystem::path>(); });
    EXPECT_TRUE(loop.frames.empty()) << "read to its end all the same";
}

TEST_F(ExchangeTest, ABrokenStreamIsADisconnection) {
    Loop loop;
    EXPECT_THROW(receive_message(loop, "x", {}), Disconnected);
    send_message(loop, some_features());
    loop.frames.pop_back();
    EXPECT_THROW(receive_message(loop, "x", {}), Disconnected);
    loop.broken = true;
    EXPECT_THROW(send_message(loop, some_features()), Disconnected);
    loop.frames.assign(1, v1::Frame());
    EXPECT_EQ(complaint([&] { receive_message(loop, "x", {}); }), "x: an empty frame; expected a part of a message");
}

TEST_F(ExchangeTest, CountsEveryFrame) {
    Loop loop;
    const double sent = send_message(loop, some_features()).bytes;
    double bytes = 0;
    for (const v1::Frame& frame : loop.frames) bytes += static_cast<double>(frame.ByteSizeLong());
    ASSERT_GE(loop.frames.size(), 3U);
    EXPECT_EQ(sent, bytes);
    EXPECT_EQ(receive_to_file(loop, "client a", {}, [&](const wire::Head&) { return std::optional(path("x")); }).bytes,
              bytes);
}

}  // namespace
}  // namespace couplet::net
