"""Names and types of files, and what hermes is told of those that came with a message."""

from __future__ import annotations

import fnmatch
import unittest
from pathlib import Path
from typing import Any

from support import LANE, OTHER, TempDir

from iris import filenames
from iris.attachment import Attachment, Files, gather
from iris.lanes import Lane


class FilenamesTest(unittest.TestCase):
    def test_clean(self) -> None:
        for name, want in {
            "a.png": "a.png",
            "/etc/passwd": "passwd",
            "../../x.txt": "x.txt",
            "C:\\temp\\b.doc": "b.doc",
            "..": "file",
            "": "file",
            "a/": "file",
            ".bashrc": "bashrc",
            "Grüße 🌈 日本語 “quoted” 'x'.png": "Grüße 🌈 日本語 “quoted” 'x'.png",
            "a\x00\n\x1b[31mb\u2028\x85.png": "a[31mb.png",
            "photo\u202egnp.exe": "photognp.exe",
            "\u2066a\u2069.png": "a.png",
            "שלום \u200fעולם.txt": "שלום \u200fעולם.txt",
            "half an emoji \ud83d.png": "half an emoji .png",
        }.items():
            self.assertEqual(filenames.clean(name), want, ascii(name))

    def test_long_ones_keep_their_ending(self) -> None:
        for name in ("n" * 300 + ".png", "語" * 300 + ".png"):
            short = filenames.clean(name)
            self.assertTrue(short.endswith(".png") and len(short.encode()) <= 255, short)
            self.assertGreater(len(short.encode()), 250)
        self.assertEqual(filenames.clean("a." + "x" * 300), "a." + "x" * 253)  # that is no ending

    def test_in_cache(self) -> None:
        mark = filenames.mark(LANE, "m_1", "md_1")
        name = filenames.in_cache("img", mark, "../x.html", "image/png")
        self.assertRegex(name, r"^img_[0-9a-f]{28}_x\.html\.png$")
        self.assertEqual(mark, filenames.mark(LANE, "m_1", "md_1"))
        self.assertNotEqual(mark, filenames.mark(LANE, "m_1", "md_2"))
        self.assertLessEqual(len(filenames.in_cache("doc", mark, "語" * 300, "x/y").encode()), 255)
        self.assertTrue(filenames.in_cache("audio", mark, "v.oga", "audio/ogg").endswith("_v.oga"))

    def test_patterns(self) -> None:
        thread = Lane(LANE.chat_id, "t_1")
        names = {
            (lane, message): filenames.in_cache(
                "img", filenames.mark(lane, message, "md"), "a_b.png", "image/png"
            )
            for lane in (LANE, thread, OTHER)
            for message in ("m_1", "m_2")
        }

        def found(pattern: str) -> set[tuple[Lane, str]]:
            return {key for key, name in names.items() if fnmatch.fnmatchcase(name, pattern)}

        self.assertEqual(
            found(filenames.of_message("m_1")), {(lane, "m_1") for lane in (LANE, thread, OTHER)}
        )
        self.assertEqual(found(filenames.of_lane(thread)), {(thread, "m_1"), (thread, "m_2")})
        self.assertEqual(found(filenames.of_lane(LANE)), {key for key in names if key[0] != OTHER})


def what(mime: str, kind: str = "", name: str = "f", size: int = 5) -> Attachment:
    return Attachment.of({"media_id": "md", "mime": mime, "kind": kind, "filename": name, "size": size})


class GatherTest(TempDir):
    def gather(self, *attachments: Attachment, data: bytes = b"hello") -> Files:
        got: list[tuple[Attachment, Path | str]] = []
        for i, attachment in enumerate(attachments):
            path = self.dir / f"x_{i}_{attachment.filename}"
            path.write_bytes(data)
            got.append((attachment, path))
        return gather(got)

    def test_kinds(self) -> None:
        png, voice, song = what("image/png"), what("audio/ogg", "voice"), what("audio/mpeg", "audio")
        film, pdf = what("video/mp4"), what("application/pdf")
        octets = "application/octet-stream"
        for attachments, kind, mimes in (
            ([png], "PHOTO", ["image/png"]),
            ([png, png], "PHOTO", ["image/png"] * 2),
            ([voice], "VOICE", ["audio/ogg"]),
            ([song], "AUDIO", ["audio/mpeg"]),
            ([voice, song], "AUDIO", ["audio/ogg", "audio/mpeg"]),
            ([film], "VIDEO", ["video/mp4"]),
            ([pdf], "DOCUMENT", ["application/pdf"]),
            ([png, pdf], "PHOTO", ["image/png", "application/pdf"]),
            ([png, voice], "PHOTO", ["image/png", "audio/ogg"]),  # is written down
            ([png, song], "PHOTO", ["image/png", octets]),  # is not
            ([pdf, song], "TEXT", ["application/pdf", octets]),
            # What no model can look at, and what only calls itself so, is a file.
            ([what("image/heic", "image")], "DOCUMENT", [octets]),
            ([what("image/svg+xml", "image")], "DOCUMENT", [octets]),
            ([what("image/png", "image", size=0)], "DOCUMENT", [octets]),
            ([what("application/octet-stream", "voice")], "DOCUMENT", [octets]),
        ):
            got = self.gather(*attachments)
            self.assertEqual((got.type, list(got.mimes), got.notes), (kind, mimes, ()), attachments)

    def test_texts(self) -> None:
        got = self.gather(what("application/octet-stream", name="notes.md"))
        self.assertEqual((got.mimes, got.notes), (("text/plain",), ("[Content of notes.md]:\nhello",)))
        # hermes says of each text/… that its content is in the message.
        for data in (b"\xff\xfe", b"x" * (100 * 1024 + 1)):
            got = self.gather(what("text/csv", name="a.csv"), data=data)
            self.assertEqual((got.mimes, got.notes), (("application/x-text",), ()))

    def test_missing(self) -> None:
        got = gather([(what("image/png", "image", "a.png"), "it was deleted")])
        note = "[The user attached “a.png” (image), but it could not be fetched: it was deleted]"
        self.assertEqual(got, Files("TEXT", notes=(note,)))

    def test_whatever_comes(self) -> None:
        odd: list[Any] = [None, 7, "x", {}, {"size": "x", "filename": 7, "mime": None, "media_id": ["a"]}]
        for value in odd:
            self.assertEqual(Attachment.of(value).sort, "document")


if __name__ == "__main__":
    unittest.main()
