#include <fmt/format.h>

#include "couplet/experiments/report.hpp"
#include "couplet/experiments/style.hpp"

namespace couplet {
namespace {

constexpr const char* rules = R"css(
:root{--page:#fff;--ink:#1c1e21;--soft:#5c6068;--line:#d9dbe0;--faint:#eceef1;--wash:#f7f8fa;--link:#0b5cad}
*{box-sizing:border-box}
html{-webkit-text-size-adjust:100%;scroll-behavior:smooth}
body{margin:0;background:var(--page);color:var(--ink);font:17px/1.55 Charter,"Bitstream Charter","Sitka Text",Cambria,Georgia,serif}
main,header.top{max-width:74rem;margin:0 auto;padding:0 1.5rem}
header.top{padding-top:3.5rem}
h1{font-size:2.3rem;line-height:1.15;margin:0 0 .5rem;letter-spacing:-.01em;font-weight:600;text-wrap:balance}
h2{font-size:1.55rem;line-height:1.25;margin:0 0 .35rem;font-weight:600}
h3{font-size:1.02rem;margin:0 0 .4rem;font-weight:600;font-family:var(--sans)}
:root{--sans:Inter,"Helvetica Neue",Helvetica,Arial,"Liberation Sans",sans-serif;--mono:ui-monospace,"DejaVu Sans Mono",Menlo,Consolas,monospace}
p{margin:.5rem 0;max-width:44rem}
a{color:var(--link);text-decoration-thickness:1px;text-underline-offset:2px}
.lead{color:var(--soft);font-size:1.08rem;max-width:44rem}
.made,.where,.files,.cmd,figcaption,table,nav,.legend,svg text,.absent{font-family:var(--sans)}
.made{color:var(--soft);font-size:.86rem}
section{padding:2.4rem 0 1rem;border-top:1px solid var(--line);margin-top:2rem}
section.summary{border:0;padding-top:1rem;margin-top:1rem}
.summary ul,.findings{padding-left:1.15rem;max-width:46rem}
.summary li,.findings li{margin:.35rem 0}
.where{color:var(--soft);font-size:.86rem;margin:0 0 .6rem}
nav{margin:1.5rem 0 0;font-size:.9rem}
nav ol{list-style:none;margin:0;padding:0;display:flex;flex-wrap:wrap;gap:.3rem 1.1rem}
.figures{display:grid;grid-template-columns:repeat(auto-fill,minmax(min(100%,26rem),1fr));gap:2rem 2.4rem;margin:1.4rem 0;align-items:start}
figure{margin:0;min-width:0}
figure svg{width:100%;height:auto;display:block;overflow:visible}
svg text{font-size:12px;fill:var(--ink)}
svg .tick,svg .value{fill:var(--soft);font-size:11.5px;font-variant-numeric:tabular-nums}
svg .value{fill:var(--ink)}
svg .heading{font-weight:600;font-size:12.5px}
svg .grid{stroke:var(--faint);stroke-width:1}
svg .axis{stroke:var(--soft);stroke-width:1}
svg .series{fill:none;stroke:var(--c);stroke-width:1.8;stroke-linejoin:round}
svg .error{stroke:var(--c);stroke-width:1.2;opacity:.75}
svg .stem{stroke:var(--c);stroke-width:1;opacity:.3}
svg .mark.solid{fill:var(--c);stroke:var(--page);stroke-width:.8}
svg .mark.open{fill:none;stroke:var(--c);stroke-width:2}
svg .mark.hollow{fill:var(--page);fill-opacity:.85;stroke:var(--c);stroke-width:1.5}
.legend{display:flex;flex-wrap:wrap;gap:.15rem 1rem;font-size:.82rem;margin:.35rem 0 .2rem;padding:0;list-style:none}
.legend li{display:flex;align-items:center;gap:.4rem}
.legend svg{width:30px;height:12px;flex:none}
.scroll{overflow-x:auto;margin:.5rem 0}
table{border-collapse:collapse;font-size:.8rem;font-variant-numeric:tabular-nums;line-height:1.35}
th,td{padding:.22rem .6rem;text-align:right;white-space:nowrap;border-bottom:1px solid var(--faint)}
th{font-weight:600;color:var(--soft)}
th:first-child,td:first-child{text-align:left;padding-left:0}
thead th{vertical-align:bottom}
thead th:first-child{white-space:normal;min-width:8.5rem}
tbody th{color:var(--ink);font-weight:400}
td small{color:var(--soft);font-size:.92em}
td.best{font-weight:650}
.why .reason th{white-space:normal;max-width:44rem;padding-top:.9rem;font-weight:600}
.words td,.words thead th{text-align:left}
.tables{margin:1.2rem 0}
details{margin:.5rem 0}
summary{cursor:pointer;font-family:var(--sans);font-size:.84rem;color:var(--soft)}
.cmd{font-family:var(--mono);font-size:.82rem;background:var(--wash);padding:.45rem .7rem;border-radius:4px;overflow-x:auto;white-space:pre;margin:.8rem 0 .2rem;max-width:none}
.files{font-size:.84rem;color:var(--soft);margin:.2rem 0}
.absent{font-size:.9rem;border-left:3px solid var(--line);padding:.1rem .8rem;color:var(--soft)}
footer{max-width:74rem;margin:2rem auto 0;padding:1.2rem 1.5rem 3rem;color:var(--soft);font-size:.86rem;font-family:var(--sans);border-top:1px solid var(--line)}
@media (max-width:40rem){body{font-size:16px}main,header.top{padding:0 1rem}header.top{padding-top:2rem}h1{font-size:1.75rem}h2{font-size:1.3rem}section{padding-top:1.6rem}.figures{gap:1.6rem}}
@media (prefers-color-scheme:dark){:root{--page:#15171b;--ink:#e4e6ea;--soft:#a0a5ae;--line:#363a42;--faint:#262a31;--wash:#1d2026;--link:#7db8f0}}
@media print{@page{margin:16mm}:root{--page:#fff;--ink:#000;--soft:#444;--line:#bbb;--faint:#e4e4e4;--wash:#f4f4f4;--link:#000}
body{font-size:10pt}main,header.top{max-width:none;padding:0}nav,.files{display:none}section{break-before:auto;margin-top:1rem;padding-top:1rem}
figure svg{max-height:215mm}figure,tr,.summary{break-inside:avoid}h2,h3,.where{break-after:avoid}.figures{grid-template-columns:1fr 1fr;gap:1rem 1.4rem}.scroll{overflow:visible}
table{font-size:8pt;width:100%}th,td{padding:.1rem .25rem;white-space:normal}thead th:first-child{min-width:0}a{text-decoration:none}
summary{list-style:none;color:#000;font-weight:600}summary::-webkit-details-marker{display:none}.many{font-size:6.5pt}.many small{display:block}}
)css";

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
    std::string sheet = rules;
    std::string dark;
    for (const MethodStyle& style : method_styles()) {
        sheet += fmt::format(".m-{}{{--c:{}}}", style.id, style.light);
        dark += fmt::format(".m-{}{{--c:{}}}", style.id, style.dark);
    }
    return sheet + "@media screen and (prefers-color-scheme:dark){" + dark + "}\n";
}

}  // namespace couplet
