#include <malloc.h>

#include "run.hpp"

int main(int argc, char** argv) {
    // A threshold that stays: large buffers go back to the kernel when they are freed, instead of leaving holes in a
    // heap that a daemon keeps.
    ::mallopt(M_MMAP_THRESHOLD, 4 << 20);
    return couplet::cli::run(argc, argv);
}
