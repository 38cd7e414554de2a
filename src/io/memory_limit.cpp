#include "couplet/io/memory_limit.hpp"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>

namespace couplet {
namespace {

Index resource_limit(int resource, Index otherwise) {
    struct rlimit limit {};
    if (::getrlimit(resource, &limit) != 0 || limit.rlim_cur > static_cast<rlim_t>(otherwise)) return otherwise;
    return static_cast<Index>(limit.rlim_cur);
}

/// Of a container; "max" is no number.
Index group_limit(const char* file, Index otherwise) {
    std::ifstream stream(file);
    Index bytes = 0;
    return stream >> bytes && bytes > 0 ? std::min(bytes, otherwise) : otherwise;
}

}  // namespace

Index memory_limit() {
    Index bytes = Index{::sysconf(_SC_PHYS_PAGES)} * ::sysconf(_SC_PAGESIZE);
    bytes = resource_limit(RLIMIT_AS, bytes);
    bytes = resource_limit(RLIMIT_DATA, bytes);
    bytes = group_limit("/sys/fs/cgroup/memory.max", bytes);
    return group_limit("/sys/fs/cgroup/memory/memory.limit_in_bytes", bytes);
}

}  // namespace couplet
