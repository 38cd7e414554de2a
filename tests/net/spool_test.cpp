#include "spool.hpp"

#include "couplet/wire/encoder.hpp"
#include "net_test_support.hpp"

namespace couplet::net {
namespace {

class SpoolTest : public NetTest {
  protected:
    static wire::Message message() {
        const auto x = random_tensor<double>({3, 50}, 1);
        return {{1, {}, 2, 3}, compress_client(x.view(), {0, 0, 3})};
    }
    void write(const std::string& name, bool tail) {
        const wire::Message sent = message();
        wire::Encoder encoder(sent);
        SpoolWriter writer("client a", {});
        EXPECT_EQ(writer.head(encoder.head()).kind, wire::Kind::upload);
        writer.open(path(name));
        for (auto chunk = encoder.next_chunk(); !chunk.empty(); chunk = encoder.next_chunk()) writer.chunk(chunk);
        if (tail) writer.tail(encoder.tail());
    }
    std::size_t files() const {
        return static_cast<std::size_t>(std::distance(std::filesystem::directory_iterator(folder_), {}));
    }
};

TEST_F(SpoolTest, ComesBackAsItArrived) {
    write("x", true);
    const wire::Message back = load_message(path("x"), "client a");
    EXPECT_EQ(back.route, message().route);
    const wire::Message original = message();
    const auto& sent = std::get<Upload>(original.body);
    const auto& kept = std::get<Upload>(back.body);
    EXPECT_EQ(kept.norm2, sent.norm2);
    EXPECT_TRUE(same_bits(kept.block->train(), sent.block->train()));
    save_message(path("y"), message());
    EXPECT_EQ(read_text(path("x")), read_text(path("y")));
}

TEST_F(SpoolTest, AMessageWithoutItsEndLeavesNothing) {
    write("x", false);
    EXPECT_EQ(files(), 0U);
}

TEST_F(SpoolTest, WithoutAPlaceItIsOnlyChecked) {
    const wire::Message sent = message();
    wire::Encoder encoder(sent);
    SpoolWriter writer("client a", {});
    writer.head(encoder.head());
    for (auto chunk = encoder.next_chunk(); !chunk.empty(); chunk = encoder.next_chunk()) writer.chunk(chunk);
    EXPECT_NO_THROW(writer.tail(encoder.tail()));
    EXPECT_EQ(files(), 0U);
}

TEST_F(SpoolTest, DamagedFilesAreNoticed) {
    write("x", true);
    const std::string good = read_text(path("x"));
    const auto refused = [&](const std::string& bytes) {
        std::ofstream(path("x"), std::ios::binary) << bytes;
        return complaint([&] { load_message(path("x"), "client a"); });
    };
    for (const std::size_t at : {std::size_t{0}, std::size_t{9}, good.size() / 2, good.size() - 1}) {
        std::string bad = good;
        bad[at] = static_cast<char>(bad[at] ^ 1);
        EXPECT_NE(refused(bad), "") << at;
    }
    EXPECT_NE(refused(good.substr(0, good.size() / 2)), "");
    EXPECT_NE(refused(""), "");
    EXPECT_EQ(refused(good), "");
}

}  // namespace
}  // namespace couplet::net
