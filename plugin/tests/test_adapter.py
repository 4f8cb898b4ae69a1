"""The adapter inside real hermes classes: what each call becomes, and that none of them waits."""

from __future__ import annotations

import asyncio
import os
import unittest
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest import mock

from support import LANE, TempDir, has, needs_hermes

from iris.attachment import Attachment
from iris.events import Event
from iris.lanes import Lane
from iris.medium import Medium
from iris.spool import Inbound

if has("gateway.platforms.base"):
    from gateway.config import PlatformConfig
    from gateway.platform_registry import PlatformEntry, platform_registry
    from gateway.platforms.base import (
        MessageEvent,
        MessageType,
        ProcessingOutcome,
        get_document_cache_dir,
        get_image_cache_dir,
    )

    import iris
    from iris.adapter import Adapter


def registered() -> None:
    """Register the platform, so that hermes knows its name."""

    def platform(name: str, label: str, adapter_factory: Any, check_fn: Any, **fields: Any) -> None:
        platform_registry.register(PlatformEntry(name, label, adapter_factory, check_fn, **fields))

    iris.register(SimpleNamespace(register_platform=platform, register_hook=lambda *_: None))


def runner(key: str, agent: object) -> Any:
    return SimpleNamespace(_running_agents={key: agent}, _profile_name_for_source=lambda _: None)


class AdapterCase(TempDir, unittest.IsolatedAsyncioTestCase):
    """A test with an adapter whose events are in `events`."""

    def setUp(self) -> None:
        super().setUp()
        settings = {"HERMES_HOME": str(self.dir), "IRIS_URL": "http://127.0.0.1:9", "IRIS_TOKEN": "t"}
        patch = mock.patch.dict(os.environ, settings)
        patch.start()
        self.addCleanup(patch.stop)
        registered()
        self.adapter = Adapter(PlatformConfig(enabled=True))
        self.events: list[Event] = []
        self.adapter._host.emit = self.events.append
        self.adapter._inbox.started = mock.Mock()
        self.adapter._inbox.ended = mock.Mock()

    def source(self, thread: str | None = None) -> Any:
        return self.adapter._source(Lane("android:default", thread), {})

    def last(self) -> Event:
        return self.events[-1]

    async def start(self, text: str = "hi", message: str | None = "m_u", **fields: Any) -> Any:
        event = MessageEvent(text=text, source=self.source(), message_id=message, **fields)
        await self.adapter.on_processing_start(event)
        return event


