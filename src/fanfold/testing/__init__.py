"""Fakes that fanfold ships for the tests of its users."""
