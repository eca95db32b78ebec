"""The run manifest: exactly what was run, so that it can be run again."""

from cuttlebone.bench.findings import Finding, Report, Verdict
from cuttlebone.bench.manifest.check import check_manifest, manifest_shape_faults
from cuttlebone.bench.manifest.pins import broken_pins, pins_of

__all__ = [
    "Finding",
    "Report",
    "Verdict",
    "broken_pins",
    "check_manifest",
    "manifest_shape_faults",
    "pins_of",
]
