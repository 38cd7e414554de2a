#include "embedded.hpp"

#include <CLI/CLI.hpp>
#include <utility>

#include "usage.hpp"

namespace couplet::cli {

void run_embedded(const std::string& verb, EmbeddedCall& call, const std::function<void(CLI::App&)>& add,
                  const std::function<void(const CLI::App&, const Session&)>& act) {
    CLI::App root("", "couplet");
    root.set_help_flag();
    CLI::App& app = *root.add_subcommand(verb);
    app.set_help_flag();
    Globals globals;
    add_globals(app, globals);
    add(app);
    app.allow_extras();
    std::vector<std::string> arguments(call.arguments.rbegin(), call.arguments.rend());
    arguments.push_back(verb);  // CLI11 takes them from the back
    naming_parameters(app, [&] {
        try {
            root.parse(std::move(arguments));
        } catch (const CLI::ParseError& error) {
            refuse_leftovers(root);
            throw explained(error, root);
        }
        refuse_leftovers(root);
        act(app, Session(globals, "couplet " + verb, std::move(call.listener)));
    });
}

}  // namespace couplet::cli
