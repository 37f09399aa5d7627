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
    parity: str = "0"  # of differences and distances
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
        form=alike,
    ),
    Metric(
        "balanced_residuals",
        "Difference of mean residuals",
        "Mean of observed less predicted, {group} less {against}. Above 0, {group} is "
        "predicted too low compared with {against}.",
        form=alike,
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
    ),
    Metric(
        "wasserstein",
        "Wasserstein distance",
        "How far the values of one group must move on average to be spread like "
        "those of the other, in units of the target.",
        form=alike,
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
