"""The parts of Swift code that several scripts need: code without comments and literals, and the declarations of a file.

Python 3.9 or later, no packages.
"""

import functools
import re

# Text that needs no decision: of code, and within a string literal.
PLAIN_CODE, PLAIN_TEXT = re.compile(r'[^"#/()]+'), re.compile(r'[^"\\\n]+')


@functools.cache
def code_only(source, literal=" "):
    """The source with comments and the text of string literals blanked, line for line; interpolated code stays. `literal` replaces a literal."""
    out = []
    index = 0
    # Open strings around the current code: (number signs, whether multi-line, open parentheses).
    interpolations = []
    string = None  # (number signs, whether multi-line), within a literal

    def blank(count, character=literal):
        nonlocal index
        out.append(re.sub(r"[^\n]", character, source[index:index + count]))
        index += count

    while index < len(source):
        if string is not None:
            signs, is_multiline = string
            escape = "\\" + "#" * signs
            close = ('"""' if is_multiline else '"') + "#" * signs
            if plain := PLAIN_TEXT.match(source, index):
                blank(len(plain[0]))
            elif source.startswith(escape + "(", index):
                blank(len(escape) + 1)
                interpolations.append([string, 1])
                string = None
            elif source.startswith(escape, index):
                blank(len(escape) + 1)
            elif source.startswith(close, index):
                blank(len(close))
                string = None
            elif source[index] == "\n" and not is_multiline:
                # Not a literal, for example a quotation mark in a regular expression. The next line is code again.
                string = None
                interpolations.clear()
            else:
                blank(1)
            continue
        if plain := PLAIN_CODE.match(source, index):
            out.append(plain[0])
            index = plain.end()
            continue
        rest = source[index:index + 2]
        if rest == "//":
            end = source.find("\n", index)
            blank((len(source) if end < 0 else end) - index, " ")
        elif rest == "/*":
            depth = 0
            end = index
            while end < len(source):
                if source.startswith("/*", end):
                    depth, end = depth + 1, end + 2
                elif source.startswith("*/", end):
                    depth, end = depth - 1, end + 2
                    if depth == 0:
                        break
                else:
                    end += 1
            blank(end - index, " ")
        elif opening := re.compile(r'(#*)("""|")').match(source, index):
            string = (len(opening[1]), opening[2] == '"""')
            blank(len(opening[0]))
        else:
            char = source[index]
            if interpolations:
                if char == "(":
                    interpolations[-1][1] += 1
                elif char == ")":
                    interpolations[-1][1] -= 1
                    if interpolations[-1][1] == 0:
                        string = interpolations.pop()[0]
                        blank(1)
                        continue
            out.append(char)
            index += 1
    return "".join(out)


# Comments, attributes and modifiers do not decide what a declaration is.
ATTRIBUTES = r"(?:\s*@[\w.]+(?:\([^()]*(?:\([^()]*\)[^()]*)*\))?)*"
HEADER = re.compile(
    ATTRIBUTES + r"\s*(?:(?:public|package|internal|fileprivate|private|open|final|indirect|nonisolated|distributed)(?:\(\w+\))?\s+)*"
    r"(?:struct|class(?!\s+(?:func|let|var|subscript)\b)|enum|protocol|actor|extension)\s")
CASES = re.compile(ATTRIBUTES + r"\s*(?:indirect\s+)?case\s")
# A line at the indentation of its declaration that does not begin another declaration.
CONTINUED = re.compile(r"[})\]{.:?&|+]|(?:where|else|in|throws|async)\b|->")


@functools.cache
def declarations(source):
    """The first and the last line, from 0, of each declaration that is not a type: a function, an initializer, a property, a group of enum cases.

    The declarations of types are the members of the file or of a type. A declaration in a function is a part of the function. The cases of an enum
    without another declaration between them are one group. Swift code is formatted, so that the indentation shows which type has a member.
    """
    found = []
    levels = [0]  # the indentations of the members of the file, and of the types around the line
    start, last, parts = None, None, []  # the declaration in progress: its lines, and its code
    is_group = False  # whether the last found declaration is a group of cases that may continue

    def end():
        nonlocal start, parts, is_group
        if start is None:
            return
        text = "\n".join(parts)
        if is_group and CASES.match(text):
            found[-1] = (found[-1][0], last)
        else:
            found.append((start, last))
        is_group = bool(CASES.match(text))
        start, parts = None, []

    for number, line in enumerate(code_only(source, '"').split("\n")):
        text = line.strip()
        if not text or text.startswith("#"):
            continue
        if line.startswith('"'):  # a line of a literal of several lines, which has an indentation of its own
            last = number
            continue
        indentation = len(line) - len(line.lstrip(" "))
        if start is None or (indentation <= levels[-1] and not CONTINUED.match(text) and not re.fullmatch(ATTRIBUTES, "\n".join(parts))):
            end()
            while len(levels) > 1 and indentation < levels[-1]:
                levels.pop()
                is_group = False
            # The brace that closes a type belongs to no declaration.
            if CONTINUED.match(text):
                continue
            start = number
        elif indentation < levels[-1]:
            # The brace that closes a type.
            end()
            while len(levels) > 1 and indentation < levels[-1]:
                levels.pop()
                is_group = False
            continue
        last = number
        parts.append(line.rstrip())
        code = "\n".join(parts)
        if HEADER.match(code) and code.count("{") > code.count("}"):
            levels.append(levels[-1] + 4)
            start, parts, is_group = None, [], False
        elif re.match(r"(?:(?:@\w+|public|package|internal|private)\s+)*import\b", text) and len(parts) == 1:
            start, parts = None, []
    end()
    return found


def enclosing(source, text):
    """The lines of the declarations in which a text stands, or the whole file if a part of the text is outside of all declarations: a header of a type.

    None if the text does not occur exactly once.
    """
    if source.count(text) != 1 or not text.strip():
        return None
    lines = source.split("\n")
    begin = source.index(text) + len(text) - len(text.lstrip())
    first = source.count("\n", 0, begin)
    last = first + text.strip().count("\n")
    around = [(start, end) for start, end in declarations(source) if start <= last and end >= first]
    inside = {number for start, end in around for number in range(start, end + 1)}
    code = code_only(source, '"').split("\n")
    if not around or any(number not in inside and code[number].strip() not in ("", "}") for number in range(first, last + 1)):
        return source
    return "\n".join(line for start, end in around for line in lines[start:end + 1])


TYPE = re.compile(
    r"( *)(?:@\w+(?:\(.*\))? +)*(?:(?:final|private|fileprivate|package|public) +)*(?:struct|class|actor|enum|extension) +([\w.]+)")
TEST = re.compile(r"( *)(?:@\w+ +)*@Test\b")
FUNCTION = re.compile(r"\bfunc (\w+)")


def names_of_tests(path, text):
    """The names of the tests of a file: `Module.Suite/Inner/function()/File.swift`. Swift Testing adds the labels of arguments."""
    module, types, test = path.split("/")[1], [], None
    # Swift code is formatted, so that the indentation shows which type has a function.
    for line in text.splitlines():
        if found := TYPE.match(line):
            types = [(depth, name) for depth, name in types if depth < len(found[1])] + [(len(found[1]), found[2].replace(".", "/"))]
        if found := TEST.match(line):
            test = len(found[1])
        if test is not None and (found := FUNCTION.search(line)):
            yield f"{module}." + "/".join([name for depth, name in types if depth < test] + [found[1] + "()", path.split("/")[-1]])
            test = None
