"""What new rows prove about a fitted model: a bound of its rank gap in the population.

Parity on training rows is not parity in the population.  On rows that the fit has not
seen, the AUC of the predictions is an estimate of the population's, and `certify` says
below which value ``|AUC − 1/2|`` lies with a given confidence.
"""

from rankfair.certificate.api import certify
from rankfair.certificate.bounds import certify_predictions
from rankfair.certificate.calibration import ShiftedModel
from rankfair.certificate.records import Certificate
from rankfair.certificate.rows import predict

__all__ = [
    "Certificate",
    "ShiftedModel",
    "certify",
    "certify_predictions",
    "predict",
]
