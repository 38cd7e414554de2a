"""What a program can see of docs/style.md: banned turns, and sentences that are too long or trail off."""
import re
from typing import Iterator

from markdown import without_fences

LONGEST = 45  # words of a sentence
MEAN, FEW = 20, 10  # words of a sentence in the mean over a page, and how many sentences have a mean
BANNED = {
    r"\bwhich is nobody|\bof nobody\b|\bnobody here|\bhides? nobody|\bwhom nobody": "say what is missing, or how many there are",
    r"(?<!\bthere )\b(is|are) no\b(?! (longer|more|better|worse|larger|smaller)\b)": "write 'is not' or 'are not'",
    r"\b(is|are) said\b|\b(is|are) told to (nobody|everybody)\b": "write 'is reported', or name the one who says it",
    r"\b(refused|rejected|answered|said|told) in words\b": "write 'with an explanation'",
    r"\bspeaks? louder\b|\bdeaf\b|\b(come|comes|came) to rest\b": "a picture: name what happens",
    r"\bwithout a word\b": "say what is reported",
    r"\blearnt\b": "write 'learned', and 'held-out patients' for those that no model has seen",
    r"\bmended\b": "write 'fixed'",
    r"\bfor ever\b": "write 'forever', or give the limit",
    r"\bas (many|often|long|much) as (you|they|it) likes?\b": "say that there is no limit",
    r"\w\.\.\.(?!\w)|…": "finish the sentence",
}


def running_text(text: str) -> str:
    """The document without code, tables, headings, pictures and link targets."""
    text = without_fences(text)
    text = re.sub(r"^\s*\|.*$|^#.*$|^    .*$", "", text, flags=re.MULTILINE)
    text = re.sub(r"!\[[^\]]*\]\([^)]*\)", "", text)
    text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", text)
    return re.sub(r"``.*?``|`[^`]*`", "`code`", text, flags=re.DOTALL)


def sentences(text: str) -> Iterator[str]:
    """Items of a list and what follows a colon count as sentences."""
    for paragraph in re.split(r"\n\s*\n|^\s*(?:[-*>]|\d+\.) ", running_text(text), flags=re.MULTILINE):
        joined = " ".join(paragraph.split())
        yield from filter(None, re.split(r"(?<=[.!?:])[*)\"']*\s+(?=[A-Z0-9`*(\"'])", joined))


def prose_problems(text: str) -> list[str]:
    found = []
    lengths = [len(sentence.split()) for sentence in sentences(text)]
    if len(lengths) >= FEW and sum(lengths) > MEAN * len(lengths):
        found.append(f"sentences of {sum(lengths) / len(lengths):.1f} words in the mean; expected at most {MEAN}")
    for sentence, words in zip(sentences(text), lengths):
        if words > LONGEST:
            found.append(f"a sentence of {words} words; expected at most {LONGEST}: {sentence[:60]}")
        for turn, remedy in BANNED.items():
            if match := re.search(turn, sentence, re.IGNORECASE):
                found.append(f"'{match.group()}' in '{sentence[:60]}': {remedy}")
    return found
