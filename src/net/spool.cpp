#include "spool.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>

#include "couplet/core/error.hpp"
#include "couplet/io/mapped_file.hpp"
#include "couplet/wire/encoder.hpp"
#include "crash_point.hpp"

namespace couplet::net {
namespace {

// A file is this word, the length of the head, the head, the numbers, and their hash.
constexpr std::string_view magic = "CPLTMSG1";

std::array<std::byte, 4> length_bytes(std::size_t size) {
    const auto length = static_cast<std::uint32_t>(size);
    std::array<std::byte, 4> bytes{};
    std::memcpy(bytes.data(), &length, bytes.size());
    return bytes;
}

void write_head(AtomicFile& file, std::string_view head) {
    file.write(std::as_bytes(std::span(magic)));
    file.write(length_bytes(head.size()));
    file.write(std::as_bytes(std::span(head)));
}

}  // namespace

const wire::Head& SpoolWriter::head(std::string_view bytes) {
    const wire::Head& head = receiver_.head(bytes);
    head_ = bytes;
    return head;
}

void SpoolWriter::open(const std::filesystem::path& path) {
    file_.emplace(path, true, 0600);
    write_head(*file_, head_);
}

void SpoolWriter::chunk(std::span<const std::byte> bytes) {
    receiver_.chunk(bytes);
    if (file_) file_->write(bytes);
}

void SpoolWriter::tail(std::span<const std::byte> hash) {
    receiver_.tail(hash);
    if (!file_) return;
    file_->write(hash);
    crash_point("upload-received");
    file_->commit();
}

void refuse_spooled(const std::string& where, const std::string& found, const std::string& who) {
    throw InputError({where, found, "what was spooled there of " + who,
                      "Put back what was there, or remove the folder it is in to begin a new job."});
}

wire::Message load_message(const std::filesystem::path& path, const std::string& who) {
    const MappedFile file(path);
    std::span<const std::byte> bytes = file.bytes();
    std::uint32_t length = 0;
    const std::size_t front = magic.size() + sizeof(length);
    if (bytes.size() >= front) std::memcpy(&length, bytes.data() + magic.size(), sizeof(length));
    if (bytes.size() < front + length + wire::hash_bytes ||
        std::memcmp(bytes.data(), magic.data(), magic.size()) != 0) {
        refuse_spooled(path.string(), "no message", who);
    }
    const std::string_view head(reinterpret_cast<const char*>(bytes.data()) + front, length);
    const auto payload = bytes.subspan(front + length, bytes.size() - front - length - wire::hash_bytes);
    wire::Receiver receiver(who, {.max_payload_bytes = std::numeric_limits<Index>::max()});
    const auto chunk = static_cast<std::size_t>(receiver.head(head).chunk_bytes);
    for (std::size_t first = 0; first < payload.size(); first += chunk) {
        receiver.chunk(payload.subspan(first, std::min(chunk, payload.size() - first)));
    }
    receiver.tail(bytes.last(wire::hash_bytes));
    return wire::assemble(head, payload, who);
}

void save_message(const std::filesystem::path& path, const wire::Message& message) {
    wire::Encoder encoder(message);
    AtomicFile file(path, true, 0600);
    write_head(file, encoder.head());
    for (auto chunk = encoder.next_chunk(); !chunk.empty(); chunk = encoder.next_chunk()) file.write(chunk);
    file.write(encoder.tail());
    file.commit();
}

}  // namespace couplet::net
