#include COUPLET_FUZZ_HEADER

/// COUPLET_FUZZ_TARGET is one of the functions that COUPLET_FUZZ_HEADER defines; see CMakeLists.txt.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    return couplet::fuzz::COUPLET_FUZZ_TARGET(data, size);
}
