"""The columns of this folder's tables."""

from papers.harness.measures import Named

# Rows that are right under the names of the data, others at random, the worst of several, and a, b, c.
USUAL, RANDOM, ADVERSARIAL, MINIFIED = map(Named, ("as it is", "renamed at random", "worst of 32", "minified"))
# Of functions with a bug those whose place, whose remedy and whose both are right; of the others those with an alarm.
PLACED, REPAIRED, FOUND, FALSE = map(Named, ("place", "remedy", "place and remedy", "false alarms"))
