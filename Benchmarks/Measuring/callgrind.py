"""The instructions of a program by valgrind's callgrind, without the kernel, so that other work on the machine has no effect."""

import os
import re
import subprocess
import tempfile
from collections import Counter
from pathlib import Path

MALLOCS = {"malloc", "calloc", "realloc", "posix_memalign", "aligned_alloc"}


class Profile:
    """The self cost of each function, its cost with its callees, and the number of calls along each edge."""

    def __init__(self, path):
        self.cost, self.whole, self.calls = Counter(), Counter(), Counter()
        names = {}

        def name(text):
            match = re.match(r"\((\d+)\)(?: (.*))?$", text)
            if not match:
                return text
            if match.group(2) is not None:
                names[match.group(1)] = match.group(2)
            return names[match.group(1)]

        function = callee = None
        is_call = False
        with open(path, errors="replace") as lines:
            for line in lines:
                line = line.rstrip("\n")
                if line.startswith("fn="):
                    function = name(line[3:])
                elif line.startswith("cfn="):
                    callee = name(line[4:])
                elif line.startswith("calls="):
                    self.calls[function, callee] += int(line[6:].split()[0])
                    is_call = True
                elif line and line[0] in "0123456789+-*":
                    # The line after `calls=` is the cost of the call, and does not belong to the self cost of the caller.
                    cost = int(line.split()[1])
                    if not is_call:
                        self.cost[function] += cost
                    if not is_call or callee != function:
                        self.whole[function] += cost
                    is_call = False

    def __sub__(self, other):
        result = Profile(os.devnull)
        for name in ("cost", "whole", "calls"):
            left = Counter(getattr(self, name))
            left.subtract(getattr(other, name))
            setattr(result, name, left)
        return result


def base(name):
    """The name without callgrind's suffix for recursions."""
    return re.sub(r"'\d+$", "", name or "?")


def allocations(counted):
    """The number of allocations. A function of CAllocations can wrap a function of the C library."""
    return sum(number for (caller, callee), number in counted.calls.items() if base(callee) in MALLOCS and base(caller) not in MALLOCS)


class Failed(Exception):
    """An error: the program does not run under callgrind. The text is the output of the program."""


def profile(command, path, environment):
    environment = dict(environment, SWIFT_BACKTRACE="enable=no")
    result = subprocess.run(
        ["valgrind", "--tool=callgrind", f"--callgrind-out-file={path}"] + command, capture_output=True, text=True, timeout=1200,
        env=environment)
    if result.returncode != 0:
        raise Failed(f"callgrind: {command} failed:\n{result.stderr[-2000:]}")
    return Profile(path)


def difference(command, few, many, environment):
    """The difference of the program's instructions with the arguments `many` and `few`."""
    with tempfile.TemporaryDirectory() as folder:
        # Without the debug information, because valgrind may not know its version.
        stripped = str(Path(folder) / "client")
        subprocess.run(["strip", "--strip-debug", "-o", stripped, command[0]], check=True)
        command = [stripped] + command[1:]
        less = profile(command + few, Path(folder) / "few", environment)
        return profile(command + many, Path(folder) / "many", environment) - less
