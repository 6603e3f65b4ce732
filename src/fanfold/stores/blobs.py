"""Blobs on their way in, and the places of large ones: a folder, or object storage (`blobs="s3://bucket/folder"`).

A place brings a blob while others write, and gives it its name (`finish`) while nobody else gives or takes names. What
was never finished belongs to a process that is still at work, or that died.
"""

from __future__ import annotations

import os
import secrets
import tempfile
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime, timedelta
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from fanfold.core.errors import BadSetting, Corrupt, MissingExtra, StoreFailed
from fanfold.stores.database import failure_of
from fanfold.stores.sealing import HEAD, Fetch, Seal, as_bytes
from fanfold.stores.store import ABANDONED, READ_AT_ONCE, Blob, bounds, name_of, summing

if TYPE_CHECKING:
    from obstore.store import ObjectStore

SMALL = 1 << 20
"""Up to this size a blob lies in the database."""
_UNFINISHED = "unfinished-"
_CREATED_AT_ONCE = 16 << 20
"""Up to this size an object is created in one request, which refuses if it is there; above that in parts."""
_PATIENCE: dict[str, Any] = {"max_retries": 3, "retry_timeout": timedelta(seconds=20)}

T = TypeVar("T")


class BlobIntake:
    """A blob that is being taken in: in memory while it is small, then in an unfinished file. It is sealed at once."""

    def __init__(self, files: Spool, seal: Seal) -> None:
        self._files = files
        self._seal = seal
        self._wrap = seal.wrap()
        self._sum = summing()
        self._held: list[bytes] = []
        self._kept = 0
        self._file: int | None = None
        self.size = 0
        self.path: Path | None = None
        """The unfinished file, where the blob is too large for memory."""

    def take(self, chunks: Iterable[bytes]) -> Blob:
        """Take in everything; large content is on the disk when this is done."""
        try:
            for chunk in self._wrap.chunks(self._count(chunks)):
                self._kept += len(chunk)
                self._held.append(chunk)
                if self._kept > self._seal.size(SMALL):
                    self._spill()
            if self._file is not None:
                with self._files.named_failures():
                    os.fsync(self._file)
        except BaseException:
            self.forget()
            raise
        finally:
            self._close()
        return Blob(name_of(self._sum), self.size)

    @property
    def data(self) -> bytes | None:
        """What is kept of a small blob."""
        return b"".join(self._held) if self.path is None else None

    @property
    def proof(self) -> bytes:
        """By what ranges of it are read and checked."""
        return self._wrap.proof

    def settle(self, place: BlobPlace, tenant: str, blob: Blob, *, listed: bool) -> bool:
        """Give a large blob its name, and say whether it is this one that has it now.

        Under a key the same content is sealed differently each time. So a blob that is listed stays as it is, for its
        proof is kept; and what somebody left who died before he listed it gives way.
        """
        assert self.path is not None
        head = self._wrap.head
        if head and listed and place.is_there(tenant, blob.id):
            return False
        place.finish(self.path, tenant, blob.id)
        if head:
            try:
                begins = b"".join(place.read(tenant, Blob(blob.id, self._kept), 0, HEAD))
            except Corrupt:
                begins = b""  # what lies there is cut off
            if begins != head:
                place.replace(self.path, tenant, blob.id)
        return True

    def _count(self, chunks: Iterable[bytes]) -> Iterator[bytes]:
        for chunk in map(bytes, chunks):
            self._sum.update(chunk)
            self.size += len(chunk)
            yield chunk

    def _spill(self) -> None:
        with self._files.named_failures():
            if self._file is None:
                self.path, self._file = self._files.unfinished()
            for chunk in self._held:
                rest = memoryview(chunk)
                while rest:
                    rest = rest[os.write(self._file, rest) :]
        self._held.clear()

    def forget(self) -> None:
        """Leave nothing behind."""
        self._close()
        if self.path is not None:
            self.path.unlink(missing_ok=True)

    def _close(self) -> None:
        file, self._file = self._file, None
        if file is not None:
            os.close(file)


