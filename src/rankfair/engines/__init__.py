"""Where the rows are: the operations a fit needs over them, and nothing else."""
