#include "couplet/data/synthetic_spec.hpp"

#include "data_test_support.hpp"

namespace couplet {
namespace {

using testing::refusal;

TEST(SyntheticSpecTest, ReadsShapeAndOptions) {
    const SyntheticSpec plain = parse_synthetic("200x30x30", 7);
    EXPECT_EQ(plain.shape, (Shape{200, 30, 30}));
    EXPECT_EQ(plain.patients, PatientCount::total);
    EXPECT_EQ(plain.cp_rank, 20);
    EXPECT_EQ(feature_density(plain), 0.4);
    EXPECT_EQ(plain.personal, PersonalFactor::uniform);
    EXPECT_EQ(plain.noise, 0);
    EXPECT_EQ(plain.seed, 7u);
    EXPECT_EQ(feature_density(parse_synthetic("200x20x20x20")), 0.1);
    EXPECT_EQ(feature_density(parse_synthetic("200x20")), 0.4);

    const SyntheticSpec full = parse_synthetic("20x5:noise=0.01,rank=3,personal=gaussian,density=0.25,patients=each");
    EXPECT_EQ(full.shape, (Shape{20, 5}));
    EXPECT_EQ(full.patients, PatientCount::each);
    EXPECT_EQ(full.cp_rank, 3);
    EXPECT_EQ(feature_density(full), 0.25);
    EXPECT_EQ(full.personal, PersonalFactor::gaussian);
    EXPECT_EQ(full.noise, 0.01);
}

TEST(SyntheticSpecTest, WritesWhatItReads) {
    EXPECT_EQ(to_string(parse_synthetic("200x30x30")),
              "200x30x30:rank=20,density=0.4,personal=uniform,noise=0,patients=total");
    const std::string text = "20x5:rank=3,density=0.25,personal=gaussian,noise=0.01,patients=each";
    EXPECT_EQ(to_string(parse_synthetic(text)), text);
}

TEST(SyntheticSpecTest, NamesWhatIsWrong) {
    const auto refused = [](const std::string& text) {
        const std::string message = refusal([&] { parse_synthetic(text); });
        const std::string front = "synthetic specification: ";
        const std::string back = ". Write for example 200x30x30:rank=20,density=0.4,personal=gaussian,noise=0.01.";
        if (!message.starts_with(front) || !message.ends_with(back)) return "wrong frame: " + message;
        return message.substr(front.size(), message.size() - front.size() - back.size());
    };
    EXPECT_EQ(refused(""), "no shape; expected at least two sizes joined by x");
    EXPECT_EQ(refused("200"), "a shape of one mode; expected at least two sizes joined by x");
    EXPECT_EQ(refused("200x"), "shape '200x'; expected sizes joined by x");
    EXPECT_EQ(refused("x30"), "size ''; expected a whole number of at least 1");
    EXPECT_EQ(refused("20x0x3"), "size '0'; expected a whole number of at least 1");
    EXPECT_EQ(refused("20x-3"), "size '-3'; expected a whole number of at least 1");
    EXPECT_EQ(refused("20x3.5"), "size '3.5'; expected a whole number of at least 1");
    EXPECT_EQ(refused("20x99999999999999999999"), "size '99999999999999999999'; expected a whole number of at least 1");
    EXPECT_EQ(refused("20x3:"), "nothing after the colon; expected options as name=value");
    EXPECT_EQ(refused("20x3:rank"), "option 'rank'; expected name=value");
    EXPECT_EQ(refused("20x3:rank=0"), "rank '0'; expected a whole number of at least 1");
    EXPECT_EQ(refused("20x3:rank=2,rank=3"), "option 'rank' twice; expected each option once");
    EXPECT_EQ(refused("20x3:colour=2"), "option 'colour'; expected one of rank, density, personal, noise, patients");
    EXPECT_EQ(refused("20x3:density=much"), "density 'much'; expected a number");
    EXPECT_EQ(refused("20x3:density="), "density ''; expected a number");
    EXPECT_EQ(refused("20x3:density=0"), "density 0; expected above 0 and at most 1");
    EXPECT_EQ(refused("20x3:density=1.5"), "density 1.5; expected above 0 and at most 1");
    EXPECT_EQ(refused("20x3:noise=-1"), "noise -1; expected 0 or more");
    EXPECT_EQ(refused("20x3:noise=inf"), "noise 'inf'; expected a number");
    EXPECT_EQ(refused("20x3:personal=own"), "personal 'own'; expected uniform or gaussian");
    EXPECT_EQ(refused("20x3:patients=some"), "patients 'some'; expected total or each");
    EXPECT_NE(refusal([] { parse_synthetic("4000000000x4000000000x4"); }), "nothing thrown");
}

TEST(SyntheticSpecTest, ChecksSpecsMadeInCode) {
    EXPECT_NE(refusal([] { check_synthetic({.shape = {3}}); }), "nothing thrown");
    EXPECT_NE(refusal([] { check_synthetic({.shape = {3, 0}}); }), "nothing thrown");
    EXPECT_NE(refusal([] { check_synthetic({.shape = {3, 2}, .cp_rank = 0}); }), "nothing thrown");
    EXPECT_NE(refusal([] { check_synthetic({.shape = {3, 2}, .density = NAN}); }), "nothing thrown");
    EXPECT_NE(refusal([] { check_synthetic({.shape = {3, 2}, .noise = NAN}); }), "nothing thrown");
}

}  // namespace
}  // namespace couplet
