"""Files over real sockets: a host against a fake gateway on loopback."""

from __future__ import annotations

import asyncio
import hashlib
import os
import queue
import signal
import subprocess
import sys
import threading
import time
import unittest
from pathlib import Path
from typing import Any
from unittest import mock

from support import LANE, PLUGIN, TempDir, event, has, hush, needs_websockets

from iris import download, outbox, upload
from iris.attachment import Attachment
from iris.fetch import Fetcher
from iris.host import Host
from iris.link import Backoff
from iris.medium import Medium
from iris.settings import Settings
from iris.spool import Inbound, Spool

if has("websockets"):
    from fake_gateway import FakeGateway

MIB = 1024 * 1024


class AtOnce(Backoff):
    """Comes back at once."""

    def after(self, code: int | None, lived: float) -> float:
        return 0.0


def medium(name: str = "a.png", media_id: str = "md_1", **fields: Any) -> Medium:
    known = {"kind": "image", "mime": "image/png", "filename": name, "caption": "", "reply_to": None}
    return Medium(
        **{"media_id": media_id, "message_id": "m_" + media_id, "lane": LANE, "turn": "tn_1"}
        | {"at": 7}
        | known
        | fields
    )


class MediaCase(TempDir):
    def setUp(self) -> None:
        super().setUp()
        hush(self, "iris")
        self.gateway = FakeGateway()
        self.media = self.gateway.media
        for module, name in ((upload, "PAUSES"), (download, "PAUSE")):
            patch = mock.patch.object(module, name, (0.01, 0.01) if name == "PAUSES" else 0.01)
            patch.start()
            self.addCleanup(patch.stop)

    def start(self) -> Host:
        self.gateway.start()
        self.addCleanup(self.gateway.stop)
        return self.host()

    def host(self) -> Host:
        arrived: queue.SimpleQueue[Inbound] = queue.SimpleQueue()
        settings = Settings(self.gateway.url, "secret")
        host = Host(settings, self.dir / "spool.db", dict, arrived.put, AtOnce())
        host.start()
        self.addCleanup(host.stop)
        return host

    def file(self, data: bytes, name: str = "a.png") -> str:
        path = self.dir / name
        path.write_bytes(data)
        return str(path)

    def waiting(self) -> list[str]:
        """What the spool's folder holds."""
        return sorted(path.name for path in (self.dir / "media").iterdir())

    def until_nothing_waits(self) -> None:
        end = time.monotonic() + 15
        while self.waiting():
            self.assertLess(time.monotonic(), end, self.waiting())
            time.sleep(0.01)


