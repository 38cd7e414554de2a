#include <array>

#include "verb.hpp"

/// One line per verb, in the order of the help.
#define COUPLET_FOR_EACH_VERB(VERB) \
    VERB(decompose)                 \
    VERB(ranks)                     \
    VERB(reconstruct)               \
    VERB(info)                      \
    VERB(round)                     \
    VERB(add)                       \
    VERB(dot)                       \
    VERB(norm)                      \
    VERB(data)                      \
    VERB(table)                     \
    VERB(simulate)                  \
    VERB(tune)                      \
    VERB(factor)                    \
    VERB(project)                   \
    VERB(schema)                    \
    VERB(explain)                   \
    VERB(classify)                  \
    VERB(audit)                     \
    VERB(reproduce)                 \
    VERB(provision)                 \
    VERB(coordinator)               \
    VERB(client)                    \
    VERB(peer)                      \
    VERB(status)                    \
    VERB(completion)

namespace couplet::cli {

#define COUPLET_DECLARE(name) extern const Verb name##_verb;
COUPLET_FOR_EACH_VERB(COUPLET_DECLARE)
#undef COUPLET_DECLARE

std::span<const Verb* const> verbs() {
#define COUPLET_ADDRESS(name) &name##_verb,
    static const std::array all{COUPLET_FOR_EACH_VERB(COUPLET_ADDRESS)};
#undef COUPLET_ADDRESS
    return all;
}

}  // namespace couplet::cli
