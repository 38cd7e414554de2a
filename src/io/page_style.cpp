#include "couplet/io/page_style.hpp"

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

}  // namespace

std::string page_style_sheet() { return rules; }

}  // namespace couplet
