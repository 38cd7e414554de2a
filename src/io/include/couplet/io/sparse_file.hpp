#pragma once

#include <filesystem>
#include <span>
#include <string>

#include "couplet/io/tns.hpp"
#include "couplet/tensor/sparse.hpp"

namespace couplet {

/// Whether files of this name hold the entries of a sparse tensor: .tns and .tns.gz.
bool is_sparse_name(const std::string& path);

/// The tensor of a .tns or .tns.gz file, with the labels of the manifest.json beside it; equal indices are summed.
/// Plain text is read on all threads. Throws InputError like read_tns_entries, for a shape whose product does not fit
/// in 64 bits, and for a mode far longer than the entries are many: identifiers are no indices.
SparseTensor read_sparse(const std::filesystem::path& path, IndexBase base = IndexBase::detect);

/// The same from text in memory, without labels; `name` stands for the path.
SparseTensor decode_sparse(std::span<const std::byte> text, const std::string& name,
                           IndexBase base = IndexBase::detect);

}  // namespace couplet
