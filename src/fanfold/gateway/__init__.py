"""The gateway: for agents that import nothing. It stands between an agent and its provider (`fanfold serve`)."""
