#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "couplet/tensor/schema.hpp"

namespace couplet {

/// Where the clients of a simulation come from. client(k) may be called from several threads at once.
class ClientSource {
  public:
    virtual ~ClientSource() = default;
    virtual Index clients() const = 0;
    /// Counted from 0.
    virtual std::shared_ptr<const Tensor<double>> client(Index k) const = 0;
    /// Whether all clients stay in memory anyway; otherwise each is made again when it is needed again.
    virtual bool resident() const = 0;
};

/// Tensors already in memory.
class MemorySource : public ClientSource {
  public:
    explicit MemorySource(std::vector<Tensor<double>> tensors);
    static MemorySource sharing(std::vector<std::shared_ptr<const Tensor<double>>> tensors);
    Index clients() const override { return static_cast<Index>(tensors_.size()); }
    std::shared_ptr<const Tensor<double>> client(Index k) const override {
        return tensors_[static_cast<std::size_t>(k)];
    }
    bool resident() const override { return true; }

  private:
    std::vector<std::shared_ptr<const Tensor<double>>> tensors_;
};

/// Tensors generated when asked for; `make(k)` must give the same tensor every time.
class LazySource : public ClientSource {
  public:
    LazySource(Index clients, std::function<Tensor<double>(Index)> make);
    Index clients() const override { return clients_; }
    std::shared_ptr<const Tensor<double>> client(Index k) const override;
    bool resident() const override { return false; }

  private:
    Index clients_;
    std::function<Tensor<double>(Index)> make_;
};

/// Clients whose data is in the order of one schema.
struct AlignedSource {
    MemorySource source;
    Schema schema;
    std::vector<std::string> reordered;  ///< by client, in words: what was put in its order; empty: nothing
};

/// For methods that compare clients' data with the model entry by entry: agrees on a schema as a job does, unless one
/// is given. Reads all clients. Throws InputError that names the client that does not fit.
AlignedSource align_source(const ClientSource& source, Unnamed unnamed, const std::optional<Schema>& given);

/// The rows of one tensor over K clients, as evenly as possible, in order; the first ones get one more. Throws
/// InputError unless 1 <= K <= rows.
std::vector<Tensor<double>> split_rows(TensorView<const double> x, Index clients);

}  // namespace couplet
