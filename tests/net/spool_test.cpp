#include "spool.hpp"

#include <sys/stat.h>

#include "couplet/wire/encoder.hpp"
#include "net_test_support.hpp"

namespace couplet::net {
namespace {

class SpoolTest : public NetTest {
  protected:
    static wire::Message message() {
        const auto x = random_tensor<double>({3, 50}, 1);
        return {{wire::protocol_version, {}, 2, 3}, compress_client(x.view(), {0, 0, 3})};
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
    const auto rows = [](const Upload& upload) {
        Matrix<double> expanded(upload.block->rows(), upload.block->features().size());
        upload.block->expand(expanded.view());
        return expanded;
    };
    EXPECT_TRUE(same_numbers(rows(kept), rows(sent)));
    save_message(path("y"), message());
    EXPECT_EQ(read_text(path("x")), read_text(path("y")));
}

/// What a client sends is for the coordinator alone, whatever the umask: also while it arrives.
TEST_F(SpoolTest, NobodyElseCanReadIt) {
    const auto permissions = [](const std::filesystem::path& file) {
        return static_cast<unsigned>(std::filesystem::status(file).permissions());
    };
    const mode_t before = ::umask(0);
    const wire::Message sent = message();
    wire::Encoder encoder(sent);
    SpoolWriter writer("client a", {});
    writer.head(encoder.head());
    writer.open(path("half"));
    for (const auto& entry : std::filesystem::directory_iterator(folder_)) EXPECT_EQ(permissions(entry.path()), 0600U);
    EXPECT_EQ(files(), 1U);
    write("x", true);
    save_message(path("y"), message());
    ::umask(before);
    EXPECT_EQ(permissions(path("x")), 0600U);
    EXPECT_EQ(permissions(path("y")), 0600U);
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
    const std::string nothing = path("x").string() +
                                ": no message; expected what was spooled there of client a. Put back what was there, "
                                "or remove the folder it is in to begin a new job.";
    EXPECT_EQ(refused(good.substr(0, 11)), nothing) << "less than the front";
    EXPECT_EQ(refused(good.substr(0, 12)), nothing) << "a front without a head";
    std::string endless = good;
    endless.replace(8, 4, std::string("\xff\xff\xff\xff"));
    EXPECT_EQ(refused(endless), nothing) << "a head that is longer than the file";
    EXPECT_EQ(refused("x" + good.substr(1)), nothing);
    EXPECT_NE(refused(good + "x"), "") << "more than was written";
    EXPECT_EQ(refused(good), "");
}

/// Whole, and of the wrong kind: somebody has exchanged files.
TEST_F(SpoolTest, AnotherKindOfMessageIsNamed) {
    save_message(path("x"), message());
    EXPECT_EQ(complaint([&] { load_body<Upload>(path("x"), "client a"); }), "");
    EXPECT_EQ(complaint([&] { load_body<Hello>(path("x"), "client a"); }),
              path("x").string() +
                  ": upload; expected what was spooled there of client a. Put back what was there, or "
                  "remove the folder it is in to begin a new job.");
    wire::Message other = message();
    EXPECT_EQ(complaint([&] { body_as<SumReply>(other, "reply", "member 2"); }).find("reply: upload; expected"), 0U);
}

}  // namespace
}  // namespace couplet::net
