"""The only way in: what users pass becomes checked arrays, or a sentence says why not.

Everything is checked here, once; inside, the arrays are trusted.  A row of weight zero
counts as absent: it is checked like the others and then left out, with its task if no
other row is of that task.
"""
