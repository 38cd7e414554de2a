#!/usr/bin/env python3
"""batches.py FILE...: puts the source files of a target into batches that compile as one unit; a line of paths joined by "|"
for each batch of at least two files.

Files share a batch only where the private names of one (those of an unnamed namespace) are no words of the other: every file
means what it means alone, whatever it calls its helpers. A file with a private type that is called as one of a header is
compiled alone: a header that is read after it in the same batch would mean the wrong one, and its classes have another
layout there than everywhere else.
"""
import functools
import pathlib
import re
import sys

SOURCES = pathlib.Path(__file__).resolve().parent.parent / "src"
LEAF = "cli"  # whose headers no other module reads
MOST = 16  # files in a batch: an edit compiles its neighbours, too
MOST_LINES = 6000
NOT_CODE = re.compile(r'//[^\n]*|/\*.*?\*/|R"(\w*)\(.*?\)\1"|"(?:[^"\\\n]|\\.)*"|\'(?:[^\'\\\n]|\\.)+\'', re.DOTALL)
# No member and nothing of a named scope: those cannot be taken for another.
WORD = re.compile(r"(?<![\w.:])(?<!->)[A-Za-z_]\w*")
DEFINED = re.compile(r"[\w:<>,&*\s\[\]().]*?[\s&*>](\w+)\s*[({=;\[]")
TYPE = re.compile(r"(?:struct|class|enum class|enum|union|concept)\s+(\w+)\b|using\s+(\w+)\s*=")
DECORATION = re.compile(r"__attribute__\(\(.*?\)\)\s*|\[\[.*?\]\]\s*|alignas\(.*?\)\s*")
# Names of others, the same in every file that says so.
USED = re.compile(r"using Json = nlohmann::json;|namespace fs = std::filesystem;|using [\w:\s]+;")


@functools.cache
def header_types(leaf: bool) -> frozenset[str]:
    """Types that headers declare outside of any class; those of the leaf too where it is asked for."""
    found: set[str] = set()
    for path in SOURCES.rglob("*.hpp"):
        if leaf or path.relative_to(SOURCES).parts[0] != LEAF:
            code = NOT_CODE.sub(" ", path.read_text())
            found.update(re.findall(r"^(?:struct|class|enum class|enum|union|concept|using)\s+(\w+)", code, re.MULTILINE))
    return frozenset(found)


class File:
    def __init__(self, path: str) -> None:
        self.path = path
        text = pathlib.Path(path).read_text()
        self.lines = text.count("\n")
        code = NOT_CODE.sub(" ", text)
        self.macros = set(re.findall(r"^#\s*define\s+(\w+)", code, re.MULTILINE))
        self.words = set(WORD.findall(code))
        self.private = self.private_names(code)
        self.alone = bool(self.private & header_types(f"/{LEAF}/" in path))

    @staticmethod
    def private_names(code: str) -> set[str]:
        names: set[str] = set()
        depth = 0  # of braces inside an unnamed namespace
        for line in code.splitlines():
            if depth == 0:
                if re.match(r"(inline )?namespace \{", line):
                    depth = 1 + line.count("{") - 1 - line.count("}")
                elif line.startswith("static ") and (found := DEFINED.match(line.removeprefix("static"))):
                    names.add(found[1])
                continue
            if depth == 1 and line and line[0] not in " }#)" and not USED.match(line):
                line_of_code = DECORATION.sub("", line)
                found = TYPE.match(line_of_code) or DEFINED.match(" " + line_of_code)
                name = found and (found[1] or found[found.lastindex])
                if name and not name.isupper():  # TEST and its kind define names of their own
                    names.add(name)
            depth += line.count("{") - line.count("}")
        return names

    def meets(self, other: "File") -> bool:
        """Whether one could take a name of the other for its own."""
        return bool(self.private & other.words or other.private & self.words or self.macros & other.words or other.macros & self.words)


def batches(files: list[File]) -> list[list[File]]:
    """First fit: each file into the first batch where it meets nobody."""
    made: list[list[File]] = []
    for file in files:
        for batch in made:
            if file.alone or batch[0].alone:
                continue
            if len(batch) < MOST and sum(one.lines for one in batch) + file.lines <= MOST_LINES and not any(map(file.meets, batch)):
                batch.append(file)
                break
        else:
            made.append([file])
    return made


def main() -> None:
    for batch in batches([File(path) for path in sorted(sys.argv[1:])]):
        if len(batch) > 1:
            print("|".join(file.path for file in batch))


if __name__ == "__main__":
    main()
