#include "spelled_fields.hpp"

#include <string>

namespace couplet::net {

nlohmann::ordered_json spelled_fields(const nlohmann::ordered_json& fields, const Spelling& spelling) {
    if (fields.is_string()) return spelled(fields.get_ref<const std::string&>(), spelling);
    nlohmann::ordered_json all = fields;
    for (auto& field : all) {
        if (field.is_string() || field.is_structured()) field = spelled_fields(field, spelling);
    }
    return all;
}

}  // namespace couplet::net
