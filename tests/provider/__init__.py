"""Tests of the scripted provider."""