@needs_hermes
class AdapterTest(AdapterCase):
    def test_what_hermes_looks_for_on_the_class(self) -> None:
        for name in ("send_exec_approval", "send_model_picker", "send_choice_picker"):
            self.assertTrue(hasattr(Adapter, name), name)
        self.assertFalse(hasattr(Adapter, "send_update_prompt"))  # falls back to text

    def test_enabled_by_its_settings_alone(self) -> None:
        home = {"home_channel": {"chat_id": "android~default", "name": "Default"}}
        self.assertEqual(iris._enablement(), home)
        with mock.patch.dict(os.environ, {"IRIS_TOKEN": ""}):
            self.assertIsNone(iris._enablement())

    def test_the_model_is_told_that_it_can_send_files(self) -> None:
        entry = platform_registry.get("iris")
        self.assertIn("MEDIA:/absolute/path", entry.platform_hint if entry else "")

    async def test_turn(self) -> None:
        event = await self.start()
        turn = self.last().turn
        self.assertEqual(self.last().body, {"trigger": "m_u", "source": "user"})
        meta = {"expect_edits": True, "reply_to_message_id": "m_u"}
        sent = await self.adapter.send("android~default", "a ▉", "m_u", meta)
        body = self.last().body
        self.assertTrue(sent.success and sent.message_id.startswith("m_"))
        self.assertEqual((body["streaming"], body["notify"], body["immediate"]), (True, False, False))
        self.assertEqual((self.last().turn, self.last().lane, body["reply_to"]), (turn, LANE, "m_u"))
        await self.adapter.edit_message("android~default", sent.message_id, "ab", finalize=True)
        await self.adapter.edit_message("android~default", sent.message_id, "ab", finalize=True)
        edits = [e for e in self.events if e.kind == "edit"]
        self.assertEqual(len(edits), 1)
        self.assertEqual((edits[0].body["final"], edits[0].body["reply_to"]), (True, "m_u"))
        await self.adapter.on_processing_complete(event, ProcessingOutcome.SUCCESS)
        self.assertEqual((self.last().kind, self.last().turn), ("turn.end", turn))
        self.assertEqual(self.last().body["outcome"], "completed")
        self.adapter._inbox.started.assert_called_once_with(LANE, "m_u")

    async def test_segment_that_is_sent_whole_is_durable(self) -> None:
        await self.start()
        meta = {"expect_edits": True, "notify": True}
        sent = await self.adapter.send("android~default", "Let me look.", "m_u", meta)
        self.assertEqual([(e.kind, e.durable) for e in self.events[1:]], [("send", False), ("edit", True)])
        self.assertEqual(self.last().body["text"], "Let me look.")
        await self.adapter.edit_message("android~default", sent.message_id, "Let me look.", finalize=True)
        self.assertEqual(len(self.events), 3)

    async def test_sources(self) -> None:
        for text, fields, source in (
            ("/status", {}, "command"),
            ("", {"internal": True}, "internal"),
            ("what is /etc?", {}, "user"),
        ):
            event = await self.start(text, None, **fields)
            self.assertEqual(self.last().body, {"trigger": None, "source": source})
            await self.adapter.on_processing_complete(event, ProcessingOutcome.CANCELLED)
            self.assertEqual(self.last().body["outcome"], "stopped")

    async def test_nobody_asked(self) -> None:
        await self.start("[background process done]", "m_long_ago", internal=True)
        self.assertEqual(self.last().body, {"trigger": None, "source": "internal"})

    async def test_stop_marks_the_turn(self) -> None:
        event = await self.start()
        await self.adapter.stop(LANE)
        await self.adapter.on_processing_complete(event, ProcessingOutcome.SUCCESS)
        self.assertEqual(self.last().body["outcome"], "stopped")

    async def test_kinds_of_send(self) -> None:
        await self.adapter.send(
            "android~default", "Cronjob Response", metadata={"job_id": "j", "thread_id": "t~1"}
        )
        self.assertEqual((self.last().kind, self.last().body["job"]), ("cron", "j"))
        self.assertEqual(self.last().lane, Lane("android:default", "t:1"))
        await self.adapter.send("android~default", "note")  # metadata None, no reply_to
        self.assertEqual(
            (self.last().kind, self.last().body["reply_to"], self.last().turn), ("send", None, None)
        )
        await self.adapter.send_or_update_status("android~default", "lifecycle", "retrying", metadata=None)
        self.assertEqual(self.last().body, {"key": "lifecycle", "text": "retrying"})
        await asyncio.create_task(self.adapter.send("android~default", "ack", "m_u"), name="iris-in-4-0")
        self.assertTrue(self.last().body["immediate"])
        await self.adapter.delete_message("android~default", self.last().body["message_id"])
        self.assertEqual(self.last().kind, "delete")

    async def test_name_of_a_job(self) -> None:
        from cron.jobs import create_job

        job = create_job("Say hello", "every 1d", name="the greeting")["id"]
        wrapped = f"Cronjob Response: as it was called then\n(job_id: {job})\n-------------\n\nHello"
        for text, name in (("Hello", "the greeting"), (wrapped, "as it was called then")):
            await self.adapter.send("android~default", text, metadata={"job_id": job})
            self.assertEqual(self.last().body["job"], name)

    async def test_thread(self) -> None:
        thread = await self.adapter.create_handoff_thread("android~default", "Report")
        self.assertEqual(self.last().body, {"thread_id": thread, "name": "Report"})
        self.assertEqual(
            (self.last().kind, self.last().lane), ("thread.create", Lane("android:default", thread))
        )

    async def test_hand(self) -> None:
        self.adapter.handle_message = mock.AsyncMock()
        quote = {"message_id": "m_q", "role": "assistant", "text": "said"}
        body = {"message_id": "m_1", "text": "hi", "reply_to": quote, "channel": {"name": "Home"}}
        await self.adapter.hand(Inbound(1, 0, 1, "message", Lane("android:default", "t:1"), body))
        event = self.adapter.handle_message.call_args.args[0]
        source = event.source
        self.assertEqual(
            (source.chat_id, source.thread_id, source.chat_name), ("android~default", "t~1", "Home")
        )
        self.assertEqual((event.message_id, source.message_id), ("m_1", "m_1"))
        self.assertEqual((event.reply_to_text, event.reply_to_is_own_message), ("said", True))

    async def test_hand_a_quote_that_is_none(self) -> None:
        self.adapter.handle_message = mock.AsyncMock()
        for quote in ("m_q", ["m_q"], 7, True, None):
            await self.adapter.hand(Inbound(1, 0, 1, "message", LANE, {"text": "hi", "reply_to": quote}))
            event = self.adapter.handle_message.call_args.args[0]
            self.assertEqual((event.text, event.reply_to_message_id, event.reply_to_text), ("hi", None, None))
        self.assertEqual(self.adapter.handle_message.await_count, 5)

    async def handed(self, text: str, **media: bytes) -> Any:
        """Return the event that hermes gets of a message with these files."""
        self.adapter.handle_message = mock.AsyncMock()

        async def fetch(wanted: Attachment, into: Path) -> Path | str:
            if wanted.media_id not in media:
                return "it was deleted"
            into.write_bytes(media[wanted.media_id])
            return into

        self.adapter._host.fetch = fetch
        described = [
            {"media_id": "png", "kind": "image", "mime": "image/png", "size": 3, "filename": "../cat.png"},
            {
                "media_id": "pdf",
                "kind": "document",
                "mime": "application/pdf",
                "size": 9,
                "filename": "d.pdf",
            },
        ]
        body = {"message_id": "m_1", "text": text, "media": described}
        item = Inbound(1, 0, 1, "message", LANE, body)
        await self.adapter.prepare(item)
        await self.adapter.hand(item)
        self.assertEqual(self.adapter._files, {})
        return self.adapter.handle_message.call_args.args[0]

    async def test_hand_files(self) -> None:
        event = await self.handed("look", png=b"png", pdf=b"%PDF")
        self.assertEqual((event.text, event.message_type), ("look", MessageType.PHOTO))
        self.assertEqual(event.media_types, ["image/png", "application/pdf"])
        picture, document = map(Path, event.media_urls)
        self.assertEqual((picture.read_bytes(), document.read_bytes()), (b"png", b"%PDF"))
        self.assertTrue(picture.name.endswith("_cat.png"))
        self.assertEqual(picture.parent, get_image_cache_dir())
        self.assertEqual(document.parent, get_document_cache_dir())

    async def test_files_go_with_their_message(self) -> None:
        event = await self.handed("look", png=b"png", pdf=b"%PDF")
        other = Path(event.media_urls[0]).with_name("img_of_somebody_else.png")
        other.write_bytes(b"x")
        await self.adapter.forget(Inbound(2, 0, 1, "delete", LANE, {"messages": [{"message_id": "m_2"}, 7]}))
        self.assertTrue(all(map(os.path.exists, event.media_urls)))
        await self.adapter.forget(Inbound(2, 0, 1, "delete", LANE, {"messages": [{"message_id": "m_1"}]}))
        self.assertFalse(any(map(os.path.exists, event.media_urls)))
        event = await self.handed("look", png=b"png", pdf=b"%PDF")
        await self.adapter.forget_lane(LANE)
        self.assertFalse(any(map(os.path.exists, event.media_urls)))
        self.assertTrue(other.exists())

    async def test_hand_what_is_left(self) -> None:
        event = await self.handed("", png=b"png")
        self.assertEqual(len(event.media_urls), 1)
        self.assertEqual(
            event.text, "[The user attached “d.pdf” (document), but it could not be fetched: it was deleted]"
        )

    async def test_hand_too_large_for_hermes(self) -> None:
        with mock.patch("iris.hermes.inbound_limit", return_value=5):
            event = await self.handed("look", png=b"png", pdf=b"%PDF")
        self.assertEqual(len(event.media_urls), 1)
        self.assertIn("it has 9 bytes", event.text)

    async def test_share(self) -> None:
        shared: list[tuple[Medium, str | None]] = []
        self.adapter._host.share = lambda medium, source: shared.append((medium, source))
        await self.start()
        turn, chat, meta = self.last().turn, "android~default", {"thread_id": "t~1"}
        adapter = self.adapter
        results = [
            await adapter.send_image_file(chat_id=chat, image_path="/w/a.png", caption=None, metadata=None),
            await adapter.send_voice(chat_id=chat, audio_path="/w/v.ogg", reply_to="m_u", metadata=meta),
            await adapter.send_voice(chat_id=chat, audio_path="/w/song.mp3", metadata=meta),
            await adapter.play_tts(
                chat_id=chat, audio_path="/w/tts.mp3", caption=None, metadata={"notify": True}
            ),
            await adapter.send_video(chat_id=chat, video_path="/w/f.mp4", caption="film", metadata=None),
            await adapter.send_document(chat, "/w/tmp123", file_name="../report.pdf", metadata=None, odd=1),
            await adapter.send_image(
                chat_id=chat, image_url="https://x.org/p/plot%20a.webp?s=1", caption="alt"
            ),
        ]
        self.assertTrue(all(r.success for r in results))
        self.assertEqual([r.message_id for r in results], [m.message_id for m, _ in shared])
        self.assertEqual(
            [(m.kind, m.filename, m.mime, source) for m, source in shared],
            [
                ("image", "a.png", "image/png", "/w/a.png"),
                ("voice", "v.ogg", "audio/ogg", "/w/v.ogg"),
                ("audio", "song.mp3", "audio/mpeg", "/w/song.mp3"),
                ("voice", "tts.mp3", "audio/mpeg", "/w/tts.mp3"),
                ("video", "f.mp4", "video/mp4", "/w/f.mp4"),
                ("document", "report.pdf", "application/pdf", "/w/tmp123"),
                ("image", "plot a.webp", "image/webp", None),
            ],
        )
        first, second, last = shared[0][0], shared[1][0], shared[-1][0]
        self.assertEqual((first.lane, first.turn, first.caption), (LANE, turn, ""))
        self.assertEqual((second.lane, second.reply_to), (Lane("android:default", "t:1"), "m_u"))
        self.assertEqual((last.url, last.caption), ("https://x.org/p/plot%20a.webp?s=1", "alt"))

    async def test_share_several(self) -> None:
        shared: list[tuple[str, str | None]] = []
        self.adapter._host.share = lambda medium, source: shared.append((medium.filename, source))
        images = [("file:///w/a%20b%3F.png", "one"), ("https://x.org/c.gif", "two"), ("https://x.org/d", "")]
        await self.adapter.send_multiple_images("android~default", images)
        self.assertEqual(shared, [("a b?.png", "/w/a b?.png"), ("c.gif", None), ("d", None)])

    async def test_steer(self) -> None:
        said: list[str] = []
        agent = SimpleNamespace(steer=lambda text: said.append(text) or True)
        key = self.adapter._key(self.source())
        self.assertFalse(self.adapter.steer(LANE, "be brief"))  # hermes is not there
        self.adapter.gateway_runner = runner(key, object())
        self.assertFalse(self.adapter.steer(LANE, "be brief"))  # a placeholder
        self.adapter.gateway_runner = runner(key, agent)
        self.assertTrue(self.adapter.steer(LANE, "be brief"))
        self.assertEqual(said, ["be brief"])

    async def test_name_of_the_lane(self) -> None:
        self.assertEqual(self.source().chat_name, "android:default")
        self.adapter._source(LANE, {"channel": {"name": "Home"}})
        self.assertEqual(self.source().chat_name, "Home")
        self.adapter.rename(LANE, "Work")
        self.assertEqual(self.source().chat_name, "Work")

    async def test_busy(self) -> None:
        self.assertFalse(self.adapter.busy(LANE))
        self.adapter._active_sessions[self.adapter._key(self.source())] = asyncio.Event()
        self.assertTrue(self.adapter.busy(LANE))
        self.adapter._active_sessions.clear()
        event = await self.start()
        self.assertTrue(self.adapter.busy(LANE))
        await self.adapter.on_processing_complete(event, ProcessingOutcome.SUCCESS)
        self.adapter.gateway_runner = SimpleNamespace(_draining=True)
        self.assertTrue(self.adapter.busy(LANE))

    async def test_connect_and_disconnect_without_a_gateway(self) -> None:
        del self.adapter._host.emit
        self.assertTrue(await self.adapter.connect())
        await self.start()
        await asyncio.wait_for(self.adapter.disconnect(), 5)
        self.assertTrue((self.dir / "iris" / "spool.db").exists())


if __name__ == "__main__":
    unittest.main()
