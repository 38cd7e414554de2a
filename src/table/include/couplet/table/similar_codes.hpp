#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "couplet/table/vocabulary.hpp"

namespace couplet {

/// Two codes of one mode that look alike: perhaps one code, written in two ways.
struct SimilarCodes {
    std::string mode = {};
    std::string one = {};
    std::string other = {};
    std::string why = {};  ///< "capitals or blanks", "accents", "punctuation or the name of a code list", "label"
};

/// Codes that are equal but for capitals and blanks; else but for accents (one letter or a letter with a mark behind
/// it: NFC and NFD); else but for punctuation and the name of a code list in front ("ICD10:E11.9" and "E119"). With
/// `labels` also different codes of one label, as sites have that did not map their own.
std::vector<SimilarCodes> similar_codes(const Vocabulary& vocabulary, bool labels = false);
/// In words, naming a few.
std::string similar_text(const std::vector<SimilarCodes>& similar);
/// [{mode, codes: [one, other], why}]
nlohmann::ordered_json similar_json(const std::vector<SimilarCodes>& similar);

}  // namespace couplet
