#pragma once

#include <string>

#include "couplet/audit/audit.hpp"
#include "session.hpp"

namespace couplet::cli {

/// What the findings are about.
struct AuditSubject {
    std::string client;       ///< its name
    std::string description;  ///< where the clients come from
    Index rank = 0;
    std::uint64_t seed = 0;
    std::string output = {};  ///< page that was asked for
};

Json audit_json(const AuditReport& report, const AuditSubject& subject);
/// The verdict table.
std::string audit_text(const AuditReport& report, const AuditSubject& subject);
/// The same as a page that stands alone, for somebody who was not there.
std::string audit_page(const AuditReport& report, const AuditSubject& subject);

}  // namespace couplet::cli
