"""The intake: what somebody wants made fast, on what, toward which goal, within which budget."""

from cuttlebone.bench.findings import Finding, Report, RuleValue, Verdict
from cuttlebone.bench.intake.check import check_intake, intake_shape_faults

__all__ = ["Finding", "Report", "RuleValue", "Verdict", "check_intake", "intake_shape_faults"]
