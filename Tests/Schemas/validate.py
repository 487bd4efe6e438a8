"""Holds HTTP archives against har-1.2.schema.json, and reads them with haralyzer where that is installed.

    python3 validate.py FILE…     one line per finding, exit 1; or a count, exit 0
"""

import json
import sys
from pathlib import Path

import jsonschema

SCHEMA = json.loads((Path(__file__).parent / "har-1.2.schema.json").read_text(encoding="utf-8"))


def findings(path):
    content = json.loads(Path(path).read_text(encoding="utf-8"))
    validator = jsonschema.Draft202012Validator(SCHEMA)
    for error in validator.iter_errors(content):
        yield f"{path}: {'.'.join(map(str, error.absolute_path))}: {error.message[:300]}"
    for index, entry in enumerate(content["log"]["entries"]):
        timings = entry["timings"]
        # What the format says of the sum, in which ssl is a part of connect.
        total = sum(timings[name] for name in ("blocked", "dns", "connect", "send", "wait", "receive") if timings.get(name, -1) >= 0)
        if abs(total - entry["time"]) > 0.01:
            yield f"{path}: entry {index}: the timings sum up to {total}, not {entry['time']}"
    try:
        from haralyzer import HarParser
    except ImportError:
        return
    parser = HarParser(content)
    entries = [entry for entry in parser.har_data["entries"]]
    if len(entries) != len(content["log"]["entries"]):
        yield f"{path}: haralyzer reads {len(entries)} entries"
    for entry in parser.pages[0].entries if parser.pages else []:
        if not entry.request.method or entry.response.status is None or entry.startTime is None:
            yield f"{path}: haralyzer can't read {entry}"


def main():
    lines = [line for path in sys.argv[1:] for line in findings(path)]
    for line in lines:
        print(line)
    if not lines:
        print(f"har: {len(sys.argv) - 1} files, no finding")
    return 1 if lines else 0


if __name__ == "__main__":
    sys.exit(main())
