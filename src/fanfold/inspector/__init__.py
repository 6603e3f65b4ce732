"""The inspector: a page that shows what the model saw and why, and brings back what was left out."""
