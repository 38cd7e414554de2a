#include "couplet/experiments/paper_numbers.hpp"

namespace couplet {
namespace {

constexpr PaperTable diabetes{{15, 25, 35, 45, 50, 60, 100},
                              {{{0.2518, 0.2369, 0.2308, 0.2266, 0.225, 0.2228, 0.2192},
                                {0.3426, 0.3448, 0.348, 0.3494, 0.3498, 0.3504, 0.3521},
                                {0.2617, 0.2485, 0.2436, 0.24, 0.2386, 0.2367, 0.2335},
                                {0.2523, 0.2377, 0.2318, 0.2277, 0.2261, 0.2239, 0.2204},
                                {0.2519, 0.2371, 0.231, 0.2268, 0.2252, 0.223, 0.2194}}},
                              {{{2920, 6290, 8690, 11100, 12300, 14700, 26300},
                                {7200, 12000, 16800, 21600, 24000, 28800, 48000},
                                {14400, 24000, 33600, 43200, 48000, 57000, 96000},
                                {21600, 36000, 50400, 64800, 71800, 86400, 144000},
                                {28800, 48000, 67200, 86400, 96000, 116000, 192000}}},
                              {{{0.0328, 0.0379, 0.0373, 0.0391, 0.041, 0.0387, 0.0375},
                                {0.0346, 0.0355, 0.0363, 0.0381, 0.0385, 0.0393, 0.0396},
                                {0.0348, 0.0359, 0.0365, 0.0375, 0.0391, 0.0412, 0.0406},
                                {0.0348, 0.0361, 0.0365, 0.0383, 0.0391, 0.04, 0.0432},
                                {0.0379, 0.0363, 0.0373, 0.0383, 0.0404, 0.0416, 0.0451}}}};

constexpr PaperTable synthetic{{5, 7, 10, 12, 15, 18, 20},
                               {{{0.1912, 0.1867, 0.1832, 0.182, 0.1805, 0.1799, 0.1798},
                                 {0.339, 0.3498, 0.3587, 0.362, 0.3631, 0.3644, 0.3649},
                                 {0.2073, 0.2048, 0.2027, 0.2019, 0.2002, 0.1999, 0.1998},
                                 {0.1929, 0.1886, 0.1853, 0.1841, 0.1825, 0.182, 0.1819},
                                 {0.1914, 0.1869, 0.1835, 0.1822, 0.1807, 0.1801, 0.18}}},
                               {{{2700, 3600, 4950, 5850, 7680, 9120, 11000},
                                 {4500, 6300, 9000, 10800, 13500, 16200, 18000},
                                 {9000, 12600, 18000, 21600, 27000, 32400, 36000},
                                 {13500, 18900, 27000, 32400, 40500, 48600, 54000},
                                 {18000, 25200, 36000, 43200, 54000, 64800, 72000}}},
                               {{{0.0034, 0.0042, 0.0056, 0.0058, 0.0063, 0.0075, 0.0084},
                                 {0.0036, 0.0043, 0.0057, 0.0068, 0.007, 0.0071, 0.0076},
                                 {0.0041, 0.0044, 0.0057, 0.0069, 0.0073, 0.0073, 0.008},
                                 {0.0045, 0.0054, 0.0062, 0.007, 0.0073, 0.0078, 0.0081},
                                 {0.004, 0.0062, 0.0067, 0.0071, 0.0077, 0.0079, 0.008}}}};

constexpr std::array comparison{
    PaperComparison{DataId::diabetes, "fedgtf-ef", 45, 0.6250, 0.2347},
    PaperComparison{DataId::diabetes, "dpsgd", 15, 0.1641, 0.5294},
    PaperComparison{DataId::diabetes, "dpfact", 10, 0.1480, 0.2772},
    PaperComparison{DataId::diabetes, "printed-star", 2, 0.0410, 0.2250},
    PaperComparison{DataId::diabetes, "printed-dec", 3, 0.0391, 0.2261},
    PaperComparison{DataId::ecg, "fedgtf-ef", 75, 22.3593, 0.7749},
    PaperComparison{DataId::ecg, "dpsgd", 75, 22.4023, 0.6589},
    PaperComparison{DataId::ecg, "dpfact", 10, 1.3281, 0.6112},
    PaperComparison{DataId::ecg, "printed-star", 2, 0.6117, 0.5979},
    PaperComparison{DataId::ecg, "printed-dec", 3, 0.6563, 0.5993},
    PaperComparison{DataId::synthetic3, "fedgtf-ef", 50, 0.5625, 0.1873},
    PaperComparison{DataId::synthetic3, "dpsgd", 45, 0.5469, 0.1787},
    PaperComparison{DataId::synthetic3, "dpfact", 6, 0.4023, 0.2529},
    PaperComparison{DataId::synthetic3, "printed-star", 2, 0.0084, 0.1798},
    PaperComparison{DataId::synthetic3, "printed-dec", 3, 0.0081, 0.1819},
};

}  // namespace

const PaperTable* paper_r1_table(DataId data) noexcept {
    if (data == DataId::diabetes) return &diabetes;
    return data == DataId::synthetic3 ? &synthetic : nullptr;
}

std::span<const PaperComparison> paper_comparison() noexcept { return comparison; }

}  // namespace couplet
