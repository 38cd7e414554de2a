"""Looks at pages in a real browser, and says what people would find who see little, use a keyboard or a phone.

ask() opens a page in a frame of a given width and returns what a script inside it says; look() asks for what the browser made of
it; complaints() lists what is wrong with that: faint text, drawings and pictures without words for them, headings that skip a level, tables without heads, things
that a keyboard does not reach or reaches out of order, a page that is wider than its window, links to nowhere.
"""
import html
import json
import os
import pathlib
import re
import shutil
import subprocess

import pytest

LEAST_CONTRAST = 4.5  # WCAG 2.1, AA, for text of any size
DARK = "--blink-settings=preferredColorScheme=0"
LIGHT = "--blink-settings=preferredColorScheme=1"

# Runs inside the page and tells the frame around it what the browser made of it.
PROBE = """<script>
addEventListener('load', () => setTimeout(() => {
  const channel = v => (v /= 255) <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4;
  const light = c => 0.2126 * channel(c[0]) + 0.7152 * channel(c[1]) + 0.0722 * channel(c[2]);
  const rgb = text => { const c = (text.match(/[\\d.]+/g) || [0, 0, 0, 0]).map(Number); return c.length < 4 ? [...c, 1] : c; };
  const over = (c, under) => [0, 1, 2].map(i => c[3] * c[i] + (1 - c[3]) * under[i]);
  const behind = element => {
    if (!element) return [255, 255, 255];
    const c = rgb(getComputedStyle(element).backgroundColor);
    return c[3] > 0.99 ? c : over(c, behind(element.parentElement));
  };
  const shown = element => {
    const box = element.getBoundingClientRect();
    return element.checkVisibility({visibilityProperty: true}) && element.getClientRects().length > 0 && box.width > 1 && box.height > 1 && getComputedStyle(element).visibility == 'visible' &&
      getComputedStyle(element).opacity != 0 && !element.closest('.skip, .md-skip, [hidden], .md-search__output, .md-top, .headerlink, .md-clipboard');
  };
  const name = element => element.tagName.toLowerCase() + ' ' + element.textContent.trim().slice(0, 40);
  const texts = [...document.querySelectorAll('body *')].filter(element => shown(element) && element.tagName != 'title' &&
    [...element.childNodes].some(node => node.nodeType == 3 && node.textContent.trim()));
  const faint = texts.map(element => {
    const style = getComputedStyle(element), under = behind(element);
    const a = light(over(rgb(element.closest('svg') ? style.fill : style.color), under)), b = light(under);
    return [(Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05), name(element)];
  }).filter(one => one[0] < LEAST);
  const focusable = [...document.querySelectorAll('a[href], summary, button, input, [tabindex="0"]')].filter(shown);
  const place = element => { const box = element.getBoundingClientRect(); return [box.top + scrollY, box.left]; };
  parent.postMessage(JSON.stringify({
    faint, texts: texts.length, width: document.documentElement.scrollWidth, window: innerWidth, height: document.documentElement.scrollHeight,
    background: rgb(getComputedStyle(document.body).backgroundColor).slice(0, 3),
    unnamed_drawings: [...document.querySelectorAll('svg')].filter(svg => shown(svg) && !svg.closest('[aria-hidden=true]') &&
      !(svg.getAttribute('aria-label') || svg.closest('[aria-label], [title], label, button, .legend, li')) && svg.getAttribute('role') != 'presentation').length,
    unnamed_pictures: [...document.querySelectorAll('img')].filter(img => !img.alt).map(img => img.src),
    empty_pictures: [...document.querySelectorAll('img')].filter(img => img.complete && img.naturalWidth == 0).map(img => img.src),
    headings: [...document.querySelectorAll('main h1, main h2, main h3, main h4, body > header h1')].filter(h => h.getClientRects().length > 0).map(h => Number(h.tagName[1])),
    drawings: [...document.querySelectorAll('main svg')].filter(shown).map(svg => { const box = svg.getBoundingClientRect(); return {
      label: svg.getAttribute('aria-label') || '', role: svg.getAttribute('role'), width: box.width,
      beyond: box.right - document.querySelector('main').getBoundingClientRect().right,
      text: Math.min(...[...svg.querySelectorAll('text')].map(text => text.getBoundingClientRect().height))}; }),
    tables: [...document.querySelectorAll('main table')].map(table => ({caption: table.caption ? table.caption.textContent : '',
      scoped: [...table.querySelectorAll('th')].every(th => th.scope)})),
    bare_tables: [...document.querySelectorAll('main table')].filter(table => !table.querySelector('th')).length,
    unreached: focusable.filter(element => { element.focus({preventScroll: true}); return document.activeElement !== element; }).map(name),
    out_of_order: [...document.querySelectorAll('[tabindex]')].filter(element => element.tabIndex > 0).map(name),
    unfocused: focusable.filter(element => { element.focus({preventScroll: true}); const style = getComputedStyle(element);
      return element.tagName == 'A' && style.outlineStyle == 'none' && style.boxShadow == 'none' && element.matches(':focus-visible') && style.textDecorationLine == 'none' && style.backgroundColor == 'rgba(0, 0, 0, 0)'; }).length,
    focusable: focusable.length, language: document.documentElement.lang, title: document.title,
    viewport: !!document.querySelector('meta[name=viewport]'), load: performance.getEntriesByType('navigation')[0].loadEventStart,
    broken: [...document.querySelectorAll('a[href^="#"]')].filter(a => a.hash.length > 1 && !document.getElementById(decodeURIComponent(a.hash.slice(1)))).map(name)}), '*');
}, 200));
</script></body>""".replace("LEAST", str(LEAST_CONTRAST))
FRAME = """<!DOCTYPE html><body style="margin:0"><iframe title="page" src="%s" style="border:0;width:%dpx;height:900px"></iframe>
<pre id="answer"></pre><script>
addEventListener('message', event => { document.getElementById('answer').textContent = event.data; });
</script></body>"""


