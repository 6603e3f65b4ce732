"""The four APIs: how each one reads a request, bills it, and words its reply. `order.ProviderApi` says what they do."""
