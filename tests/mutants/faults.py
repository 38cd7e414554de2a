"""Single-line faults in C++ sources: where one can be planted and what the line becomes.

A fault is what a tired programmer types: the wrong side of a boundary, a sign, a condition the wrong way round, a constant
one off or ten times too large, a statement that was lost, a check that never runs, an empty answer. The sources are
formatted by clang-format, which is what makes regular expressions enough: a binary operator has a space on both sides and a
template bracket, a reference or a pointer has none.
"""
import dataclasses
import pathlib
import re

KEYWORDS = {"return", "if", "for", "while", "switch", "throw", "else", "case", "do", "template", "using", "static_assert",
            "delete", "new", "catch", "default", "public", "private", "goto", "constexpr", "sizeof", "co_return", "namespace"}
SWAPS = [("boundary", "<", "<="), ("boundary", "<=", "<"), ("boundary", ">", ">="), ("boundary", ">=", ">"),
         ("equality", "==", "!="), ("equality", "!=", "=="), ("sign", "+", "-"), ("sign", "-", "+"),
         ("sign", "+=", "-="), ("sign", "-=", "+="), ("factor", "*", "/"), ("factor", "/", "*"),
         ("factor", "*=", "/="), ("factor", "/=", "*="), ("logic", "&&", "||"), ("logic", "||", "&&")]
WORDS = [("truth", "true", "false"), ("truth", "false", "true"), ("extreme", "std::max", "std::min"),
         ("extreme", "std::min", "std::max"), ("jump", "continue", "break"), ("rounding", "std::ceil", "std::floor"),
         ("rounding", "std::floor", "std::ceil")]
NUMBER = re.compile(r"(?<![\w.'])(\d+(?:\.\d*)?(?:[eE][+-]?\d+)?)(?![\w.'])")
CALL = re.compile(r"\s*(?:[\w\]\)]+(?:\(\))?(?:\.|->|::)|::)*(\w+)\(")
ASSIGNMENT = re.compile(r"\s*\*?[\w.\[\]]+(?:->[\w.\[\]]+)* (?:=|\+=|-=|\*=|/=|\|=|&=) ")
STEP = re.compile(r"\s*(?:\+\+|--)[\w.\[\]>-]+;")
SILENT = re.compile(r"\b(reserve|shrink_to_fit)\(")  # capacity alone: nothing that a caller could see


@dataclasses.dataclass(frozen=True)
class Fault:
    """`file` is relative to the checkout; lines `line` to `line + len(before) - 1` become `after`."""
    file: str
    line: int
    operator: str
    before: tuple[str, ...]
    after: tuple[str, ...]

    @property
    def module(self) -> str:
        return pathlib.PurePath(self.file).parts[1]

    @property
    def was(self) -> str:
        return " ".join(line.strip() for line in self.before)

    @property
    def becomes(self) -> str:
        return " ".join(line.strip() for line in self.after).strip()

    def applied_to(self, text: str) -> str:
        lines = text.split("\n")
        assert tuple(lines[self.line - 1:self.line - 1 + len(self.before)]) == self.before, f"{self.file} has changed"
        lines[self.line - 1:self.line - 1 + len(self.before)] = self.after
        return "\n".join(lines)


def masked(text: str) -> str:
    """The text with comments, strings and characters blanked: same length, same lines, nothing but code."""
    token = re.compile(r'//[^\n]*|/\*.*?\*/|R"(\w*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"|(?<!\w)\'(?:\\.|[^\'\\\n])+\'', re.S)
    return token.sub(lambda match: re.sub(r"[^\n]", " " if match[0][0] == "/" else "_", match[0]), text)


def closing(code: str, opening: int) -> int:
    """Position of the bracket that closes the one at `opening`, or -1."""
    depth = 0
    for position in range(opening, len(code)):
        depth += {"(": 1, "[": 1, "{": 1, ")": -1, "]": -1, "}": -1}.get(code[position], 0)
        if depth == 0:
            return position
    return -1


