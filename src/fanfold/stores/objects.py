"""Large blobs in object storage: `blobs="s3://bucket/folder"`, or in a folder that several machines share."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fanfold.core.errors import BadSetting, Corrupt, MissingExtra, StoreFailed
from fanfold.stores.blobs import BlobFiles, BlobPlace, Spool, gone, hidden_name
from fanfold.stores.store import READ_AT_ONCE, Blob

if TYPE_CHECKING:
    from obstore.store import ObjectStore

_CREATED_AT_ONCE = 16 << 20
"""Up to this size an object is created in one request, which refuses if it is there; above that in parts."""
_PATIENCE: dict[str, Any] = {"max_retries": 3, "retry_timeout": timedelta(seconds=20)}


def blob_place(blobs: str | Path | ObjectStore, own: str) -> BlobPlace:
    """Where large blobs lie: a folder, an address like `s3://bucket/folder`, or a store of obstore's.

    Everything there lies under the store's own name, so that stores may share a bucket.
    """
    if isinstance(blobs, Path) or (isinstance(blobs, str) and "://" not in blobs):
        return BlobFiles(Path(blobs).expanduser() / own)
    return Objects(blobs, own)


class Objects(Spool):
    """Blobs as objects. An object's name is a hash, so that no name given by anyone becomes a path."""

    def __init__(self, store: str | ObjectStore, own: str) -> None:
        self._library = _library()
        self._own = own
        self.store = self._reached(store) if isinstance(store, str) else store
        self.place = store if isinstance(store, str) else type(store).__name__

    def _reached(self, url: str) -> ObjectStore:
        from obstore.store import from_url

        try:
            if url.startswith(("memory:", "file:")):
                return from_url(url)
            return from_url(url, retry_config=_PATIENCE)  # type: ignore[call-overload, no-any-return]
        except Exception as error:  # what the library raises differs from one kind of store to the next
            raise BadSetting(f"{url!r} is no place for blobs: {_first_line(error)}.") from None

    def name(self, tenant: str, id: str) -> str:
        """What the object of a blob is called."""
        return f"{self._own}/{hidden_name(tenant, id)}"

    def bring(self, path: Path, tenant: str, id: str) -> None:
        """Upload a blob, unless it is there."""
        name = self.name(tenant, id)
        with self._named_failures():
            if path.stat().st_size > _CREATED_AT_ONCE:
                if not self._is_there(name):
                    self._library.put(self.store, name, path)
                return
            with suppress(self._library.exceptions.AlreadyExistsError):
                self._library.put(self.store, name, path, mode="create")

    def finish(self, path: Path, tenant: str, id: str) -> None:
        """It is there, unless somebody deleted the same content since."""
        with self._named_failures():
            there = self._is_there(self.name(tenant, id))
        if not there:
            self.bring(path, tenant, id)

    def is_there(self, tenant: str, id: str) -> bool:
        """Whether a blob has an object."""
        with self._named_failures():
            return self._is_there(self.name(tenant, id))

    def replace(self, path: Path, tenant: str, id: str) -> None:
        """Upload a blob over what is there."""
        with self._named_failures():
            self._library.put(self.store, self.name(tenant, id), path)

    def read(self, tenant: str, blob: Blob, start: int, stop: int) -> Iterator[bytes]:
        """A range of a blob, in chunks."""
        name = self.name(tenant, blob.id)
        if start >= stop:
            return
        try:
            with self._named_failures():
                found = self._library.get(self.store, name, options={"range": (start, stop)})
                if found.meta["size"] != blob.size:
                    raise Corrupt(
                        f"The object of blob {blob.id} is cut off: {name}. Bring back a copy of it."
                    )
                for chunk in found.stream(min_chunk_size=READ_AT_ONCE):
                    yield bytes(chunk)
        except FileNotFoundError as error:
            raise gone(blob, f"{self.place}/{name}") from error

    def drop(self, tenant: str, id: str) -> None:
        """Delete the object of a blob, if there is one."""
        self.remove(self.name(tenant, id))

    def all(self) -> Iterator[tuple[str, float]]:
        """The names of this store's objects, and for how many seconds each is there."""
        with self._named_failures():
            for some in self._library.list(self.store, prefix=self._own):
                for found in some:
                    yield found["path"], (datetime.now(UTC) - found["last_modified"]).total_seconds()

    def remove(self, name: str) -> None:
        """Delete an object by its name, if there is one."""
        with suppress(FileNotFoundError), self._named_failures():
            self._library.delete(self.store, name)

    def _is_there(self, name: str) -> bool:
        try:
            self._library.head(self.store, name)
        except FileNotFoundError:
            return False
        return True

    @contextmanager
    def _named_failures(self) -> Iterator[None]:
        """A failure by its name; that nothing is there is left to whoever asked."""
        try:
            yield
        except self._library.exceptions.BaseError as error:
            raise StoreFailed(f"{self.place} cannot be used: {_first_line(error)}. Try again.") from error


def _first_line(error: Exception) -> str:
    lines = str(error).strip().splitlines()
    return lines[0].rstrip(".") if lines else type(error).__name__


def _library() -> Any:
    try:
        import obstore
        import obstore.exceptions
    except ImportError:
        raise MissingExtra("Install `fanfold[objects]` to keep blobs in object storage.") from None
    return obstore