class Spool:
    """Blobs that are not whole yet wait among the temporary files, for their owner only."""

    def __init__(self) -> None:
        self.folder = Path(tempfile.gettempdir())

    @contextmanager
    def named_failures(self) -> Iterator[None]:
        """A full or unwritable disk by its name."""
        try:
            yield
        except OSError as error:
            raise failure_of(error, self.folder) from error

    def unfinished(self) -> tuple[Path, int]:
        """A new file for a blob that is not whole yet; what killed processes left there is cleared away."""
        for path in self.folder.glob(f"fanfold-{_UNFINISHED}*"):
            with suppress(OSError):
                if time.time() - path.stat().st_mtime > ABANDONED:
                    path.unlink()
        file, name = tempfile.mkstemp(prefix=f"fanfold-{_UNFINISHED}")
        return Path(name), file


class BlobFiles(Spool):
    """The folder of large blobs. A file's name is a hash, so that no name given by anyone becomes a path."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def name(self, tenant: str, id: str) -> str:
        """What the file of a blob is called."""
        return hidden_name(tenant, id)

    def path(self, tenant: str, id: str) -> Path:
        """Where a blob lies."""
        return self.folder / self.name(tenant, id)

    def unfinished(self) -> tuple[Path, int]:
        """A new file for a blob that is not whole yet."""
        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        path = self.folder / f"{_UNFINISHED}{secrets.token_hex(8)}"
        binary = getattr(
            os, "O_BINARY", 0
        )  # without it, Windows puts a carriage return before every line feed
        return path, os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | binary, 0o600)

    def bring(self, path: Path, tenant: str, id: str) -> None:
        """It is there already."""

    def is_there(self, tenant: str, id: str) -> bool:
        """Whether a blob has a file."""
        return self.path(tenant, id).is_file()

    def replace(self, path: Path, tenant: str, id: str) -> None:
        """The same as giving it its name."""
        self.finish(path, tenant, id)

    def finish(self, path: Path, tenant: str, id: str) -> None:
        """Give a whole blob its name, at once and for good."""
        place = self.path(tenant, id)
        with self.named_failures():
            place.parent.mkdir(mode=0o700, exist_ok=True)
            path.replace(place)
            # A name is kept for good when its folder is. Windows opens no folders, and has no flag for it.
            for folder in (place.parent, self.folder) if hasattr(os, "O_DIRECTORY") else ():
                file = os.open(folder, os.O_RDONLY)
                try:
                    os.fsync(file)
                finally:
                    os.close(file)

    def read(self, tenant: str, blob: Blob, start: int, stop: int) -> Iterator[bytes]:
        """A range of a blob, in chunks."""
        place = self.path(tenant, blob.id)
        try:
            with place.open("rb") as file:
                if os.fstat(file.fileno()).st_size != blob.size:
                    raise Corrupt(f"The file of blob {blob.id} is cut off: {place}. Bring back a copy of it.")
                file.seek(start)
                while start < stop and (chunk := file.read(min(READ_AT_ONCE, stop - start))):
                    start += len(chunk)
                    yield chunk
        except FileNotFoundError as error:
            raise _gone(blob, place) from error

    def drop(self, tenant: str, id: str) -> None:
        """Delete the file of a blob, if there is one."""
        self.remove(self.name(tenant, id))

    def remove(self, name: str) -> None:
        """Delete a file by its name, if there is one."""
        with self.named_failures():
            (self.folder / name).unlink(missing_ok=True)

    def all(self) -> Iterator[tuple[str, float]]:
        """The names of all files, finished or not, and how many seconds ago each was written."""
        for path in sorted(self.folder.rglob("*")):
            with suppress(FileNotFoundError):
                if path.is_file():
                    yield path.relative_to(self.folder).as_posix(), time.time() - path.stat().st_mtime


class Objects(Spool):
    """Blobs as objects. An object's name is a hash, so that no name given by anyone becomes a path."""

    def __init__(self, store: str | ObjectStore, own: str) -> None:
        try:
            import obstore
            import obstore.exceptions
        except ImportError:
            raise MissingExtra(
                "To keep blobs in object storage, run: pip install 'fanfold[objects]'"
            ) from None
        super().__init__()
        self._library: Any = obstore
        self._own = own
        self.store = self._connect(store) if isinstance(store, str) else store
        self.place = store if isinstance(store, str) else type(store).__name__

    def _connect(self, url: str) -> ObjectStore:
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
            if path.stat().st_size <= _CREATED_AT_ONCE:
                with suppress(self._library.exceptions.AlreadyExistsError):
                    self._library.put(self.store, name, path, mode="create")
            elif not self.is_there(tenant, id):
                self._library.put(self.store, name, path)

    def finish(self, path: Path, tenant: str, id: str) -> None:
        """It is there, unless somebody deleted the same content since."""
        if not self.is_there(tenant, id):
            self.bring(path, tenant, id)

    def is_there(self, tenant: str, id: str) -> bool:
        """Whether a blob has an object."""
        with self._named_failures():
            try:
                self._library.head(self.store, self.name(tenant, id))
            except FileNotFoundError:
                return False
            return True

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
            raise _gone(blob, f"{self.place}/{name}") from error

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

    @contextmanager
    def _named_failures(self) -> Iterator[None]:
        """A failure by its name; that nothing is there is left to whoever asked."""
        try:
            yield
        except self._library.exceptions.BaseError as error:
            raise StoreFailed(f"{self.place} cannot be used: {_first_line(error)}. Try again.") from error


