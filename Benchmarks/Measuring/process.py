"""Runs a program to its end, and returns its peak memory."""

import re
import subprocess
import tempfile
import threading
import time
from pathlib import Path
from typing import NamedTuple, Optional


class Ended(NamedTuple):
    code: int
    output: str
    errors: str
    wall_ns: int
    # The peak of resident memory; None on a system without /proc. `ru_maxrss` is not usable, because a new process starts with its parent's value.
    peak_bytes: Optional[int]


def run(command, timeout, environment=None):
    """Throws OSError, and subprocess.TimeoutExpired after ending the program."""
    with tempfile.TemporaryFile("w+") as output, tempfile.TemporaryFile("w+") as errors:
        start = time.perf_counter_ns()
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=output, stderr=errors, env=environment)
        peak = []
        watcher = threading.Thread(target=watch, args=(process, peak))
        watcher.start()
        try:
            process.wait(timeout=timeout) if timeout else process.wait()
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            raise
        finally:
            end = time.perf_counter_ns()
            watcher.join()
        for file in (output, errors):
            file.seek(0)
        return Ended(process.returncode, output.read(), errors.read(), end - start, peak[0] if peak else None)


def watch(process, peak):
    """Reads the high-water mark of the program's resident memory until the program has ended."""
    status = Path(f"/proc/{process.pid}/status")
    while process.returncode is None:
        try:
            found = re.search(r"^VmHWM:\s*(\d+) kB", status.read_text(), re.MULTILINE)
        except OSError:
            return
        if not found:
            return  # the program has ended, and is not reaped yet
        peak[:] = [int(found.group(1)) * 1024]
        time.sleep(0.01)
