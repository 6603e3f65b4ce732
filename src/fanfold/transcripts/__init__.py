"""Recorded conversations of other tools, read one at a time.

for conversation in fanfold.transcripts.read("session.jsonl"):
    print(conversation.id, conversation.dialect, len(conversation.messages))
"""

from fanfold.dialects.registry import DialectName
from fanfold.transcripts.conversation import Compaction, Conversation, Parent
from fanfold.transcripts.formats import FORMATS
from fanfold.transcripts.reading import read

__all__ = ["FORMATS", "Compaction", "Conversation", "DialectName", "Parent", "read"]