BlobPlace = BlobFiles | Objects
"""Where large blobs lie."""


def blob_place(blobs: str | Path | ObjectStore, own: str) -> BlobPlace:
    """Where large blobs lie: a folder, an address like `s3://bucket/folder`, or a store of obstore's.

    Everything there lies under the store's own name, so that stores may share a bucket.
    """
    folder = anchored(blobs)
    return BlobFiles(folder / own) if isinstance(folder, Path) else Objects(folder, own)


def anchored(blobs: T) -> T | Path:
    """The same place, also when the process goes to another folder."""
    if isinstance(blobs, Path) or (isinstance(blobs, str) and "://" not in blobs):
        return Path(blobs).expanduser().absolute()
    return blobs


def _first_line(error: Exception) -> str:
    lines = str(error).strip().splitlines()
    return lines[0].rstrip(".") if lines else type(error).__name__


def hidden_name(tenant: str, id: str) -> str:
    """What the file or object of a blob is called: a hash, so that no name given by anyone becomes a path."""
    owner, name = as_bytes(tenant), as_bytes(id)
    total = blake2b(len(owner).to_bytes(8, "big") + owner + name, digest_size=20).hexdigest()
    return f"{total[:2]}/{total[2:]}"


def _gone(blob: Blob, place: object) -> Corrupt:
    """What to say of a blob that is listed, but not there."""
    return Corrupt(f"The content of blob {blob.id} is gone: {place}. Bring back a copy of it.")


def is_unfinished(name: str) -> bool:
    """Whether a file is of somebody who takes in a blob, or died on it."""
    return name.startswith(_UNFINISHED)


def range_of(
    seal: Seal, blob: Blob, fetch: Fetch, proof: bytes, start: int, stop: int | None
) -> Iterator[bytes]:
    """A range of a blob, without its seal; no chunk is given that is not what was kept."""
    start, stop = bounds(blob, start, stop)  # at once, not when the first chunk is asked for

    def chunks() -> Iterator[bytes]:
        try:
            yield from seal.range(fetch, proof, blob.size, start, stop)
        except Corrupt as error:
            if blob.id in str(error):
                raise
            raise Corrupt(f"The content of blob {blob.id} is damaged: {error} Bring back a copy.") from error

    return chunks()


def proof_of(seal: Seal, blob: Blob, fetch: Fetch) -> bytes:
    """The proof of a blob that has none yet: all of it is compared with its name. Nobody makes that of a sealed one."""
    total, wrap = summing(blob.id), seal.wrap()
    for chunk in () if wrap.head else wrap.chunks(fetch(0, blob.size)):
        total.update(chunk)
    if wrap.head or name_of(total) != blob.id:
        raise Corrupt(f"The content of blob {blob.id} is damaged. Bring back a copy of it.")
    return wrap.proof
