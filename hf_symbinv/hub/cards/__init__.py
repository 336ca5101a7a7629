"""Cards of models, data sets and metrics, written from what was recorded and checked as the Hub checks them."""
