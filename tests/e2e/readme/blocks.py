"""The fenced blocks of a Markdown page, with what the line that opens each says about it."""

import re


class Block:
    """`language` and `what` are the first and the second word after the fence's backticks."""

    def __init__(self, line, language, what, text):
        self.line, self.language, self.what, self.text = line, language, what, text

    @property
    def place(self):
        return "README.md:%d" % self.line

    def commands(self):
        """Its lines without comments."""
        return [command for command in (re.sub(r"(^|\s+)#.*", "", line)
                                        for line in self.text.splitlines()) if command]


def blocks_of(page):
    out, opened = [], None
    for number, line in enumerate(page.splitlines(), 1):
        if not line.startswith("```"):
            if opened:
                opened.text += line + "\n"
        elif opened:
            out.append(opened)
            opened = None
        else:
            words = line[3:].split() + ["", ""]
            opened = Block(number, words[0], words[1], "")
    if opened:
        raise ValueError("the block of line %d is never closed" % opened.line)
    return out
