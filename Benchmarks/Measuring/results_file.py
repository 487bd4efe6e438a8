"""RESULTS.md, from the files of the folder Results."""

import contextlib

import cachereport
import cookiereport
import peers
import report


def rendered(path):
    """The text of RESULTS.md: from a file of `Benchmarks/run`, from Results/formats.md, and from the files of `Benchmarks/cookies` and `Benchmarks/cache`."""
    results = report.read(path)
    with contextlib.suppress(ValueError):
        results["file"] = str(path.resolve().relative_to(peers.BENCHMARKS))
    text = report.rendered(results)
    formats = peers.BENCHMARKS / "Results" / "formats.md"
    if formats.exists():
        text += "\n" + formats.read_text()
    for section in (cookiereport.section(), cachereport.section()):
        if section:
            text += "\n" + "\n".join(section) + "\n"
    return text


def update(path):
    """Writes RESULTS.md."""
    text = rendered(path)
    (peers.BENCHMARKS / "RESULTS.md").write_text(text)
    return text


def newest():
    """The file of the newest full run."""
    return max((peers.BENCHMARKS / "Results").glob("20*.json"))
