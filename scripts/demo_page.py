"""The page of `make demo`: what was computed, as figures and a table, in one file that needs nothing else.

page() takes what the demo leaves in result.json; picture() is its two main figures as an SVG file of its own, for README. Figures are drawn here with a few lines of SVG: a row for each method,
its name at the left and its number at the right, so that nothing has to be looked up.
"""
import html
import re

STYLE = """
:root{--page:#fff;--ink:#1c1e21;--soft:#5c6068;--line:#d9dbe0;--wash:#f4f5f7;--ours:#0072B2;--other:#8a5a00;--link:#0b5cad}
@media (prefers-color-scheme:dark){:root{--page:#15171b;--ink:#e4e6ea;--soft:#a8adb6;--line:#363a42;--wash:#1d2026;--ours:#4aa8e0;--other:#e0a458;--link:#7db8f0}}
@media print{:root{--page:#fff;--ink:#000;--soft:#444;--line:#bbb;--wash:#f4f4f4;--ours:#0072B2;--other:#8a5a00}}
*{box-sizing:border-box}
body{margin:0 auto;max-width:62rem;padding:1.5rem 1rem 3rem;background:var(--page);color:var(--ink);font:16px/1.5 system-ui,"DejaVu Sans",sans-serif}
p{overflow-wrap:anywhere}h1{font-size:1.7rem;line-height:1.2;margin:0 0 .6rem}h2{font-size:1.2rem;margin:2rem 0 .3rem}
figure{margin:.8rem 0;max-width:44rem;break-inside:avoid}svg{width:100%;height:auto;display:block}
svg text{font-size:14px;fill:var(--ink)}svg .soft{fill:var(--soft)}
.ours{fill:var(--ours)}.other{fill:var(--other)}.rule{stroke:var(--line)}.joins{stroke:var(--soft);stroke-width:2}
.scroll{overflow-x:auto}table{border-collapse:collapse;font-size:.9rem;font-variant-numeric:tabular-nums}
th,td{padding:.3em .7em;border-bottom:1px solid var(--line);text-align:right;white-space:nowrap}th:first-child{text-align:left;white-space:normal;min-width:13rem}
pre{background:var(--wash);padding:1em;overflow-x:auto;font-size:.84rem}
a:focus-visible,summary:focus-visible,[tabindex]:focus-visible{outline:2px solid var(--link)}summary{cursor:pointer}
"""
WIDTH, NAMES, ROW = 520, 190, 26


def text(x: float, y: float, words: str, kind: str = "", anchor: str = "start") -> str:
    return f'<text x="{x:g}" y="{y:g}" class="{kind}" text-anchor="{anchor}">{html.escape(words)}</text>'


def figure(title: str, rows: list[str], height: float) -> str:
    return (f'<h2>{html.escape(title)}</h2><figure><svg viewBox="0 0 {WIDTH} {height:g}" role="img" aria-label="{html.escape(title)}">'
            + "".join(rows) + "</svg></figure>")


def bars(title: str, values: list[tuple[str, float, str, bool]]) -> str:
    """A bar from zero for each (name, value, value as text, whether it is ours)."""
    most = max(value for _, value, _, _ in values)
    room = WIDTH - NAMES - 150
    rows = []
    for k, (name, value, shown, ours) in enumerate(values):
        y = ROW * k + 4
        long = max(room * value / most, 1.5)
        rows.append(text(NAMES - 8, y + 14, name, anchor="end"))
        rows.append(f'<rect x="{NAMES}" y="{y}" width="{long:.1f}" height="18" rx="2" class="{"ours" if ours else "other"}"/>')
        rows.append(text(NAMES + long + 6, y + 14, shown, "soft"))
    return figure(title, rows, ROW * len(values) + 4)


def joining(title: str, gain: list[dict]) -> str:
    """For every client its error on new patients, alone and together, on one line."""
    low = 0.9 * min(min(one["alone"], one["together"]) for one in gain)
    high = 1.1 * max(max(one["alone"], one["together"]) for one in gain)
    at = lambda value: NAMES + 40 + (WIDTH - NAMES - 190) * (value - low) / (high - low)
    rows = [text(NAMES - 8, 16, "error on new patients", "soft", "end"), text(at(gain[0]["together"]), 16, "together", anchor="middle"),
            text(at(gain[0]["alone"]), 16, "alone", anchor="middle")]
    for k, one in enumerate(gain):
        y = ROW * (k + 1) + 12
        rows.append(text(NAMES - 8, y + 5, f"client {k + 1}", anchor="end"))
        rows.append(f'<line x1="{at(one["together"]):.1f}" y1="{y}" x2="{at(one["alone"]):.1f}" y2="{y}" class="joins"/>')
        rows.append(f'<circle cx="{at(one["together"]):.1f}" cy="{y}" r="6" class="ours"/><circle cx="{at(one["alone"]):.1f}" cy="{y}" r="6" class="other"/>')
        rows.append(text(WIDTH - 4, y + 5, f'{one["together"]:.4f} / {one["alone"]:.4f}', "soft", "end"))
    return figure(title, rows, ROW * (len(gain) + 1) + 4)


