"""The laws of design.md, as properties."""
