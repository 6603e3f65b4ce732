"""Pictures, pages and sounds by the providers' published rules."""

from __future__ import annotations

import struct
from base64 import b64encode

import pytest

from fanfold.tokens import media


def text(data: bytes) -> str:
    return b64encode(data).decode()


def png(width: int, height: int) -> str:
    return text(
        b"\x89PNG\r\n\x1a\n" + b"\x00\x00\x00\rIHDR" + struct.pack(">II", width, height) + b"\x08\x02" * 8
    )


def gif(width: int, height: int) -> str:
    return text(b"GIF89a" + struct.pack("<HH", width, height) + bytes(20))


def jpeg(width: int, height: int, before: int = 0) -> str:
    thumbnail = b"\xff\xe1" + struct.pack(">H", before + 2) + bytes(before) if before else b""
    return text(
        b"\xff\xd8" + thumbnail + b"\xff\xc0\x00\x11\x08" + struct.pack(">HH", height, width) + bytes(20)
    )


def webp(kind: bytes, body: bytes) -> str:
    return text(b"RIFF\x00\x00\x00\x00WEBP" + kind + b"\x00\x00\x00\x00" + body + bytes(20))


@pytest.mark.parametrize(
    "data",
    [
        png(640, 480),
        gif(640, 480),
        jpeg(640, 480),
        jpeg(640, 480, before=60_000),
        webp(b"VP8X", bytes(4) + (639).to_bytes(3, "little") + (479).to_bytes(3, "little")),
        webp(b"VP8L", b"\x2f" + (639 | 479 << 14).to_bytes(4, "little")),
        webp(b"VP8 ", bytes(3) + b"\x9d\x01\x2a" + struct.pack("<HH", 640, 480)),
        "data:image/png;base64," + png(640, 480),
    ],
    ids=[
        "png",
        "gif",
        "jpeg",
        "jpeg after a thumbnail",
        "webp",
        "webp lossless",
        "webp plain",
        "a data address",
    ],
)
def test_the_size_is_read_from_the_first_bytes(data: str) -> None:
    assert media.picture_size(data) == (640, 480)


@pytest.mark.parametrize(
    "data", [None, "", "no base64!", "AAAA", png(0, 5), text(b"\xff\xd8\xff"), text(b"RIFF")]
)
def test_what_is_no_picture_has_no_size(data: str | None) -> None:
    assert media.picture_size(data) is None


@pytest.mark.parametrize(
    ("size", "tokens"), [((1024, 1024), 765), ((2048, 4096), 1105), ((512, 512), 255), (None, 1445)]
)
def test_openai_counts_tiles(size: tuple[int, int] | None, tokens: int) -> None:
    assert media.tiles(85, 170)(size) == tokens


@pytest.mark.parametrize(
    ("size", "tokens"), [((1024, 1024), 1024), ((320, 320), 100), ((4000, 4000), 1536), (None, 1536)]
)
def test_openai_counts_patches_for_its_small_models(size: tuple[int, int] | None, tokens: int) -> None:
    assert media.patches()(size) == tokens


@pytest.mark.parametrize(
    ("size", "tokens"), [((200, 200), 54), ((1000, 1000), 1334), ((4000, 4000), 1600), (None, 1600)]
)
def test_anthropic_counts_the_area(size: tuple[int, int] | None, tokens: int) -> None:
    assert media.area(size) == tokens


@pytest.mark.parametrize(
    ("size", "tokens"), [((280, 280), 100), ((1000, 1000), 1296), ((9000, 9000), 4784), (None, 4784)]
)
def test_the_newest_anthropic_models_count_small_patches(size: tuple[int, int] | None, tokens: int) -> None:
    assert media.small_patches(size) == tokens


@pytest.mark.parametrize(("size", "tokens"), [((384, 384), 258), ((960, 540), 6 * 258), (None, 6 * 258)])
def test_gemini_counts_crops(size: tuple[int, int] | None, tokens: int) -> None:
    assert media.crops(size) == tokens


def test_pages_are_counted_in_the_file() -> None:
    page = b"<< /Type /Page /Parent 1 0 R >>\n"
    assert media.pages_of(text(b"%PDF-1.4 << /Type /Pages /Count 3 >>" + page * 3)) == 3
    assert media.pages_of(text(b"%PDF-1.7 << /Type/Pages/Count 12 >> compressed")) == 12
    assert media.pages_of(text(b"%PDF-1.7" + bytes(300_000))) == 6
    assert media.pages_of(None) == 1


def test_a_sound_is_as_long_as_its_header_says() -> None:
    head = b"RIFF\x00\x00\x00\x00WAVEfmt \x10\x00\x00\x00\x01\x00\x01\x00" + struct.pack(
        "<II", 16_000, 32_000
    )
    assert media.seconds_of(text(head + bytes(64_000)), "wav") == pytest.approx(2, abs=0.1)
    assert media.seconds_of("A" * 16_000, "mp3") == 3
