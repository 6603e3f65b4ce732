"""Who holds a conversation: sessions and their verbs. The README says where to begin."""
