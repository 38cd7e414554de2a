#include "couplet/table/fhir.hpp"

#include "table_test_support.hpp"

namespace couplet {
namespace {

using Rows = std::vector<std::vector<std::string>>;

Rows read(std::string_view text, Index* withdrawn = nullptr) {
    FhirReader reader(testing::bytes_of(text), "t");
    Rows rows;
    for (std::vector<std::string_view> row; reader.next(row);) rows.emplace_back(row.begin(), row.end());
    if (withdrawn != nullptr) *withdrawn = reader.withdrawn();
    return rows;
}

std::string said(std::string_view text) {
    try {
        read(text);
    } catch (const InputError& error) {
        return error.what();
    }
    return "";
}

TEST(FhirTest, ReadsConditionsAndLeavesOutWhatIsWithdrawn) {
    Index withdrawn = 0;
    const Rows rows = read(
        R"({"resourceType":"Condition","subject":{"reference":"Patient/p1"},"code":{"coding":[{"code":"1","display":"Asthma"}]},"onsetDateTime":"2020-01-02T10:00:00Z"})"
        "\n"
        R"({"resourceType":"Condition","subject":{"reference":"urn:uuid:p2"},"code":{"text":"Cough"},"recordedDate":"2020-01-03"})"
        "\n"
        R"({"resourceType":"Condition","verificationStatus":{"coding":[{"code":"refuted"}]},"subject":{"reference":"Patient/p1"},"code":{"text":"x"}})"
        "\n",
        &withdrawn);
    EXPECT_EQ(rows, (Rows{{"p1", "1", "Asthma", "2020-01-02T10:00:00Z", "", "", ""},
                          {"p2", "Cough", "Cough", "2020-01-03", "", "", ""}}));
    EXPECT_EQ(withdrawn, 1);
}

TEST(FhirTest, ReadsMedicationsOfBothReleasesAndComponentsOfObservations) {
    EXPECT_EQ(
        read(
            R"({"resourceType":"MedicationRequest","status":"active","subject":{"reference":"http://x/Patient/p1/_history/3"},"medicationCodeableConcept":{"coding":[{"code":"860975","display":"Metformin"}]},"authoredOn":"2020-01-02"})"),
        (Rows{{"p1", "860975", "Metformin", "2020-01-02", "", "", ""}}));
    EXPECT_EQ(
        read(
            R"({"resourceType":"MedicationRequest","subject":{"reference":"Patient/p1"},"medication":{"concept":{"coding":[{"code":"860975"}]}}})"),
        (Rows{{"p1", "860975", "", "", "", "", ""}}));
    EXPECT_EQ(
        read(
            R"({"resourceType":"Observation","status":"final","subject":{"reference":"Patient/p1"},"code":{"coding":[{"code":"85354-9"}]},"effectiveDateTime":"2020-01-02","component":[{"code":{"coding":[{"code":"8480-6","display":"Systolic"}]},"valueQuantity":{"value":120.5,"unit":"mmHg"}},{"code":{"coding":[{"code":"8462-4","display":"Diastolic"}]},"valueQuantity":{"value":80,"code":"mm[Hg]"}}]})"),
        (Rows{{"p1", "8480-6", "Systolic", "2020-01-02", "120.5", "mmHg", ""},
              {"p1", "8462-4", "Diastolic", "2020-01-02", "80", "mm[Hg]", ""}}));
}

TEST(FhirTest, WhatDidNotHappenIsLeftOut) {
    const auto left = [](const std::string& type, const std::string& more) {
        Index withdrawn = 0;
        const Rows rows = read(
            "{\"resourceType\":\"" + type + "\",\"subject\":{\"reference\":\"Patient/1\"}," + more + "}", &withdrawn);
        return withdrawn == 1 && rows.empty();
    };
    const std::string drug = R"("medicationCodeableConcept":{"text":"x"},)";
    EXPECT_TRUE(left("MedicationStatement", drug + R"("status":"not-taken")"));
    EXPECT_FALSE(left("MedicationStatement", drug + R"("status":"active")"));
    EXPECT_TRUE(left("MedicationRequest", drug + R"("doNotPerform":true)"));
    EXPECT_FALSE(left("MedicationRequest", drug + R"("doNotPerform":false)"));
    const std::string code = R"("code":{"text":"x"},"verificationStatus":)";
    EXPECT_TRUE(left("Condition", code + R"({"coding":[{"code":"confirmed"},{"code":"entered-in-error"}]})"));
    EXPECT_TRUE(left("Condition", code + R"({"text":"Refuted"})"));
    EXPECT_FALSE(left("Condition", code + R"({"text":"confirmed"})"));
}

TEST(FhirTest, PatientsAreThoseOfOneServerAndNobodyElse) {
    const auto observation = [](const std::string& reference) {
        return R"({"resourceType":"Observation","subject":{"reference":")" + reference +
               R"("},"code":{"text":"x"},"valueInteger":1})" + "\n";
    };
    Index withdrawn = 0;
    EXPECT_EQ(read(observation("Device/1") + observation("Patient/1"), &withdrawn).size(), 1U);
    EXPECT_EQ(withdrawn, 1);
    EXPECT_EQ(read(observation("http://a/fhir/Patient/9") + observation("Patient/9")).size(), 2U);
    EXPECT_NE(said(observation("http://a/fhir/Patient/9") + observation("http://b/fhir/Patient/9"))
                  .find("t, line 2: a patient of the server 'http://b/fhir'"),
              std::string::npos);
}

