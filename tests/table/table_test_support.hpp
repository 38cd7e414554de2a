#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "couplet/core/error.hpp"
#include "couplet/io/tensor_file.hpp"
#include "couplet/table/build.hpp"
#include "folder_test.hpp"

namespace couplet::testing {

class TableTest : public FolderTest {
  protected:
    TableReport build(const std::vector<std::string>& names, const TableOptions& options, const TextForm& form = {},
                      const std::string& output = "out") const {
        std::vector<TableInput> tables;
        for (const std::string& name : names) tables.push_back(file_input(path(name), form));
        return build_table(tables, options, path(output), false);
    }
    /// The tensor of a folder, dense.
    Tensor<double> tensor(const std::string& output = "out") const {
        const bool sparse = std::filesystem::exists(path(output + "/tensor.tns"));
        return open_tensor(path(output + (sparse ? "/tensor.tns" : "/tensor.npy"))).take<double>();
    }
    /// What build() says when it refuses; and that nothing is left behind.
    std::string refusal(const std::vector<std::string>& names, const TableOptions& options,
                        const TextForm& form = {}) const {
        std::string said;
        try {
            build(names, options, form);
        } catch (const InputError& error) {
            said = error.what();
        }
        EXPECT_TRUE(files("out").empty()) << files("out").front();
        const std::string here = folder_.string() + "/";
        for (std::size_t at; (at = said.find(here)) != std::string::npos;) said.erase(at, here.size());
        return said;
    }
};

}  // namespace couplet::testing