class Lines:
    """One source file, with and without what is not code."""

    def __init__(self, file: str, text: str):
        self.file = file
        self.text = text.split("\n")
        self.code = masked(text).split("\n")

    def fault(self, line: int, operator: str, after: list[str]) -> Fault:
        before = tuple(self.text[line:line + len(after)])
        return Fault(self.file, line + 1, operator, before, tuple(after))

    def replaced(self, line: int, operator: str, begin: int, end: int, text: str) -> Fault:
        whole = self.text[line]
        return self.fault(line, operator, [whole[:begin] + text + whole[end:]])

    def statement(self, line: int) -> list[int]:
        """The lines of the statement that starts on this one and ends with a semicolon; empty when there is none."""
        depth = 0
        for last in range(line, min(line + 12, len(self.code))):
            for position, character in enumerate(self.code[last]):
                depth += {"(": 1, "[": 1, "{": 1, ")": -1, "]": -1, "}": -1}.get(character, 0)
                if depth < 0:
                    return []
                if depth == 0 and character == ";":
                    rest = self.code[last][position + 1:].strip()
                    return [] if rest else list(range(line, last + 1))
        return []

    def swaps(self, line: int):
        code = self.code[line]
        for operator, old, new in SWAPS:
            for match in re.finditer(rf"(?<= ){re.escape(old)}(?= )", code):
                if '"' in self.text[line][match.start() - 2] + self.text[line][match.end() + 1:match.end() + 2]:
                    continue  # text is joined, not added
                yield self.replaced(line, operator, match.start(), match.end(), new)
        for operator, old, new in WORDS:
            for match in re.finditer(rf"(?<![\w:]){re.escape(old)}\b", code):
                yield self.replaced(line, operator, match.start(), match.end(), new)
        for match in re.finditer(r"\bstd::(abs|fabs)\(", code):
            yield self.replaced(line, "sign", match.start(), match.end() - 1, "")

    def constants(self, line: int):
        code = self.code[line]
        for match in NUMBER.finditer(code):
            around = code[max(0, match.start() - 1):match.start()] + code[match.end():match.end() + 1]
            if "<" in around or ">" in around:  # a template argument
                continue
            text = match[1]
            if re.fullmatch(r"0[67]00", text):
                yield self.replaced(line, "permissions", match.start(), match.end(), "0644" if text == "0600" else "0755")
                continue
            if re.fullmatch(r"\d+", text):
                wrong = [str(int(text) + 1)] + ([str(int(text) - 1)] if int(text) > 0 else [])
                wrong += [str(int(text) * 10)] if int(text) > 3 else []
            elif float(text) != 0:
                wrong = [repr(float(text) * 10)]
            else:
                continue
            for value in wrong:
                yield self.replaced(line, "constant", match.start(), match.end(), value)

    def conditions(self, line: int):
        code = self.code[line]
        for match in re.finditer(r"\b(if|while) (constexpr )?\(", code):
            opening = match.end() - 1
            end = closing(code, opening)
            if match[2] or end < 0:
                continue
            begin = code.rfind("; ", opening, end)
            begin = opening + 1 if begin < 0 else begin + 2
            condition = self.text[line][begin:end]
            if re.match(r"(const )?(auto|[\w:]+\**) ?[*&]? ?\w+ = ", condition):  # declares a name
                continue
            yield self.replaced(line, "negation", begin, end, f"!({condition})")
            if match[1] == "if":
                yield self.replaced(line, "lost check", begin, end, f"false && ({condition})")

    def lost(self, line: int):
        code = self.code[line]
        guard = re.match(r"\s*if \(", code) and not code.rstrip().endswith("{")
        call = CALL.match(code)
        plain = (call and call[1] not in KEYWORDS) or ASSIGNMENT.match(code) or STEP.match(code)
        if not (guard or plain or re.match(r"\s*throw\b", code)) or "= default" in code:
            return
        lines = self.statement(line)
        follower = self.code[lines[-1] + 1].strip() if lines and lines[-1] + 1 < len(self.code) else ""
        previous = self.code[line - 1].rstrip() if line else ""
        whole = previous == "" or previous.endswith((";", "{", "}", ":")) or previous.strip().startswith("#")
        if lines and whole and not follower.startswith("else"):
            yield self.fault(line, "lost check" if guard else "lost statement", [""] * len(lines))

    def returns(self, line: int):
        match = re.search(r"\breturn ([^;]+);", self.code[line])
        if not match or closing(f"({match[1]})", 0) != len(match[1]) + 1 or match[1].strip() in {"{}", "true", "false", "nullptr", "std::nullopt", "0", "result", "*this"}:
            return
        yield self.replaced(line, "answer", match.start(1), match.end(1), "{}")
        if re.search(r" (<|<=|>|>=|==|!=|&&|\|\|) ", match[1]) and " ? " not in match[1]:
            yield self.replaced(line, "negation", match.start(1), match.end(1), f"!({self.text[line][match.start(1):match.end(1)]})")

    def faults(self):
        for line, code in enumerate(self.code):
            start = code.strip()
            if start.startswith("#") or SILENT.search(code) or re.match(r"(template|using|static_assert|namespace|extern)\b", start):
                continue
            found = {}
            for source in (self.swaps, self.constants, self.conditions, self.lost, self.returns):
                for fault in source(line):
                    if fault.before != fault.after:
                        found.setdefault(fault.after, fault)
            if found:
                yield list(found.values())


def faults_of(root: pathlib.Path, file: str) -> list[list[Fault]]:
    """Every fault of a file, grouped by the line on which it starts."""
    return list(Lines(file, (root / file).read_text()).faults())


def modules(root: pathlib.Path) -> list[str]:
    named = [line for line in (root / "cmake" / "modules.txt").read_text().split("\n") if re.match(r"[a-z]", line)]
    return [*named, "cli"]


def sources(root: pathlib.Path, module: str) -> list[str]:
    """The .cpp files: a header holds a contract and what is small enough to be read at a glance, and a fault in it rebuilds
    every file that includes it."""
    return sorted(str(path.relative_to(root)) for path in (root / "src" / module).glob("*.cpp"))


def shares(sizes: dict[str, int], count: int, least: int) -> dict[str, int]:
    """`count` faults over the modules: `least` for each (as far as they reach), the rest by size, largest remainder first."""
    least = min(least, count // max(1, len(sizes)))
    rest = count - least * len(sizes)
    total = sum(sizes.values()) or 1
    exact = {name: rest * size / total for name, size in sizes.items()}
    result = {name: least + int(part) for name, part in exact.items()}
    by_remainder = sorted(sizes, key=lambda name: (int(exact[name]) - exact[name], name))
    for name in by_remainder[:count - sum(result.values())]:
        result[name] += 1
    return result
