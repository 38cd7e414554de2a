#include "couplet/privacy/masking_warning.hpp"

#include <gtest/gtest.h>

namespace couplet {
namespace {

TEST(MaskingWarning, SaysWhatMasksDoNotHideAndWhatDoes) {
    const std::string text = masking_warning({});
    EXPECT_NE(text.find("not the records"), std::string::npos) << text;
    EXPECT_NE(text.find("`mu` or `dp_epsilon`"), std::string::npos) << text;
    EXPECT_NE(text.find("couplet audit"), std::string::npos) << text;
}

TEST(MaskingWarning, HasNothingToSayUnderAGuarantee) { EXPECT_EQ(masking_warning(PrivacyGuarantee{1, 1e-5}), ""); }

}  // namespace
}  // namespace couplet