@needs_websockets
class UploadTest(MediaCase):
    def shared(self, host: Host, data: bytes, **fields: Any) -> None:
        """Share a file and delete it at once, as agents do."""
        path = self.file(data)
        host.share(medium(**fields), path)
        os.unlink(path)

    def lost(self) -> str:
        return str(self.gateway.wait_event("notice")["body"]["text"])

    def test_bytes_first_then_the_event(self) -> None:
        host = self.start()
        data = os.urandom(MIB - 1)
        self.shared(host, data, caption="Look", reply_to="m_u")
        told = self.gateway.wait_event("media")
        self.assertEqual(self.media.stored["md_1"], data)
        hash_ = hashlib.sha256(data).hexdigest()
        described = {
            "kind": "image",
            "mime": "image/png",
            "size": len(data),
            "filename": "a.png",
            "sha256": hash_,
        }
        self.assertEqual(self.media.headers, [{"type": "media.put", "media_id": "md_1", **described}])
        ids = {"message_id": "m_md_1", "media_id": "md_1", "caption": "Look", "reply_to": "m_u"}
        self.assertEqual(told["body"], ids | described)
        self.assertEqual((told["turn"], told["chat_id"], told["at"]), ("tn_1", "android:default", 7))
        kinds = [f["type"] for f in self.gateway.frames if f["type"] in ("media.put.end", "event")]
        self.assertEqual(kinds, ["media.put.end", "event"])
        self.until_nothing_waits()

    def test_no_bytes(self) -> None:
        host = self.start()
        self.shared(host, b"")
        self.assertEqual(self.gateway.wait_event("media")["body"]["size"], 0)
        self.assertEqual(self.media.stored["md_1"], b"")

    def test_in_order(self) -> None:
        host = self.start()
        for i in range(5):
            self.shared(host, b"x" * (300_000 - 60_000 * i), media_id=f"md_{i}")
        self.gateway.wait_event("media", 5)
        ids = [f["body"]["media_id"] for f in self.gateway.events("media")]
        self.assertEqual(ids, [f"md_{i}" for i in range(5)])

    def test_events_go_in_between(self) -> None:
        host = self.start()

        def happen() -> None:
            self.media.on_chunk = lambda: None
            host.emit(event("turn.end"))
            assert host._pump
            host._pump.ask(lambda _: None).result(30)  # it is in the queue of the socket

        self.media.on_chunk = happen
        self.shared(host, bytes(32 * MIB))
        self.gateway.wait_event("media")
        kinds = [f.get("kind") or f["type"] for f in self.gateway.frames]
        self.assertLess(kinds.index("turn.end"), kinds.index("media.put.end"))

    def test_small_one_begins_anew_after_a_cut(self) -> None:
        host = self.start()
        data, self.media.cut_after = os.urandom(MIB), 300_000
        self.shared(host, data)
        self.gateway.wait_event("media")
        self.assertEqual(self.media.stored["md_1"], data)
        self.assertEqual(["resume" in h for h in self.media.headers], [False, False])

    def test_large_one_goes_on_after_a_cut(self) -> None:
        host = self.start()
        data, self.media.cut_after = os.urandom(9 * MIB), 5 * MIB
        sent: list[int] = []
        self.media.on_chunk = lambda: sent.append(1)
        self.shared(host, data)
        self.gateway.wait_event("media")
        self.assertEqual(self.media.stored["md_1"], data)
        self.assertEqual(len(sent), 9 * 16)  # no chunk twice
        self.assertEqual([h["resume"] for h in self.media.headers], [True, True])

    def test_gateway_that_has_it_already(self) -> None:
        # A host that died after the ack, before it had written it down.
        self.media.stored["md_1"] = b"x" * MIB
        host = self.start()
        self.shared(host, b"x" * MIB)
        self.gateway.wait_event("media")
        self.assertEqual(len(self.gateway.events("media")), 1)

    def test_refused(self) -> None:
        refusal = {"ok": False, "code": "media_too_large", "message": "the quota of 5 GiB is used up"}
        self.media.verdicts = [refusal]
        host = self.start()
        self.shared(host, b"x", caption="Look")
        self.shared(host, b"y", media_id="md_2")
        self.assertEqual(self.lost(), "Look\n“a.png” could not be sent: the quota of 5 GiB is used up.")
        self.gateway.wait_event("media")  # the next one is not held up
        self.assertEqual(len(self.media.headers), 2)
        self.until_nothing_waits()

    def test_not_now(self) -> None:
        self.media.verdicts = [{"ok": False, "code": "internal", "message": "the store is away"}] * 2
        self.shared(self.start(), b"x")
        self.gateway.wait_event("media")
        self.assertEqual(len(self.media.headers), 3)

    def test_not_now_for_too_long(self) -> None:
        self.media.verdicts = [{"ok": False, "code": "internal", "message": "the store is away"}] * 9
        self.shared(self.start(), b"x")
        self.assertEqual(self.lost(), "“a.png” could not be sent: the store is away.")

    def test_too_large_for_the_gateway(self) -> None:
        self.media.most = MIB
        host = self.start()
        self.gateway.say("hello.ack has been taken by the time that this is", kind="x")
        self.gateway.wait_frame("received")
        self.shared(host, bytes(MIB + 1))
        self.assertIn("more than 1 MiB", self.lost())
        self.assertEqual((self.media.headers, self.waiting()), ([], []))

    def test_too_large_for_a_gateway_met_later(self) -> None:
        self.media.most = 10
        host = self.host()  # the gateway does not run yet
        self.shared(host, b"x" * 11)
        self.start_known(host)
        self.assertIn("it has 11 bytes, the gateway takes 10 bytes at most", self.lost())

    def start_known(self, host: Host) -> None:
        """Start the gateway at the port that the host dials."""
        host.stop()
        self.start()

    def test_what_is_no_file(self) -> None:
        host = self.start()
        os.mkfifo(self.dir / "pipe")
        for path in (self.dir / "missing", self.dir, self.dir / "pipe"):
            host.share(medium(), str(path))
        self.gateway.wait_event("notice", 3)
        texts = [f["body"]["text"].split(": ")[1] for f in self.gateway.events("notice")]
        self.assertEqual(texts, ["No such file or directory.", "Is a directory.", "it is no file."])

    def test_too_much_waits(self) -> None:
        with mock.patch.object(outbox.Outbox, "add", side_effect=outbox.Unsendable("it is full")):
            host = self.start()
            self.shared(host, b"x")
        self.assertEqual(self.lost(), "“a.png” could not be sent: it is full.")
        self.assertEqual(self.waiting(), [])

    def test_copy_that_somebody_deleted(self) -> None:
        self.gateway.start()
        self.gateway.stop()
        host = self.host()
        self.shared(host, b"x")
        (self.dir / "media" / "md_1").unlink()
        self.gateway.start()
        self.addCleanup(self.gateway.stop)
        self.assertIn("its copy is gone", self.lost())

    def fetching(self, go: threading.Event) -> Any:
        """Let pictures come from the internet, once they may."""

        def fetch(fetcher: Fetcher, wanted: Medium) -> Medium:
            go.wait(30)
            if "missing" in wanted.url:
                raise outbox.Unsendable("its address answered 404")
            fetcher._copy_of(wanted.media_id).write_bytes(b"from afar")
            return wanted.with_bytes(9, hashlib.sha256(b"from afar").hexdigest())

        return mock.patch.object(Fetcher, "_fetch", fetch)

    def test_from_an_address_in_order(self) -> None:
        go = threading.Event()
        with self.fetching(go):
            host = self.start()
            host.share(medium(url="https://x.org/a.png"), None)
            self.shared(host, b"from here", media_id="md_2")
            go.set()
            self.gateway.wait_event("media", 2)
        self.assertEqual(list(self.media.stored.items()), [("md_1", b"from afar"), ("md_2", b"from here")])

    def test_from_an_address_in_the_next_process(self) -> None:
        with self.fetching(threading.Event()), mock.patch.object(Fetcher, "want"):
            self.host().share(medium(url="https://x.org/a.png"), None)
        go = threading.Event()
        go.set()
        with self.fetching(go):
            self.start()
            self.gateway.wait_event("media")
        self.assertEqual(self.media.stored, {"md_1": b"from afar"})

    def test_address_that_has_nothing(self) -> None:
        go = threading.Event()
        go.set()
        with self.fetching(go):
            host = self.start()
            host.share(medium(url="https://x.org/missing", caption="Look"), None)
            self.shared(host, b"x", media_id="md_2")
            self.gateway.wait_event("media")
        want = "Look\nhttps://x.org/missing\n“a.png” could not be sent: its address answered 404."
        self.assertEqual(self.lost(), want)

    def test_survives_sigkill(self) -> None:
        program = (
            "import os, signal, sys; sys.path[:0] = sys.argv[1:3]\n"
            "from pathlib import Path; import test_media as t\n"
            "spool = Path(sys.argv[3]) / 'spool.db'; s = t.Settings('http://127.0.0.1:9', 's')\n"
            "host = t.Host(s, spool, dict, print)\n"
            "host.start(); host.share(t.medium(), sys.argv[4]); os.kill(os.getpid(), signal.SIGKILL)\n"
        )
        data = os.urandom(MIB)
        argv = [
            sys.executable,
            "-c",
            program,
            str(PLUGIN),
            str(Path(__file__).parent),
            str(self.dir),
            self.file(data),
        ]
        self.assertEqual(subprocess.run(argv, timeout=60).returncode, -signal.SIGKILL)
        (self.dir / "media" / "md_9.part").write_bytes(b"a copy that was not finished")
        self.start()
        self.gateway.wait_event("media")
        self.assertEqual(self.media.stored, {"md_1": data})
        self.until_nothing_waits()


