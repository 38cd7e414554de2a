#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <utility>

namespace couplet {

/// What a site's own codes are in a code list that sites share.
class CodeMap {
  public:
    struct Shared {
        std::string code = {};
        std::string label = {};  ///< empty: not told
    };
    /// `mode` empty: of every mode. Throws InputError, naming `where`, where the code is another one already.
    void add(std::string_view mode, std::string_view local, Shared shared, const std::string& where);
    /// Nothing where the map lacks the code; what is of the mode alone goes before what is of every one.
    const Shared* find(std::string_view mode, std::string_view local) const;
    std::size_t size() const noexcept { return codes_.size(); }

  private:
    std::map<std::pair<std::string, std::string>, Shared, std::less<>> codes_;
};

/// Reads a table with columns `local` and `shared`, perhaps `label` and `mode`; or OMOP's concept_relationship, of
/// which the rows of relationship "Maps to" that are valid count. Throws InputError for other columns, for an empty
/// code, and for a code with two meanings.
CodeMap load_code_map(const std::filesystem::path& file);

}  // namespace couplet
