#include "embedded.hpp"

#include <utility>

#include "command.hpp"
#include "usage.hpp"

namespace couplet::cli {

void run_embedded(const std::string& verb, EmbeddedCall& call, const std::function<void(Command&)>& add,
                  const std::function<void(const Command&, const Session&)>& act) {
    Command root("couplet");
    Command& app = root.add_subcommand(verb);
    Globals globals;
    add_globals(app, globals);
    add(app);
    std::vector<std::string> words = {verb};
    words.insert(words.end(), call.arguments.begin(), call.arguments.end());
    naming_parameters(app, [&] {
        read_words(root, std::move(words));
        act(app, Session(globals, "couplet " + verb, std::move(call.listener)));
    });
}

}  // namespace couplet::cli