class OutboxTest(TempDir):
    def test_limit(self) -> None:
        spool = Spool(self.dir / "spool.db")
        self.addCleanup(spool.close)
        spool.media._limit = 100
        spool.media.add(medium(size=60))
        with self.assertRaisesRegex(outbox.Unsendable, "60 bytes of files wait"):
            spool.media.add(medium(media_id="md_2", size=41))
        spool.media.add(medium(media_id="md_3", size=40))

    def test_row_that_nobody_can_read(self) -> None:
        spool = Spool(self.dir / "spool.db")
        self.addCleanup(spool.close)
        spool.media.add(medium())
        spool._db.execute("UPDATE media SET row='{\"lane\": {}}'")
        spool.media.add(medium(media_id="md_2"))
        with self.assertLogs("iris.outbox"):
            first = spool.media.first()
        self.assertEqual(first and first.media_id, "md_2")
        self.assertEqual(spool.media.unfetched(), [])

    def test_another_gateway(self) -> None:
        spool = Spool(self.dir / "spool.db")
        self.addCleanup(spool.close)
        spool.meet("g_1", 0, 0)
        spool.media.add(medium())
        spool.meet("g_2", 0, 0)
        self.assertIsNone(spool.media.first())


@needs_websockets
class DownloadTest(MediaCase):
    def get(self, host: Host, *wanted: Attachment) -> list[Any]:
        async def all_of() -> list[Any]:
            gets = (host.fetch(one, self.dir / f"{i}.png") for i, one in enumerate(wanted))
            return await asyncio.wait_for(asyncio.gather(*gets), 30)

        return [got.read_bytes() if isinstance(got, Path) else got for got in asyncio.run(all_of())]

    def offer(self, data: bytes, media_id: str = "md_1") -> Attachment:
        return Attachment.of(self.media.offer(media_id, data))

    def offsets(self) -> list[int]:
        return [get["offset"] for get in self.media.gets]

    def leftovers(self) -> list[Path]:
        return list(self.dir.glob("*.part"))

    def test_exact(self) -> None:
        sizes = (0, 1, 64 * 1024 - 1, 64 * 1024, 64 * 1024 + 1, 3 * MIB)
        data = [os.urandom(size) for size in sizes]
        wanted = [self.offer(d, f"md_{i}") for i, d in enumerate(data)]
        self.assertEqual(self.get(self.start(), *wanted), data)
        self.assertEqual(self.leftovers(), [])

    def test_goes_on_after_a_cut(self) -> None:
        data, self.media.cut_after = os.urandom(MIB), 5 * 64 * 1024
        self.assertEqual(self.get(self.start(), self.offer(data)), [data])
        self.assertEqual(self.offsets(), [0, 5 * 64 * 1024])

    def test_goes_on_in_the_next_process(self) -> None:
        data = os.urandom(MIB)
        (self.dir / "0.png.part").write_bytes(data[:1000])
        self.assertEqual(self.get(self.start(), self.offer(data)), [data])
        self.assertEqual(self.offsets(), [1000])

    def test_message_that_an_earlier_process_left(self) -> None:
        frame = {"cursor": 1, "kind": "message", "chat_id": "c", "body": {}}
        spool = Spool(self.dir / "spool.db")
        spool.store(Inbound.of_frame(frame), frame)
        spool.close()
        wanted, loop = self.offer(b"x"), asyncio.new_event_loop()
        self.addCleanup(loop.close)
        gets: list[asyncio.Task[Path | str]] = []

        def deliver(item: Inbound) -> None:
            gets.append(loop.create_task(host.fetch(wanted, self.dir / "0.png")))
            loop.run_until_complete(asyncio.sleep(0))  # it asks before the host has started

        self.gateway.start()
        self.addCleanup(self.gateway.stop)
        host = Host(Settings(self.gateway.url, "secret"), self.dir / "spool.db", dict, deliver, AtOnce())
        host.start()
        self.addCleanup(host.stop)
        (get,) = gets
        self.assertEqual(loop.run_until_complete(asyncio.wait_for(get, 30)), self.dir / "0.png")

    def test_there_already(self) -> None:
        (self.dir / "0.png").write_bytes(b"whole")
        self.assertEqual(self.get(self.start(), self.offer(b"whole")), [b"whole"])
        self.assertEqual(self.media.gets, [])

    def test_deleted(self) -> None:
        wanted = self.offer(b"x")
        del self.media.stored["md_1"]
        other = self.offer(b"y", "md_2")
        self.assertEqual(self.get(self.start(), wanted, other), ["it was deleted", b"y"])

    def test_damaged_once(self) -> None:
        self.media.lies = [b"y"]
        self.assertEqual(self.get(self.start(), self.offer(b"x")), [b"x"])

    def test_damaged_for_ever(self) -> None:
        self.media.lies = [b"y", b"xx", b"", b"xxxxxxxx", b"z", b"z", b"z"]
        (got,) = self.get(self.start(), self.offer(b"x"))
        self.assertIn("however often", got)
        self.assertEqual(self.leftovers(), [])

    def test_more_than_was_announced_is_not_kept(self) -> None:
        sizes: list[int] = []

        def whole(part: Path, start: dict[str, Any], attachment: Attachment) -> bool:
            sizes.append(part.stat().st_size if part.exists() else 0)
            return check(part, start, attachment)

        check, self.media.lies = download._whole, [b"x" * MIB]
        with mock.patch.object(download, "_whole", whole):
            self.assertEqual(self.get(self.start(), self.offer(b"x")), [b"x"])
        self.assertEqual(sizes, [0, 1])

    def test_rest_of_another_file(self) -> None:
        (self.dir / "0.png.part").write_bytes(b"much too long")
        self.assertEqual(self.get(self.start(), self.offer(b"short")), [b"short"])
        self.assertEqual(self.offsets(), [0])

    def test_not_now(self) -> None:
        self.media.refusals = [{"code": "internal", "message": "the store is away"}] * 2
        self.assertEqual(self.get(self.start(), self.offer(b"x")), [b"x"])

    def test_no_answer(self) -> None:
        self.media.mute = 1
        with mock.patch.object(download, "STALL", 0.05):
            self.assertEqual(self.get(self.start(), self.offer(b"x")), [b"x"])
        self.assertGreater(len(self.gateway.hellos), 1)

    def test_disk_full(self) -> None:
        wanted = self.offer(b"x")
        with mock.patch.object(
            download._Transfer, "_open", side_effect=OSError(28, "No space left on device")
        ):
            (got,) = self.get(self.start(), wanted)
        self.assertEqual(got, "the host cannot keep it (No space left on device)")


if __name__ == "__main__":
    unittest.main()