def size(number: float) -> str:
    return f"{number / 1e6:.2f} MB" if number >= 1e6 else f"{number / 1e3:.0f} kB"


def compared(result: dict, raw: int) -> tuple[list, list]:
    """The rows of the two main figures: errors, and bytes sent."""
    shown = [("star", "Couplet, star"), ("decentralized", "Couplet, eight peers"), ("average", "CTT of Zhang et al. 2024"),
             ("centralized", "all data in one place")]
    errors = [(name, result[key]["rse"], f"RSE {result[key]['rse']:.4f}", name.startswith("Couplet")) for key, name in shown]
    sent = [(name, result[key]["bytes_total"], f"{size(result[key]['bytes_total'])}, {result[key]['bytes_total'] / raw:.0%}",
             name.startswith("Couplet")) for key, name in shown]
    return errors, sent


def picture(result: dict, raw: int) -> str:
    """Errors and bytes of the demo, side by side, on a ground of its own: readable on light and dark pages."""
    style = ("text{font:14px 'DejaVu Sans',Helvetica,Arial,sans-serif;fill:#1c1e21}.soft{fill:#5c6068}.title{font-size:17px;font-weight:600}"
             ".ours{fill:#0072B2}.other{fill:#8a5a00}")
    drawings = [re.search(r"<svg[^>]*>(.*)</svg>", bars("", rows), re.DOTALL).group(1) for rows in compared(result, raw)]
    titles = ["Squared error", "Sent over all links, % of the raw data"]
    inside = "".join(f'<g transform="translate({20 + k * (WIDTH + 40)} 56)">{text(0, -24, title, "title")}{drawing}</g>'
                     for k, (title, drawing) in enumerate(zip(titles, drawings)))
    label = "Couplet has the error of all data in one place and sends a fraction of the data; the CTT of Zhang et al. 2024 has more of both"
    return (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {2 * WIDTH + 80} 176" role="img" aria-label="{label}"><style>{style}</style>'
            f'<rect width="100%" height="100%" rx="8" fill="#fff"/>{inside}</svg>\n')


def page(result: dict, titles: dict[str, str], commands: list[str], raw: int, measured: float) -> str:
    """The whole page. titles: of the runs, in order; raw: bytes of the data; measured: RSE of the star as NumPy measures it."""
    star, central = result["star"], result["centralized"]
    errors, sent = compared(result, raw)
    header = ["method", "RSE", "ranks", "rounds", "bytes sent", "of the raw data", "seconds"]
    rows = [[title, f"{result[key]['rse']:.6f}", " ".join(map(str, result[key]["ranks"])), str(result[key]["rounds"]),
             f"{result[key]['bytes_total']:,.0f}", f"{result[key]['bytes_total'] / raw:.1%}", f"{result[key]['seconds']['total']:.3f}"]
            for key, title in titles.items()]
    head = "<tr>" + "".join(f'<th scope="col">{html.escape(cell)}</th>' for cell in header) + "</tr>"
    body = "".join("<tr>" + f'<th scope="row">{html.escape(row[0])}</th>' + "".join(f"<td>{html.escape(cell)}</td>" for cell in row[1:]) + "</tr>"
                   for row in rows)
    better = sum(one["together"] < one["alone"] for one in result["gain"])
    return f"""<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark"><link rel="icon" href="data:,"><title>Couplet demo</title><style>{STYLE}</style></head>
<body><main>
<h1>One set of features for four clients, {star['rse'] / central['rse'] - 1:.1%} from the error of all data in one place</h1>
<p>{html.escape(result['data']['spec'])}, seed 1: 200 patients with 30 x 30 features, 50 at each of four clients. RSE is the squared error over
the squared norm, of all clients together. The star's relative error is {star['rse'] ** 0.5:.4f}, certified to be at most
{star['rel_error_bound']:.4f} before anybody looked at the data again, and {measured ** 0.5:.4f} as NumPy measures it from the written files.</p>
{bars("Couplet leaves the error of all data in one place; averaging factors leaves " + f"{result['average']['rse'] / star['rse']:.0f} times as much", errors)}
{bars(f"It sends {star['bytes_total'] / raw:.0%} of what the data itself would take", sent)}
{joining(f"{better} of {len(result['gain'])} clients describe new patients better together than alone", result["gain"])}
<details><summary>All numbers</summary><div class="scroll" tabindex="0" role="region" aria-label="All numbers"><table><thead>{head}</thead><tbody>{body}</tbody></table></div>
<p>Local alone fits its own patients well, but every client has features of its own: patients of different clients cannot be compared.
Centralized counts the data itself as sent: {raw:,} bytes.</p></details>
<h2>How it was made</h2>
<p>The star is one coordinator and four clients, each a process of its own with a certificate of its own. The decentralized network is
eight peers, nobody in the middle, with the same patients dealt to eight.</p>
<pre tabindex="0">{html.escape(chr(10).join(commands))}</pre>
<p>couplet {html.escape(star['version'])}. All figures are in result.json beside this page.</p>
</main></body></html>
"""
