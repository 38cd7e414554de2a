#include "couplet/data/hospitals.hpp"

#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "couplet/core/error.hpp"
#include "folder_test.hpp"

namespace couplet {
namespace {

using HospitalsTest = testing::FolderTest;

std::string text_of(const std::string& file) {
    std::ifstream stream(file, std::ios::binary);
    std::ostringstream text;
    text << stream.rdbuf();
    return text.str();
}

std::vector<std::vector<std::string>> rows_of(const std::string& file, char separator) {
    std::vector<std::vector<std::string>> rows;
    std::istringstream lines(text_of(file));
    for (std::string line; std::getline(lines, line);) {
        rows.emplace_back();
        std::istringstream cells(line + separator);
        for (std::string cell; std::getline(cells, cell, separator);) rows.back().push_back(cell);
    }
    return rows;
}

TEST_F(HospitalsTest, EqualOptionsGiveEqualFilesAndNothingIsReplaced) {
    const auto sites = write_hospitals(path("a"), {.patients = 200, .seed = 3}, false);
    write_hospitals(path("b"), {.patients = 200, .seed = 3}, false);
    write_hospitals(path("c"), {.patients = 200, .seed = 4}, false);
    ASSERT_EQ(sites.size(), 3U);
    Index patients = 0;
    for (const HospitalFiles& site : sites) {
        patients += site.patients;
        for (const std::string& file : site.files) {
            const std::string name = "/" + site.name + "/" + file;
            EXPECT_EQ(text_of(path("a" + name)), text_of(path("b" + name)));
            if (file != "codes.csv") {
                EXPECT_NE(text_of(path("a" + name)), text_of(path("c" + name)));
            }
        }
    }
    EXPECT_EQ(patients, 200);
    EXPECT_THROW(write_hospitals(path("a"), {.patients = 200}, false), InputError);
    EXPECT_NO_THROW(write_hospitals(path("a"), {.patients = 200}, true));
    EXPECT_THROW(write_hospitals(path("d"), {.patients = 5}, false), InputError);
    EXPECT_TRUE(files("d").empty());
}

TEST_F(HospitalsTest, PlantedPairsComeTogetherAndIndependentOnesDoNot) {
    write_hospitals(path("a"), {.patients = 4000}, false);
    std::map<std::string, std::set<std::string>> had, took;  // of north, by code
    std::set<std::string> all;
    for (auto& [name, by_code] : {std::pair{"diagnoses", &had}, std::pair{"prescriptions", &took}}) {
        for (const auto& row : rows_of(path(std::string("a/north/") + name + ".csv"), ',')) {
            if (row[0] == "PATIENT") continue;
            (*by_code)[row[1]].insert(row[0]);
            all.insert(row[0]);
        }
    }
    const auto lift = [&](const std::string& a, const std::string& b) {
        double both = 0;
        for (const auto& patient : had[a]) both += took[b].contains(patient) ? 1 : 0;
        return both * static_cast<double>(all.size()) / static_cast<double>(had[a].size() * took[b].size());
    };
    const auto truth = nlohmann::json::parse(text_of(path("a/truth.json")));
    ASSERT_EQ(truth["phenotypes"].size(), 6U);
    for (const auto& phenotype : truth["phenotypes"]) {
        for (const auto& condition : phenotype["conditions"]) {
            for (const auto& medication : phenotype["medications"]) {
                EXPECT_GT(lift(condition["code"], medication["code"]), 2.5) << condition << medication;
            }
        }
    }
    for (const auto& condition : truth["independent"]["conditions"]) {
        for (const auto& medication : truth["independent"]["medications"]) {
            EXPECT_NEAR(lift(condition["code"], medication["code"]), 1, 0.15) << condition << medication;
        }
    }
}

TEST_F(HospitalsTest, LocalCodesHaveAListAndCellsGaps) {
    write_hospitals(path("a"), {.patients = 900, .gaps = 0.3}, false);
    for (const auto& [site, separator, column] : {std::tuple{"south", ';', 2U}, std::tuple{"west", ',', 1U}}) {
        const std::string folder = path("a") + "/" + site;
        std::set<std::string> known;
        for (const auto& row : rows_of(folder + "/codes.csv", ',')) known.insert(row[0]);
        EXPECT_EQ(known.size(), 1 + 29 + 29U);
        int empty = 0;
        for (const char* name : {"/diagnoses.csv", "/prescriptions.csv"}) {
            const auto rows = rows_of(folder + name, separator);
            for (std::size_t i = 1; i < rows.size(); ++i) {
                const std::string& code = rows[i][column];
                if (code.empty()) ++empty;
                EXPECT_TRUE(code.empty() || known.contains(code)) << code;
            }
        }
        EXPECT_EQ(empty > 0, std::string(site) == "south");
    }
    double cells = 0;
    double gaps = 0;
    for (const auto& row : rows_of(path("a/west/laboratory.csv"), ',')) {
        for (std::size_t t = 1; t < row.size(); ++t) {
            ++cells;
            gaps += row[t].empty() ? 1 : 0;
        }
    }
    EXPECT_NEAR(gaps / cells, 0.3, 0.04);
}

}  // namespace
}  // namespace couplet
