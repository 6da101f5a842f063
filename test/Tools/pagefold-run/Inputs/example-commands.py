"""Runs the pagefold-run commands in the comments of all examples."""
import pathlib
import subprocess
import sys

examples = pathlib.Path(sys.argv[1])
count = 0
paths = sorted(examples.glob("*.mlir"))
for path in paths:
    commands = [line[2:].strip() for line in path.read_text().splitlines() if line.startswith("//   pagefold-run ")]
    assert commands, f"{path} names no command: failed"
    for command in commands:
        run = subprocess.run(command, shell=True, cwd=examples.parent, text=True, stdout=subprocess.PIPE,
                             stderr=subprocess.STDOUT)
        if run.returncode or "check out0: ok" not in run.stdout:
            sys.exit(f"failed: {command}\n{run.stdout}")
        count += 1
print(f"{count} commands of {len(paths)} examples passed")
