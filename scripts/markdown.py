"""What the document checks share: fenced blocks, inline code and links of Markdown files, and the Makefile's targets."""
import pathlib
import re
from typing import Iterator

ROOT = pathlib.Path(__file__).resolve().parent.parent


def make_targets() -> set[str]:
    text = (ROOT / "Makefile").read_text()
    return set(re.findall(r"^([a-z][a-z-]*):", text, re.MULTILINE))


def fenced_blocks(text: str, language: str) -> Iterator[str]:
    for match in re.finditer(rf"^```{language}[ \t]*\n(.*?)^```", text, re.MULTILINE | re.DOTALL):
        yield match.group(1)


def without_fences(text: str) -> str:
    return re.sub(r"^```.*?^```", "", text, flags=re.MULTILINE | re.DOTALL)


def links(text: str) -> Iterator[str]:
    """Targets of [text](target) and ![text](target)."""
    for match in re.finditer(r"\]\(([^)\s]+)[^)]*\)", without_fences(text)):
        yield match.group(1)


def inline_code(text: str) -> Iterator[str]:
    for match in re.finditer(r"`([^`\n]+)`", without_fences(text)):
        yield match.group(1)
