#include "couplet/experiments/report.hpp"
#include "couplet/experiments/style.hpp"

namespace couplet {
namespace {

TEST(ReportStyleTest, EveryMethodHasAColourForLightAndDark) {
    const std::string sheet = report_style_sheet();
    for (const MethodStyle& style : method_styles()) {
        EXPECT_NE(sheet.find(".m-" + std::string(style.id) + "{--c:" + std::string(style.light)), std::string::npos)
            << style.id;
        EXPECT_NE(sheet.find(".m-" + std::string(style.id) + "{--c:" + std::string(style.dark)), std::string::npos)
            << style.id;
    }
    EXPECT_NE(sheet.find("@media print"), std::string::npos);
    for (const char* outside : {"http", "url(", "@import"})
        EXPECT_EQ(sheet.find(outside), std::string::npos) << outside;
    EXPECT_EQ(std::count(sheet.begin(), sheet.end(), '{'), std::count(sheet.begin(), sheet.end(), '}'));
}

}  // namespace
}  // namespace couplet
