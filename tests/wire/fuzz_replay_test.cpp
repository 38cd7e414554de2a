#include "../fuzz/wire_targets.hpp"
#include "replay.hpp"

namespace couplet {
namespace {

const std::filesystem::path tests = std::filesystem::path(COUPLET_TEST_DIR).parent_path();

#define COUPLET_REPLAY(kind) \
    TEST(FuzzReplay, kind) { support::replay(tests, "wire_" #kind, fuzz::wire_##kind); }
COUPLET_REPLAY(join)
COUPLET_REPLAY(hello)
COUPLET_REPLAY(upload)
COUPLET_REPLAY(sum_reply)
COUPLET_REPLAY(report)
COUPLET_REPLAY(welcome)
COUPLET_REPLAY(start)
COUPLET_REPLAY(sum_request)
COUPLET_REPLAY(features)
COUPLET_REPLAY(bye)
COUPLET_REPLAY(refusal)
COUPLET_REPLAY(greeting)
COUPLET_REPLAY(beat)
COUPLET_REPLAY(peer_state)
COUPLET_REPLAY(peer_basis)
COUPLET_REPLAY(peer_merge)
COUPLET_REPLAY(bulletin)
COUPLET_REPLAY(secure_request)
COUPLET_REPLAY(secure_reply)
COUPLET_REPLAY(centring)
#undef COUPLET_REPLAY

}  // namespace
}  // namespace couplet
