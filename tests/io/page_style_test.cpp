#include "couplet/io/page_style.hpp"

#include <gtest/gtest.h>

namespace couplet {
namespace {

TEST(PageStyle, KnowsDarkScreensPhonesAndPaper) {
    const std::string sheet = page_style_sheet();
    for (const char* part :
         {"prefers-color-scheme:dark", "max-width:40rem", "@media print", ".scroll{overflow-x:auto"}) {
        EXPECT_NE(sheet.find(part), std::string::npos) << part;
    }
    EXPECT_EQ(sheet.find("</"), std::string::npos);
}

}  // namespace
}  // namespace couplet
