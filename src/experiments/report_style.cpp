#include <fmt/format.h>

#include "couplet/experiments/report.hpp"
#include "couplet/experiments/style.hpp"
#include "couplet/io/page_style.hpp"

namespace couplet {
namespace {

/// The report alone: contents beside the text, answers as cards, a figure beside what it shows.
constexpr const char* page_rules = R"css(
.report header.top,.report .columns,.report footer{max-width:80rem;margin-left:auto;margin-right:auto;padding-left:1.5rem;padding-right:1.5rem}
.report header.top{padding-top:2.2rem}.report .lead,.report p{max-width:none}.report .lead{max-width:58rem}
.report .columns{display:grid;grid-template-columns:12.5rem minmax(0,1fr);gap:0 2.2rem;align-items:start}
.report main{max-width:none;padding:0;margin:0}
.report nav.contents{position:sticky;top:0;max-height:100vh;overflow-y:auto;margin:0;padding:1.2rem 0;font-size:.84rem}
.report nav.contents ol{display:block}.report nav.contents li{margin:.1rem 0}
.report nav.contents a{display:block;padding:.16rem .4rem;color:var(--ink);text-decoration:none;border-radius:3px}
.report nav.contents a:hover{background:var(--wash);text-decoration:underline}
.report a:focus-visible,.report summary:focus-visible{outline:2px solid var(--link);outline-offset:2px}
.report section{padding:1.5rem 0 .4rem;margin-top:1rem}.report section.summary{margin-top:0}
.report h2{font-size:1.34rem;max-width:52rem;text-wrap:balance}.report .where{margin:0 0 .2rem}
.answers{display:grid;grid-template-columns:1fr 1fr;gap:1rem;margin:.8rem 0}
.answers>div{background:var(--wash);border:1px solid var(--line);border-radius:6px;padding:.8rem 1rem}
.answers h3{font-weight:400;color:var(--soft);margin:0}.answers p{margin:.3rem 0 0;font-family:var(--sans);font-size:.86rem}
.answers .verdict{font-size:1.24rem;font-weight:600;line-height:1.25;text-wrap:balance}
.lead-part{display:grid;grid-template-columns:minmax(0,1.35fr) minmax(0,1fr);gap:0 2rem;margin:.7rem 0 .3rem;align-items:start}
.lead-part .side{font-size:.92rem}.lead-part .findings{padding-left:1.1rem;margin:.5rem 0}
.folded{display:flex;flex-wrap:wrap;gap:.1rem 1.3rem}.folded>details{margin:.15rem 0}.folded>details[open]{flex-basis:100%;min-width:0}
.report .tables h3{margin-top:1rem}
.skip{position:absolute;left:-999rem}.skip:focus{left:1rem;top:.5rem;background:var(--page);padding:.3rem .6rem;z-index:2}
svg .tag{font-size:12.5px}
.report svg .tick,.report svg .tag,.report svg .value{font-size:13px}.report svg .label{font-size:13px}
@supports selector(::details-content){@media print,(min-width:60.01rem){.words-beside>summary{display:none}.words-beside::details-content{content-visibility:visible;block-size:auto}.words-beside{margin:0}.words-beside>summary+p{margin-top:0}}}
@media (max-width:60rem){.report .columns{display:block}.report nav.contents{background:var(--page);border-bottom:1px solid var(--line);padding:.5rem 0;z-index:1;overflow-x:auto;max-height:none}
.report nav.contents ol{display:flex;flex-wrap:nowrap;gap:.2rem .5rem}.report nav.contents li{flex:none;margin:0}
.report section{scroll-margin-top:3rem}.lead-part,.answers{grid-template-columns:minmax(0,1fr)}}
@media (max-width:40rem){.report header.top,.report .columns,.report footer{padding-left:1rem;padding-right:1rem}.report h2{font-size:1.16rem}}
@media print{.report .columns{display:block}.report nav.contents,.skip{display:none}.report header.top,.report .columns,.report footer{max-width:none;padding:0}
.lead-part{grid-template-columns:1.3fr 1fr;gap:0 1rem}.report section{break-inside:avoid-page}.answers>div{break-inside:avoid}.report h2{font-size:13pt}.folded{display:none}.folded:has(details[open]){display:block}}
)css";

}  // namespace

std::string report_page_rules() { return page_rules; }

std::string report_style_sheet() {
    std::string sheet = page_style_sheet();
    std::string dark;
    for (const MethodStyle& style : method_styles()) {
        sheet += fmt::format(".m-{}{{--c:{}}}", style.id, style.light);
        dark += fmt::format(".m-{}{{--c:{}}}", style.id, style.dark);
    }
    return sheet + "@media screen and (prefers-color-scheme:dark){" + dark + "}\n";
}

}  // namespace couplet
