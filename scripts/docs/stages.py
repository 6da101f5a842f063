"""Extracts of the stages of a program, for pages that show one program at every level.

A page names its program once, and before each fenced block what stands in it: a stage and the lines from a first match of
one pattern to the next match of another.

    <!-- program: test/Pipeline/Inputs/layer.mlir -->
    <!-- stage tile: tile.space .. tile.yield -->
    ```mlir
    (written by scripts/update-docs)
    ```

The stage `source` is the program itself. Strides, which would fill the lines, are left out, and long lines are broken.
"""

import pathlib
import re
import subprocess
import tempfile
import textwrap

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
WIDTH = 118
PROGRAM = re.compile(r"<!-- program: (\S+) -->")
EXTRACT = re.compile(r"(<!-- stage (\w+): (.+?) \.\. (.+?) -->\n```mlir\n)(.*?)(```\n)", re.S)


def dump_stages(program, compile_tool):
    """The program at each stage, by the stage's name."""
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([compile_tool, program, "--cpu=x86-64-v3", f"--dump-stages={folder}", "-o", f"{folder}/bundle"],
                       check=True, stdout=subprocess.PIPE)
        stages = {path.stem.split("-")[1]: path.read_text() for path in pathlib.Path(folder).glob("*.mlir")}
    return {"source": pathlib.Path(program).read_text(), **stages}


def extract(text, first, last):
    lines = text.splitlines()
    start = next(i for i, line in enumerate(lines) if re.search(first, line))
    end = next(i for i, line in enumerate(lines) if i >= start and re.search(last, line))
    chosen = [re.sub(r", strided<[^>]*>", "", line) for line in lines[start:end + 1]]
    indent = min(len(line) - len(line.lstrip()) for line in chosen if line.strip())
    return "".join(wrap(line[indent:].rstrip()) + "\n" for line in chosen)


def wrap(line):
    if len(line) <= WIDTH:
        return line
    indent = len(line) - len(line.lstrip())
    return textwrap.fill(line.strip(), WIDTH, initial_indent=" " * indent, subsequent_indent=" " * (indent + 4),
                         break_long_words=False, break_on_hyphens=False)


def update(page, compile_tool):
    """The page's text with every extract as it is today."""
    text = page.read_text()
    stages = dump_stages(ROOT / PROGRAM.search(text).group(1), compile_tool)

    def replace(match):
        head, stage, first, last, _, tail = match.groups()
        return head + extract(stages[stage], first, last) + tail

    return EXTRACT.sub(replace, text)


def pages():
    return [page for page in sorted((ROOT / "docs").rglob("*.md")) if PROGRAM.search(page.read_text())]
