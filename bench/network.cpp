// A 512 MiB message over mutual TLS on loopback, as the product sends and keeps it, beside a bare gRPC stream with the
// same credentials and chunk size. Prints JSON. Usage: network [MIB]
#include <fmt/format.h>
#include <grpcpp/channel.h>
#include <grpcpp/create_channel.h>
#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "couplet/net/provision.hpp"
#include "credentials.hpp"
#include "exchange.hpp"
#include "federation.grpc.pb.h"

namespace {

using namespace couplet;
namespace fs = std::filesystem;

enum class Mode { bare, checked, spooled };

/// Takes one message a call: frames thrown away, checked, or checked and kept on disk.
class Sink final : public v1::Federation::Service {
  public:
    grpc::Status Attend(grpc::ServerContext*, grpc::ServerReaderWriter<v1::Frame, v1::Frame>* raw) override {
        struct Stream final : net::FrameStream {
            explicit Stream(grpc::ServerReaderWriter<v1::Frame, v1::Frame>& s) : stream(s) {}
            bool write(const v1::Frame& frame) override { return stream.Write(frame); }
            bool read(v1::Frame& frame) override { return stream.Read(&frame); }
            grpc::ServerReaderWriter<v1::Frame, v1::Frame>& stream;
        } stream(*raw);
        if (mode == Mode::bare) {
            v1::Frame frame;
            while (stream.read(frame) && !frame.has_tail()) continue;
        } else {
            net::receive_to_file(stream, "client", {}, [&](const wire::Head&) {
                return mode == Mode::spooled ? std::optional(path) : std::nullopt;
            });
        }
        raw->Write(v1::Frame());
        return grpc::Status::OK;
    }
    Mode mode = Mode::bare;
    fs::path path;
};

double seconds(const std::function<void()>& action) {
    const auto begun = std::chrono::steady_clock::now();
    action();
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begun).count();
}

/// One message through one stream, until the other side has it.
double transfer(v1::Federation::Stub& stub, const wire::Message& message, bool bare) {
    struct Stream final : net::FrameStream {
        bool write(const v1::Frame& frame) override { return stream->Write(frame); }
        bool read(v1::Frame& frame) override { return stream->Read(&frame); }
        std::unique_ptr<grpc::ClientReaderWriter<v1::Frame, v1::Frame>> stream;
    } stream;
    grpc::ClientContext context;
    stream.stream = stub.Attend(&context);
    v1::Frame frame;
    return seconds([&] {
        if (bare) {
            const Index bytes = wire::Encoder(message).payload_bytes();
            frame.set_chunk(std::string(static_cast<std::size_t>(default_chunk_bytes), 'x'));
            for (Index sent = 0; sent < bytes; sent += default_chunk_bytes) stream.write(frame);
            frame.set_tail("end");
            stream.write(frame);
        } else {
            net::send_message(stream, message);
        }
        stream.read(frame);
    });
}

double median(std::vector<double> samples) {
    std::sort(samples.begin(), samples.end());
    return samples[samples.size() / 2];
}

}  // namespace

int main(int argc, char** argv) {
    const Index mib = argc > 1 ? std::atol(argv[1]) : 512;
    std::string pattern = (fs::temp_directory_path() / "couplet-bench-XXXXXX").string();
    const fs::path folder = ::mkdtemp(pattern.data());
    net::provision_star(folder / "kits", {"127.0.0.1:1", {"a"}, 1}, false);
    const auto lead = net::load_credentials(net::load_kit(folder / "kits/coordinator"), net::Role::coordinator);
    const auto own = net::load_credentials(net::load_kit(folder / "kits/a"), net::Role::client);
    Sink sink;
    sink.path = folder / "message";
    grpc::ServerBuilder builder;
    int port = 0;
    builder.SetMaxReceiveMessageSize(2 << 20);
    builder.AddListeningPort("127.0.0.1:0", net::server_credentials(lead, [](const auto&) { return true; }), &port);
    builder.RegisterService(&sink);
    const auto server = builder.BuildAndStart();
    grpc::ChannelArguments arguments;
    arguments.SetSslTargetNameOverride(net::coordinator_host);
    const auto stub = v1::Federation::NewStub(
        grpc::CreateCustomChannel("127.0.0.1:" + std::to_string(port), net::channel_credentials(own), arguments));
    // Dense rows of ones: what travels does not depend on the numbers.
    Matrix<double> basis(mib << 14, 8);
    std::fill_n(basis.data(), basis.size(), 1.0);
    const wire::Message message{{}, SumRequest{1, SubspaceIteration::Want::sketch, std::move(basis)}};

    constexpr int repeats = 5;
    std::vector<double> bare, checked, spooled;
    for (int i = 0; i < repeats; ++i) {
        for (const Mode mode : {Mode::bare, Mode::checked, Mode::spooled}) {
            sink.mode = mode;
            const double time = transfer(*stub, message, mode == Mode::bare);
            (mode == Mode::bare ? bare : mode == Mode::checked ? checked : spooled).push_back(time);
        }
    }
    const double size = static_cast<double>(mib);
    const auto list = [](const std::vector<double>& samples) {
        return fmt::format("[{:.4f}]", fmt::join(samples, ", "));
    };
    fmt::print(
        "{{\"mib\": {}, \"chunk_kib\": {}, \"bare_mib_s\": {:.0f}, \"message_mib_s\": {:.0f}, \"ratio\": {:.3f}, "
        "\"spooled_mib_s\": {:.0f}, \"spooled_ratio\": {:.3f}, \"seconds\": {{\"bare\": {}, \"message\": {}, "
        "\"spooled\": "
        "{}}}}}\n",
        mib, default_chunk_bytes >> 10, size / median(bare), size / median(checked), median(bare) / median(checked),
        size / median(spooled), median(bare) / median(spooled), list(bare), list(checked), list(spooled));
    server->Shutdown();
    fs::remove_all(folder);
}
