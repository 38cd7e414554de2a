#include "couplet/io/foreign_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>

namespace couplet {
namespace {

/// How Python reads what programs write; {} stands for the file in quotes.
struct Foreign {
    std::string_view extension;
    std::string_view modules;
    std::string_view array;  ///< an expression
    std::string_view frame;  ///< likewise; empty: it holds no table
};

constexpr std::array<Foreign, 15> known{{
    {".xlsx", "pandas", "pandas.read_excel({}).select_dtypes('number')", "pandas.read_excel({})"},
    {".xls", "pandas", "pandas.read_excel({}).select_dtypes('number')", "pandas.read_excel({})"},
    {".dta", "pandas", "pandas.read_stata({}).select_dtypes('number')", "pandas.read_stata({})"},
    {".sav", "pandas", "pandas.read_spss({}).select_dtypes('number')", "pandas.read_spss({})"},
    {".feather", "pandas", "pandas.read_feather({}).select_dtypes('number')", "pandas.read_feather({})"},
    {".parquet", "pandas", "pandas.read_parquet({}).select_dtypes('number')", "pandas.read_parquet({})"},
    {".pkl", "pandas", "pandas.read_pickle({})", "pandas.read_pickle({})"},
    {".pickle", "pandas", "pandas.read_pickle({})", "pandas.read_pickle({})"},
    {".mat", "scipy.io", "scipy.io.loadmat({})['x']", ""},
    {".h5", "h5py", "h5py.File({})['x'][:]", ""},
    {".hdf5", "h5py", "h5py.File({})['x'][:]", ""},
    {".h5ad", "anndata", "anndata.read_h5ad({}).to_df()", "anndata.read_h5ad({}).to_df()"},
    {".zarr", "zarr", "zarr.open({})[:]", ""},
    {".json", "json", "json.load(open({}))", ""},
    {".pt", "torch", "torch.load({})", ""},
}};

const Foreign* foreign(const std::filesystem::path& file) {
    std::filesystem::path name = file;
    if (!name.has_filename()) name = name.parent_path();  // a folder with a slash
    std::string extension = name.extension().string();
    std::transform(extension.begin(), extension.end(), extension.begin(),
                   [](unsigned char c) { return static_cast<char>(c >= 'A' && c <= 'Z' ? c + ('a' - 'A') : c); });
    const auto found =
        std::find_if(known.begin(), known.end(), [&](const Foreign& f) { return f.extension == extension; });
    return found == known.end() ? nullptr : &*found;
}

/// 'book.xlsx', where the name needs no care.
std::string quoted(const std::filesystem::path& file) {
    const std::string name = file.string();
    const bool plain = std::all_of(name.begin(), name.end(),
                                   [](unsigned char c) { return c >= ' ' && c < 0x7F && c != '\'' && c != '\\'; });
    return plain ? "'" + name + "'" : "'FILE'";
}

std::string filled(std::string_view expression, const std::filesystem::path& file) {
    return fmt::format(fmt::runtime(expression), quoted(file));
}

std::string to_tensor(std::string_view modules, std::string_view expression, const std::filesystem::path& file) {
    return fmt::format("In Python: import numpy, {}; numpy.save('x.npy', numpy.asarray({}, float))", modules,
                       filled(expression, file));
}

}  // namespace

std::optional<std::string> tensor_import(const std::filesystem::path& file) {
    const Foreign* one = foreign(file);
    if (one == nullptr) return std::nullopt;
    return to_tensor(one->modules, one->array, file);
}

std::optional<std::string> table_import(const std::filesystem::path& file) {
    const Foreign* one = foreign(file);
    if (one == nullptr) return std::nullopt;
    const bool json = one->extension == ".json";
    if (one->frame.empty() && !json) return std::nullopt;
    return fmt::format("In Python: import {}; {}.to_csv('x.csv', index=False)", json ? "pandas" : one->modules,
                       filled(json ? "pandas.read_json({})" : one->frame, file));
}

std::string sparse_import(const std::filesystem::path& file) {
    return to_tensor("scipy.sparse", "scipy.sparse.load_npz({}).toarray()", file);
}

}  // namespace couplet
