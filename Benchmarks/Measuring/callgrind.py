"""What a program executes, by valgrind's callgrind: outside the kernel, so that other work on the machine does not matter."""

import os
import re
import subprocess
import tempfile
from collections import Counter
from pathlib import Path

MALLOCS = {"malloc", "calloc", "realloc", "posix_memalign", "aligned_alloc"}


class Profile:
    """Self cost of each function, what it costs with all that it calls, and the number of calls along each edge."""

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
                    # The line after `calls=` is the cost of the call, which is not the caller's own.
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
    """Without what callgrind adds to tell recursions apart."""
    return re.sub(r"'\d+$", "", name or "?")


def allocations(counted):
    """How often memory was asked for. One function may stand before another: CAllocations before the C library's."""
    return sum(number for (caller, callee), number in counted.calls.items() if base(callee) in MALLOCS and base(caller) not in MALLOCS)


class Failed(Exception):
    """The program does not run under callgrind, and what it prints then."""


def profile(command, path, environment):
    environment = dict(environment, SWIFT_BACKTRACE="enable=no")
    result = subprocess.run(
        ["valgrind", "--tool=callgrind", f"--callgrind-out-file={path}"] + command, capture_output=True, text=True, timeout=1200,
        env=environment)
    if result.returncode != 0:
        raise Failed(f"callgrind: {command} failed:\n{result.stderr[-2000:]}")
    return Profile(path)


def difference(command, few, many, environment):
    """What a program executes for `many` requests, less what it executes for `few`: both are its arguments."""
    with tempfile.TemporaryDirectory() as folder:
        # Without its debug information, whose version valgrind may not know.
        stripped = str(Path(folder) / "client")
        subprocess.run(["strip", "--strip-debug", "-o", stripped, command[0]], check=True)
        command = [stripped] + command[1:]
        less = profile(command + few, Path(folder) / "few", environment)
        return profile(command + many, Path(folder) / "many", environment) - less