TEST(FhirTest, ANumberIsTheComponentsOwnAndNoBound) {
    const std::string panel =
        R"({"resourceType":"Observation","subject":{"reference":"Patient/1"},"code":{"text":"panel"},"valueInteger":9,)"
        R"("component":[{"code":{"text":" a "}},{"code":{"coding":[{"code":"b","system":"s"}]},"valueInteger":2}]})";
    EXPECT_EQ(read(panel), (Rows{{"1", "a", "a", "", "", "", ""},
                                 {"1", "b", "", "", "2", "", "s"},
                                 {"1", "panel", "panel", "", "9", "", ""}}));
    const std::string bound =
        R"({"resourceType":"Observation","subject":{"reference":"Patient/1"},"code":{"text":"x"},)"
        R"("valueQuantity":{"value":5,"comparator":"<","unit":"mg"}})";
    EXPECT_EQ(read(bound), (Rows{{"1", "x", "x", "", "", "", ""}}));
}

TEST(FhirTest, SaysWhatIsWrongAndWhere) {
    const std::string good = R"({"resourceType":"Condition","subject":{"reference":"Patient/p1"},"code":{"text":"x"}})";
    EXPECT_NE(said(good + "\n{\"resourceType\":\"Patient\",\"id\":\"1\"}\n").find("t, line 2"), std::string::npos);
    EXPECT_NE(said(good + "\n{\n").find("t, line 2"), std::string::npos);
    EXPECT_NE(said(R"({"resourceType":"Condition","code":{"text":"x"}})").find("of nobody"), std::string::npos);
    EXPECT_NE(said(R"({"resourceType":"Condition","subject":{"reference":"Patient/1"}})").find("without a code"),
              std::string::npos);
    EXPECT_NE(
        said(
            R"({"resourceType":"MedicationRequest","subject":{"reference":"Patient/1"},"medicationReference":{"reference":"Medication/1"}})")
            .find("by reference"),
        std::string::npos);
}

TEST(FhirTest, KnowsItsResources) {
    EXPECT_EQ(fhir_resource_type("{\"resourceType\":\"Condition\"}"), "Condition");
    EXPECT_EQ(fhir_resource_type("{}"), std::nullopt);
    EXPECT_EQ(fhir_resource_type("x"), std::nullopt);
    EXPECT_EQ(fhir_mode_name("MedicationRequest"), "medication");
    EXPECT_EQ(fhir_mode_name("Patient"), "");
}

}  // namespace
}  // namespace couplet
