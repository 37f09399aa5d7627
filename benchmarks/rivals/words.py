"""The sentences of docs/rivals.md that are the same in every run."""

RULE = """\
A point of a rival is *dominated* (✓) if one of ours has a lower mean RMSE and is no
worse in rank gap |AUC − 1/2|, mean difference |MD| and KS beyond noise: two standard
errors of the difference, paired by seed.  All figures are of held-out rows, means over
seeds ± standard error; RMSE and MD are in standard deviations of the target.  Ours run
with a few ε, and with those that a rival's gap, MD and KS on *training* rows suggest
(these, and where fits are quick enough somewhat less and more), for it may sit anywhere
between fair and free.  Methods that move predictions are measured there on out-of-fold
ones.  No ε is computed from held-out rows; which of our points is named beside a
rival's is chosen by them.  After a look at earlier versions of this table "somewhat"
was set, and methods of ours were added: those with two constraints, and the line, a
share of the way from free predictions to the common quantiles of the groups."""
MARKS = """\
A sign for each setting of the method, in the order of the tables below: ✓ dominated,
= the same figures, ≈ level within noise, ✗ better in something than each of ours.  A
method *needs the group* if it cannot predict a row whose group is not known.  The
others have it here as one predictor among others, and could do without; our *tilt*
does."""
PARTIAL = """\
EquiPy with an ε between 0 and 1 mixes repaired and original predictions.  Where groups
differ by little more than a shift that is a smaller shift, the least movement there is
for its MD, and ours can do the same and no better.  What it moves beyond that draws a
group that is spread too far towards the other, and is a gain of fit."""
LIMITS = """\
A cell, that is a method on a dataset with all its seeds and settings, has a limit of
processor time; what was done by then is kept, so some means are over fewer seeds.
holisticai's GridSearchReduction runs with pandas 2 only, which is why that is
installed: it fills its grid by a chained assignment (`pos_basis[i][group] = 1`, line 76
of `commons/regression/_constraints.py`), which pandas 3 does not pass on, so that all
of the grid is 0 and nothing is tried."""
SAME_FOR_ALL = """\
The same rows, the same features and the group among them, and the same base learner;
among the linear ones the error of five folds of the training rows decides:"""
DEALT = """\
Rows of real data are dealt at random within tasks, 70 % to learn from.  Methods that
move predictions, theirs and ours, learn from the same out-of-fold predictions.  Filters
of features come with the base learner and, where that has tasks, also with plain least
squares.  fairret and the adversarial regressor bring linear models of their own, with a
0/1 column for each task where the base learner has tasks (up to 500).  `rankfair`
*unconstrained* and *constant shift* need no package: the base learner alone, and with
one number added to each group."""
FIT = """\
Time of one fit, base learner included, over one `LinearRegression().fit` on the same
rows in the same process, one thread:"""
PREDICT = "Time to predict the held-out rows, over the same fit:"
MEMORY = """\
Peak memory of the fit over that of the same reference, X included in both, where X is
not small against the noise of a process:"""
NONE_LARGE = "No dataset of this run is large."
FIGURES = "Ours are shown at one ε, and where they stand beside a rival."
