"""What a server needs to speak the four dialects over HTTP: requests, events, replies, errors."""
