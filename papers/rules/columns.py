"""Rows and columns of this folder's table."""

from papers.harness.measures import Named

# What an encoder sees of names → what the table calls it.
KINDS = {"plain": "as it is", "canonical": "canonical names, by the wrapper", "streams": "streams"}
USUAL, NEW, MORE = Named("names of training"), Named("new names"), Named("more names")
COST, TRAINING = Named("ms per text"), Named("minutes of training")