def browser() -> str:
    path = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if path is None:
        pytest.skip("no chromium: scripts/install-deps installs it")
    return path


def run_browser(page: pathlib.Path, profile: pathlib.Path, *flags: str) -> subprocess.CompletedProcess:
    return subprocess.run(
        [browser(), "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--enable-logging=stderr", "--log-level=0",
         "--virtual-time-budget=8000", "--allow-file-access-from-files", f"--user-data-dir={profile}", *flags, page.as_uri()],
        text=True, errors="replace", stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=900)


def ask(page: pathlib.Path, folder: pathlib.Path, width: int, script: str, *flags: str) -> dict:
    """What a script that ends the page's body tells the frame around it. The page is copied beside itself with the script in it."""
    text = page.read_text()
    assert text.count("</body>") == 1, page
    probe = page.with_name(f".probe-{os.getpid()}-{page.name}")
    probe.write_text(text.replace("</body>", script))
    try:
        frame = folder / "frame.html"
        frame.write_text(FRAME % (probe.as_uri(), width))
        done = run_browser(frame, folder / "profile", "--dump-dom", "--window-size=1400,1000", *flags)
    finally:
        probe.unlink()
    match = re.search(r'<pre id="answer">(.*?)</pre>', done.stdout, re.DOTALL)
    assert match and match.group(1), f"{page} did not answer\n{done.stderr[-2000:]}"
    return json.loads(html.unescape(match.group(1)))


def look(page: pathlib.Path, folder: pathlib.Path, width: int, dark: bool = False) -> dict:
    """What the browser made of the page in a window of this width."""
    return ask(page, folder, width, PROBE, DARK if dark else LIGHT)


def complaints(seen: dict, dark: bool = False) -> list[str]:
    """What is wrong with a page that look() has seen; empty for a page that everybody can read."""
    found = []
    if seen["faint"]:
        found.append(f"text of too little contrast: {seen['faint'][:8]}")
    if seen["texts"] < 10:
        found.append(f"only {seen['texts']} texts")
    if seen["width"] > seen["window"]:
        found.append(f"{seen['width']} pixels wide in a window of {seen['window']}")
    if (sum(seen["background"]) < 200) != dark:
        found.append(f"the background is {seen['background']}")
    for field in ("unnamed_pictures", "empty_pictures", "unreached", "out_of_order", "broken"):
        if seen[field]:
            found.append(f"{field.replace('_', ' ')}: {seen[field][:5]}")
    for field in ("unnamed_drawings", "bare_tables", "unfocused"):
        if seen[field]:
            found.append(f"{seen[field]} {field.replace('_', ' ')}")
    headings = seen["headings"]
    if not headings or headings[0] != 1 or headings.count(1) != 1 or any(b > a + 1 for a, b in zip(headings, headings[1:])):
        found.append(f"headings {headings[:20]}")
    if seen["language"] != "en" or not seen["title"] or not seen["viewport"]:
        found.append("no language, title or viewport")
    return found
