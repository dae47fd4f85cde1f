"""Files and headings that the front pages name are there."""

import glob
import os
import re
import unittest

SOURCE = os.path.abspath(os.path.join(os.path.dirname(__file__), "../../.."))
PAGES = ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "docs/glossary.md", "docs/demo.md",
         "docs/promises.md", "docs/techniques.md"]
# What the build makes, and what git keeps, are not part of the sources.
TOP = {name for name in os.listdir(SOURCE) if name not in ("build", ".git")}


def read(path):
    with open(os.path.join(SOURCE, path), encoding="utf-8") as text:
        return text.read()


def anchors(path):
    """As GitHub makes them of headings."""
    heads = re.findall(r"(?m)^#+ (.*)$", re.sub(r"(?ms)^```.*?^```$", "", read(path)))
    return {re.sub(r"[^\w\- ]", "", head.lower()).replace(" ", "-") for head in heads}


def links(text):
    return re.findall(r"\]\(([^)\s]+)\)", text)


def paths(text):
    """Words in backticks, or in a picture made of text, that begin with a folder of the sources."""
    words = {word for code in re.findall(r"`([^`\n]+)`", text) for word in code.split()}
    for fence in re.findall(r"(?ms)^```\n(.*?)^```$", text):
        words.update(re.findall(r"[\w.]+(?:/[\w.]+)+", fence))
    for word in sorted(words):
        word = re.sub(r":\d+$", "", word).rstrip(".,:;")
        if "/" in word and word.split("/")[0] in TOP and not re.search(r"[<>$*{]", word):
            yield word


def is_there(path):
    """A file, a folder, or a file named without its ending."""
    full = os.path.join(SOURCE, path.rstrip("/"))
    return os.path.exists(full) or bool(glob.glob(full + ".*"))


class Paths(unittest.TestCase):

    def test_links_lead_to_files_and_headings(self):
        seen = 0
        for page in PAGES:
            for link in links(read(page)):
                if re.match(r"[a-z]+:", link):
                    continue
                target, _, anchor = link.partition("#")
                at = os.path.normpath(os.path.join(os.path.dirname(page), target)) if target else page
                with self.subTest(page=page, link=link):
                    self.assertTrue(os.path.exists(os.path.join(SOURCE, at)), "no such file")
                    if anchor:
                        self.assertIn(anchor, anchors(at))
                seen += 1
        self.assertGreater(seen, 30)

    def test_paths_in_the_text_are_there(self):
        seen = 0
        for page in PAGES:
            for path in paths(read(page)):
                with self.subTest(page=page, path=path):
                    self.assertTrue(is_there(path), "no such file")
                seen += 1
        self.assertGreater(seen, 60)

    def test_every_term_of_the_glossary_has_its_place(self):
        rows = [line for line in read("docs/glossary.md").splitlines()
                if line.startswith("| ") and not line.startswith("| term")]
        self.assertGreater(len(rows), 25)
        terms = [row.split("|")[1].strip() for row in rows]
        self.assertEqual(terms, sorted(terms))
        for row in rows:
            self.assertRegex(row.split("|")[3], r"`[\w/.-]+`", row)

    def test_pictures_are_small(self):
        for link in links(read("README.md")):
            if link.startswith("docs/pictures/"):
                self.assertLess(os.path.getsize(os.path.join(SOURCE, link)), 300_000, link)


if __name__ == "__main__":
    unittest.main(verbosity=2)
