"""What each figure means, for readers who are not statisticians."""

from __future__ import annotations

from dataclasses import dataclass

from rankfair.report.text import Form, alike, decimals


@dataclass(frozen=True)
class Metric:
    """A figure of a comparison: field, name, meaning, value at parity, and format.

    ``{group}`` and ``{against}`` in the meaning stand for the groups compared.
    """

    field: str
    name: str
    meaning: str
    parity: str
    form: Form = decimals

    @property
    def plain_name(self) -> str:
        """The name without the names of groups."""
        return self.name.format(group="a group", against="the other")


METRICS = (
    Metric(
        "auc",
        "Rank AUC",
        "Of all pairs of one row of {group} and one of {against}, the share in which "
        "{group} is ranked higher. Ties count half.",
        "0.5",
    ),
    Metric(
        "within_task_auc",
        "Rank AUC within tasks",
        "The same for pairs of rows of one task: the gap that is left between rows of "
        "the same task.",
        "0.5",
    ),
    Metric(
        "between_task_auc",
        "Rank AUC between tasks",
        "The same for pairs of rows of different tasks: the part that comes from how "
        "the groups are spread over tasks.",
        "0.5",
    ),
    Metric(
        "mean_difference",
        "Difference of means",
        "Mean of {group} less that of {against}, in units of the target.",
        "0",
        alike,
    ),
    Metric(
        "balanced_residuals",
        "Difference of mean residuals",
        "Mean of observed less predicted, {group} less {against}. Above 0, {group} is "
        "predicted too low compared with {against}.",
        "0",
        alike,
    ),
    Metric(
        "impact_rank_ratio",
        "Ratio of mean ranks",
        "Mean rank of {group} divided by that of {against}; rank 1 is the lowest.",
        "1",
    ),
    Metric(
        "ks",
        "Kolmogorov–Smirnov distance",
        "The largest difference, over all cut-offs, between the shares of the two "
        "groups above the cut-off.",
        "0",
    ),
    Metric(
        "wasserstein",
        "Wasserstein distance",
        "How far the values of one group must move on average to be spread like "
        "those of the other, in units of the target.",
        "0",
        alike,
    ),
    Metric(
        "share_above_median",
        "Share of {group} above the median",
        "Share of {group} above the median of all rows.",
        "0.5",
    ),
    Metric(
        "share_above_median_against",
        "Share of {against} above the median",
        "Share of {against} above the median of all rows.",
        "0.5",
    ),
    Metric(
        "impact_ratio",
        "Impact ratio",
        "Share above the median of {group} divided by that of {against} (the rule for "
        "scores of New York City's Local Law 144, applied to this pair).",
        "1",
    ),
)

ERRORS = (
    ("rmse", "RMSE", "root of the mean squared error"),
    ("mae", "MAE", "mean absolute error"),
    ("r2", "R²", "share of the target's variance that is explained"),
)

NOTES = (
    "At a rank AUC of 0.5 neither group is ranked higher than the other. At 0.6, a row "
    "of the first group is ranked above a row of the second in 60 of 100 pairs. The "
    "rank gap is the distance of the AUC from 0.5.",
    "A confidence interval made in this way holds the true value in {confidence} of "
    "100 samples like this one. It shows how much of a figure may be chance, not "
    "whether the data are right.",
    "A dash means that these rows do not give the figure or its interval; the reason "
    "is beside it. It does not mean zero.",
    "Tasks with fewer than {min_group} rows of either group are listed but not "
    "judged. Among many tasks some differ by chance, so a task is flagged by its "
    "p-value adjusted for the number of tasks.",
)

CAVEATS = (
    "It measures predictions. It does not say why groups differ, whether a difference "
    "is justified, or whether the target itself is a fair measure of anything.",
    "It is no legal opinion and certifies nothing. Laws and duties ask for more than "
    "statistics.",
    "It speaks of these rows. Another period, place or way of choosing rows can give "
    "other figures; intervals cover chance, not such changes.",
    "An AUC of 0.5 is not independence: distributions can differ in spread or shape "
    "at the same AUC. Look at the pictures and at the other distances as well.",
    "Groups that are missing or were never recorded cannot be seen here, nor can rows "
    "that were left out before the audit.",
)
