"""Looks at everything that a host needs in order to run as it is set up, and changes nothing."""

from cuttlebone.diagnosis.diagnosis import Condition, Diagnosis
from cuttlebone.diagnosis.host import diagnose

__all__ = ["Condition", "Diagnosis", "diagnose"]
