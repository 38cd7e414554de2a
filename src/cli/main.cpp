#include <malloc.h>

#include <cstdlib>

#include "couplet/net/peer.hpp"
#include "run.hpp"

int main(int argc, char** argv) {
    // A threshold that stays: large buffers go back to the kernel when they are freed, instead of leaving holes in a
    // heap that a daemon keeps.
    ::mallopt(M_MMAP_THRESHOLD, 4 << 20);
    const int status = couplet::cli::run(argc, argv);
    // A computation that cannot be interrupted must not meet libraries that are being unloaded.
    if (couplet::net::PeerNode::left_behind()) std::_Exit(status);
    return status;
}
