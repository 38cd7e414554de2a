#include "couplet/tensor/schema.hpp"

#include <gtest/gtest.h>

#include "couplet/core/error.hpp"

namespace couplet {
namespace {

using Texts = std::vector<std::string>;

Schema columns(Texts labels, Texts units = {}, std::string name = "") {
    const auto size = static_cast<Index>(labels.size());
    return make_schema(Shape{size}, {{std::move(name), std::move(labels), std::move(units)}}, "test");
}

Schema unlabelled(Index size) { return {Shape{size}, {}}; }

std::string said(const InputError& error) {
    const ErrorParts& p = error.parts();
    return p.where + " | " + p.found + " | " + p.expected + " | " + p.remedy;
}

template <class F>
std::string refusal_of(F action) {
    try {
        action();
    } catch (const InputError& error) {
        return said(error);
    }
    return "";
}

void expect_in(const std::string& text, std::initializer_list<const char*> parts) {
    for (const char* part : parts) EXPECT_NE(text.find(part), std::string::npos) << part << " not in: " << text;
}

std::vector<SchemaParty> parties(std::vector<Schema> schemas) {
    std::vector<SchemaParty> result;
    for (auto& schema : schemas) {
        result.push_back({"client " + std::to_string(result.size() + 1), std::move(schema)});
    }
    return result;
}

TEST(MakeSchemaTest, DropsBlanksAndWhatIsNotKnown) {
    const Schema s = make_schema(Shape{2, 2}, {{" site ", {}, {"", " "}}, {"", {" a", "b\t"}, {"mmHg ", ""}}}, "x");
    EXPECT_EQ(s.modes[0], (ModeLabels{"site", {}, {}}));
    EXPECT_EQ(s.modes[1], (ModeLabels{"", {"a", "b"}, {"mmHg", ""}}));
    EXPECT_TRUE(s.named());
    EXPECT_TRUE(make_schema(Shape{2}, {{"", {"", ""}, {}}}, "x").modes.empty());
    EXPECT_FALSE(unlabelled(3).named());
}

TEST(MakeSchemaTest, RefusesLabelsAndUnitsThatDoNotFit) {
    expect_in(refusal_of([] { make_schema(Shape{3}, {{"", {"a", "b"}, {}}}, "f.csv"); }), {"f.csv", "2 labels", "3"});
    expect_in(refusal_of([] { make_schema(Shape{3}, {{"", {}, {"kg"}}}, "f.csv"); }), {"f.csv", "1 units", "3"});
    expect_in(refusal_of([] { make_schema(Shape{3, 3}, {{}}, "f.csv"); }), {"f.csv", "1 modes named", "2"});
}

TEST(CompareTest, SameLabelsInAnotherOrderAreOnlyReordered) {
    const auto d = compare(columns({"age", "systolic", "hba1c"}), columns({"systolic", "age", "hba1c"}));
    ASSERT_EQ(d.size(), 1U);
    EXPECT_TRUE(d[0].reorders);
    EXPECT_FALSE(d[0].unnamed);
    EXPECT_TRUE(compare(columns({"a", "b"}), columns({"a", "b"})).empty());
}

TEST(CompareTest, NamesTheLabelsOnEachSide) {
    const auto d = compare(columns({"age", "systolic"}), columns({"age", "sbp"}));
    ASSERT_EQ(d.size(), 1U);
    EXPECT_EQ(d[0].found, "mode 2 has 'sbp'");
    EXPECT_EQ(d[0].expected, "'systolic'");
    const auto size = compare(columns({"age", "systolic"}), columns({"age"}));
    ASSERT_EQ(size.size(), 1U);
    EXPECT_EQ(size[0].found, "mode 2 has size 1");
    EXPECT_EQ(size[0].expected, "2, with 'systolic'");
}

/// Others decide how long they are, and each may be of some kilobytes.
TEST(CompareTest, LongNamesAreShownShortened) {
    const std::string much(4000, 'x');
    const auto labels = compare(columns({"age", "a" + much}, {}, "m" + much), columns({"age", "b" + much}));
    ASSERT_EQ(labels.size(), 1U);
    EXPECT_LT(labels[0].found.size() + labels[0].expected.size(), 400U);
    expect_in(labels[0].found, {"'bxxx", "x...'", "(mxxx", "x...)"});
    const auto names = compare(columns({"age"}, {}, "a" + much), columns({"age"}, {}, "b" + much));
    ASSERT_EQ(names.size(), 1U);
    EXPECT_LT(names[0].found.size() + names[0].expected.size(), 400U);
}

TEST(CompareTest, UnitsFollowTheirLabels) {
    const Schema job = columns({"age", "systolic"}, {"years", "mmHg"});
    EXPECT_TRUE(compare(job, columns({"systolic", "age"}, {"mmHg", "years"})).at(0).reorders);
    EXPECT_EQ(compare(job, columns({"systolic", "age"}, {"mmHg", "years"})).size(), 1U);
    const auto other = compare(job, columns({"systolic", "age"}, {"kPa", "years"}));
    ASSERT_EQ(other.size(), 2U);
    EXPECT_FALSE(other[1].unnamed);
    expect_in(other[1].found, {"systolic in kPa"});
    expect_in(other[1].expected, {"systolic in mmHg"});
    const auto silent = compare(job, columns({"age", "systolic"}));
    ASSERT_EQ(silent.size(), 1U);
    EXPECT_TRUE(silent[0].unnamed);
    expect_in(silent[0].found, {"systolic without a unit"});
}

TEST(CompareTest, NamesOfModesDifferOnlyWhereBothTellThem) {
    EXPECT_TRUE(compare(columns({"1", "2"}, {}, "diagnosis"), columns({"1", "2"})).empty());
    const auto d = compare(columns({"1", "2"}, {}, "diagnosis"), columns({"1", "2"}, {}, "medication"));
    ASSERT_EQ(d.size(), 1U);
    EXPECT_EQ(d[0].found, "mode 2 is 'medication'");
    EXPECT_FALSE(d[0].unnamed || d[0].reorders);
}

TEST(CompareTest, TwinsCannotBeReordered) {
    EXPECT_TRUE(compare(columns({"a", "a", "b"}), columns({"a", "a", "b"})).empty());
    const auto d = compare(columns({"a", "a", "b"}), columns({"a", "b", "a"}));
    ASSERT_EQ(d.size(), 1U);
    EXPECT_FALSE(d[0].reorders);
    expect_in(d[0].found, {"more than once"});
}

TEST(CompareTest, NumberOfModes) {
    const auto d = compare({Shape{2, 3}, {}}, {Shape{2}, {}});
    ASSERT_EQ(d.size(), 1U);
    EXPECT_EQ(d[0].found, "2 modes (2 features)");
}

TEST(AlignTest, MovesEveryModeToTheJobsOrder) {
    const Schema job = make_schema(Shape{2, 3}, {{"m", {"a", "b"}, {}}, {"n", {"x", "y", "z"}, {}}}, "job");
    const Schema mine = make_schema(Shape{2, 3}, {{"m", {"b", "a"}, {}}, {"n", {"z", "x", "y"}, {}}}, "me");
    Tensor<double> x(Shape{2, 2, 3});
    // Value: patient, then the places of its labels in the job.
    const Index m[] = {1, 0};
    const Index n[] = {2, 0, 1};
    for (Index p = 0; p < 2; ++p) {
        for (Index i = 0; i < 2; ++i) {
            for (Index j = 0; j < 3; ++j) x.data()[p * 6 + i * 3 + j] = static_cast<double>(100 * p + 10 * m[i] + n[j]);
        }
    }
    const Alignment alignment = align(job, mine, Unnamed::refuse, "me", "the job");
    const auto y = reordered(x.view(), alignment);
    for (Index p = 0; p < 2; ++p) {
        for (Index i = 0; i < 2; ++i) {
            for (Index j = 0; j < 3; ++j) {
                EXPECT_EQ(y.data()[p * 6 + i * 3 + j], static_cast<double>(100 * p + 10 * i + j));
            }
        }
    }
    expect_in(describe(alignment, job), {"mode 2 (m) put in the order 'a', 'b'", "mode 3 (n)", "'x', 'y', 'z'"});
    EXPECT_TRUE(align(job, job, Unnamed::refuse, "me", "the job").empty());
    EXPECT_EQ(describe({}, job), "");
}

TEST(AlignTest, UnnamedDataIsRefusedUnlessAllowed) {
    const Schema job = columns({"age", "systolic"});
    expect_in(refusal_of([&] { align(job, unlabelled(2), Unnamed::refuse, "b.npy", "the job"); }),
              {"b.npy", "no labels", "'age', 'systolic'", "as the job has", "`unnamed` allow"});
    expect_in(refusal_of([&] { align(unlabelled(2), job, Unnamed::refuse, "b.npy", "the job"); }),
              {"the labels 'age', 'systolic'", "no labels", "`unnamed` allow"});
    EXPECT_TRUE(align(job, unlabelled(2), Unnamed::allow, "b.npy", "the job").empty());
    // What is allowed is silence, not another name.
    EXPECT_NE(refusal_of([&] { align(job, columns({"age", "sbp"}), Unnamed::allow, "b", "a"); }), "");
    EXPECT_NE(refusal_of([&] { align(job, unlabelled(3), Unnamed::allow, "b", "a"); }), "");
    EXPECT_NE(refusal_of([&] { align(columns({"a"}, {"kg"}), columns({"a"}, {"lb"}), Unnamed::allow, "b", "a"); }), "");
    EXPECT_EQ(refusal_of([&] { align(columns({"a"}, {"kg"}), columns({"a"}), Unnamed::allow, "b", "a"); }), "");
}

TEST(AgreeTest, MostClientsDecideWhoeverComesFirst) {
    const Schema right = columns({"age", "systolic"});
    const Schema wrong = columns({"age", "pulse"});
    for (std::size_t at = 0; at < 3; ++at) {
        std::vector<Schema> all{right, right, right};
        all[at] = wrong;
        const auto agreement = agree(parties(all), Unnamed::refuse);
        EXPECT_EQ(agreement.schema, right);
        EXPECT_EQ(agreement.votes, 2);
        for (std::size_t k = 0; k < 3; ++k) EXPECT_EQ(agreement.misfits[k].has_value(), k == at);
        EXPECT_EQ(agreement.misfits[at]->where, "client " + std::to_string(at + 1));
    }
}

TEST(AgreeTest, ATieIsRefusedWithTheLabelsOfBoth) {
    const auto text = refusal_of([] {
        agree(parties({columns({"age", "systolic"}), columns({"age", "sbp"})}), Unnamed::refuse);
    });
    expect_in(text, {"client 2", "'sbp'", "'systolic' as client 1 has", "as many clients have the one as the other (1)",
                     "`schema`"});
    expect_in(refusal_of([] {
                  agree(parties({columns({"a"}), unlabelled(1)}), Unnamed::refuse);
              }),
              {"client 2", "no labels", "`unnamed` allow"});
    expect_in(refusal_of([] { agree({}, Unnamed::refuse); }), {"clients", "none"});
}

TEST(AgreeTest, OrdersAreNoTie) {
    const Schema one = columns({"age", "systolic", "hba1c"});
    const Schema two = columns({"systolic", "age", "hba1c"});
    EXPECT_EQ(agree(parties({one, two}), Unnamed::refuse).schema, one);
    EXPECT_EQ(agree(parties({two, one}), Unnamed::refuse).schema, two);
    const auto agreement = agree(parties({one, two, two}), Unnamed::refuse);
    EXPECT_EQ(agreement.schema, two);
    EXPECT_EQ(agreement.votes, 3);
}

TEST(AgreeTest, AGivenSchemaDecidesAlone) {
    const Schema given = columns({"age", "pulse"});
    const Schema other = columns({"age", "systolic"});
    const auto agreement = agree(parties({other, other, given}), Unnamed::refuse, given);
    EXPECT_EQ(agreement.votes, 1);
    EXPECT_TRUE(agreement.misfits[0] && agreement.misfits[1]);
    EXPECT_FALSE(agreement.misfits[2]);
}

TEST(AgreeTest, NamesAndUnitsOfAnyPartyAreKept) {
    const auto agreement = agree(parties({columns({"a", "b"}), columns({"b", "a"}, {}, "lab")}), Unnamed::refuse);
    EXPECT_EQ(agreement.schema, columns({"a", "b"}, {}, "lab"));
    const auto units = agree(parties({columns({"a", "b"}), columns({"b", "a"}, {"kg", ""})}), Unnamed::allow);
    EXPECT_EQ(units.schema, columns({"a", "b"}, {"", "kg"}));
    EXPECT_EQ(agree(parties({unlabelled(2), unlabelled(2), columns({"x", "y"})}), Unnamed::allow).schema,
              columns({"x", "y"}));
    EXPECT_EQ(agree(parties({unlabelled(2), unlabelled(2)}), Unnamed::refuse).schema, unlabelled(2));
}

TEST(CompareTest, UnitsOfTwinsAreComparedByPlace) {
    EXPECT_TRUE(compare(columns({"b", "b"}, {"g", "mg"}), columns({"b", "b"}, {"g", "mg"})).empty());
    EXPECT_EQ(compare(columns({"b", "b"}, {"mg", "mg"}), columns({"b", "b"}, {"g", "mg"})).size(), 1U);
}

TEST(CompareTest, ColumnsWithoutALabelAreNotMatchedAcrossPlaces) {
    const auto d = compare(columns({"age", "", "bmi"}), columns({"age", "bmi", ""}));
    ASSERT_EQ(d.size(), 1U);
    EXPECT_FALSE(d[0].reorders);
    expect_in(d[0].found, {"without a label"});
}

TEST(CompareTest, SwappedModesAreSeenWhereEachSideNamesOne) {
    const auto named = [](const char* two, const char* three) {
        return make_schema(Shape{3, 3}, {{two, {}, {}}, {three, {}, {}}}, "x");
    };
    EXPECT_FALSE(compare(named("", "med"), named("med", "")).empty());
    EXPECT_TRUE(compare(named("", "med"), named("diag", "med")).empty());
    const Schema first = make_schema(Shape{2, 2}, {{"", {"a", "b"}, {}}, {}}, "x");
    const Schema second = make_schema(Shape{2, 2}, {{}, {"", {"b", "a"}, {}}}, "x");
    EXPECT_NE(refusal_of([&] { align(first, second, Unnamed::allow, "b", "a"); }), "");
}

TEST(AgreeTest, UnitsAreGatheredLabelByLabel) {
    const auto all =
        parties({columns({"a", "b"}, {"mg", ""}), columns({"a", "b"}, {"", "kg"}), columns({"a", "b"}, {"", "lb"})});
    const auto text = refusal_of([&] {
        for (const auto& misfit : agree(all, Unnamed::allow).misfits) {
            if (misfit) throw InputError(*misfit);
        }
    });
    EXPECT_NE(text.find("lb"), std::string::npos) << text;
}

TEST(AgreeTest, AGivenSchemaOfSizesAloneDoesNotExcuseNames) {
    const Schema sizes = unlabelled(2);
    EXPECT_NE(refusal_of([&] {
                  agree(parties({columns({"a", "b"}), columns({"x", "y"})}), Unnamed::allow, sizes);
              }),
              "");
    EXPECT_EQ(agree(parties({columns({"a", "b"}), columns({"a", "b"})}), Unnamed::allow, sizes).schema,
              columns({"a", "b"}));
    EXPECT_EQ(agree(parties({columns({"a", "b"}), columns({"a", "b"})}), Unnamed::allow, sizes).votes, 2);
}

TEST(AgreeTest, WhoeverHasNoLabelsNeedsOneOrder) {
    const auto text = refusal_of([] {
        agree(parties({columns({"a", "b"}), columns({"b", "a"}), unlabelled(2)}), Unnamed::allow);
    });
    expect_in(text, {"client 3", "several orders"});
}

TEST(AgreeTest, UnitsWithoutLabelsDoNotBringOtherLabelsTogether) {
    const Schema units{Shape{2}, {{"", {}, {"mg", "kg"}}}};
    const auto text = refusal_of([&] {
        const auto all = parties({units, columns({"a", "b"}, {"mg", "kg"}), columns({"c", "d"}, {"mg", "kg"})});
        const auto agreement = agree(all, Unnamed::allow);
        for (const auto& misfit : agreement.misfits) {
            if (misfit) throw InputError(*misfit);
        }
    });
    expect_in(text, {"c"});
}

TEST(AgreeTest, WhatHasNoNamesDoesNotJoinWhatExcludesEachOther) {
    EXPECT_NE(refusal_of([] {
                  agree(parties({columns({"a", "b"}), columns({"a", "c"}), unlabelled(2)}), Unnamed::allow);
              }),
              "");
    // Neither do two names of one mode through a party that gives none.
    const auto all = parties({columns({"1"}, {}, "drug"), columns({"1"}, {}, "diagnosis"), columns({"1"})});
    EXPECT_NE(refusal_of([&] {
                  const auto agreement = agree(all, Unnamed::refuse);
                  for (const auto& misfit : agreement.misfits) {
                      if (misfit) throw InputError(*misfit);
                  }
              }),
              "");
}

TEST(PeerSchemaTest, OneOrderIsKeptAndSeveralAreSorted) {
    const Schema one = columns({"c", "a", "b"}, {"kg", "", "s"});
    const Schema two = columns({"a", "b", "c"}, {"", "s", "kg"});
    const Schema three = columns({"b", "a", "c"}, {"s", "", "kg"});
    const Texts names{"p", "q", "r"};
    const auto prints = [](std::initializer_list<Schema> all) {
        std::vector<SchemaPrint> result;
        for (const auto& schema : all) result.push_back(fingerprint(schema));
        return result;
    };
    EXPECT_EQ(peer_schema(one, prints({one, one, one}), names, Unnamed::refuse), one);
    EXPECT_EQ(peer_schema(one, prints({one, one, three}), names, Unnamed::refuse), two);
    EXPECT_EQ(peer_schema(three, prints({one, one, three}), names, Unnamed::refuse), two);
    expect_in(
        refusal_of([&] {
            peer_schema(one, prints({one, columns({"a", "b", "d"}, {"", "s", "kg"}), one}), names, Unnamed::refuse);
        }),
        {"q", "other labels than p"});
    expect_in(
        refusal_of([&] {
            peer_schema(one, prints({one, one, columns({"c", "a", "b"}, {"g", "", "s"})}), names, Unnamed::refuse);
        }),
        {"r", "other units than p"});
    expect_in(refusal_of([&] {
                  peer_schema(one, prints({one, one, unlabelled(3)}), names, Unnamed::refuse);
              }),
              {"r", "no labels, unlike p", "`unnamed` allow"});
    EXPECT_EQ(peer_schema(one, prints({one, one, unlabelled(3)}), names, Unnamed::allow), one);
    EXPECT_NE(refusal_of([&] { peer_schema(one, prints({one, three, unlabelled(3)}), names, Unnamed::allow); }), "");
    const auto named = [](const char* name) { return columns({"1"}, {}, name); };
    expect_in(refusal_of([&] {
                  peer_schema(named("x"), prints({named("x"), named(""), named("y")}), names, Unnamed::refuse);
              }),
              {"r", "names of modes"});
}

TEST(FingerprintTest, TellsPartsAndModesApart) {
    const SchemaPrint nothing = fingerprint(unlabelled(2));
    EXPECT_EQ(nothing, SchemaPrint{});
    const Schema ab = columns({"a", "b"});
    EXPECT_EQ(fingerprint(ab).labels, fingerprint(columns({"b", "a"})).labels);
    EXPECT_NE(fingerprint(ab).order, fingerprint(columns({"b", "a"})).order);
    EXPECT_NE(fingerprint(ab).labels, fingerprint(columns({"ab", ""})).labels);
    EXPECT_EQ(fingerprint(ab).units, 0U);
    const Schema first = make_schema(Shape{1, 1}, {{"", {"a"}, {}}, {"", {}, {}}}, "x");
    const Schema second = make_schema(Shape{1, 1}, {{"", {}, {}}, {"", {"a"}, {}}}, "x");
    EXPECT_NE(fingerprint(first).labels, fingerprint(second).labels);
}

TEST(UnnamedTest, Words) {
    EXPECT_EQ(parse_unnamed("allow"), Unnamed::allow);
    EXPECT_EQ(parse_unnamed("refuse"), Unnamed::refuse);
    EXPECT_EQ(to_string(Unnamed::allow), "allow");
    EXPECT_EQ(to_string(Unnamed::refuse), "refuse");
    EXPECT_THROW(parse_unnamed("maybe"), InputError);
}

}  // namespace
}  // namespace couplet
