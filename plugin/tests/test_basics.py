"""Ids, lanes, settings, texts, tools, events: what needs neither a thread nor a file."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import unittest
from email.utils import formatdate
from unittest import mock

from support import LANE, PLUGIN, event

from iris import ids, lanes, settings, text, tools
from iris.clock import Clock
from iris.events import Event


class IdsTest(unittest.TestCase):
    def test_prefix_and_length(self) -> None:
        minted = ids.mint("m_")
        self.assertRegex(minted, r"^m_[0-7][0-9A-HJKMNP-TV-Z]{25}$")

    def test_unique_and_in_order_of_time(self) -> None:
        with mock.patch("time.time", side_effect=[1790000000.0, 1790000000.002]):
            first, second = ids.mint("m_"), ids.mint("m_")
        self.assertLess(first, second)
        self.assertEqual(len({ids.mint("m_") for _ in range(1000)}), 1000)


class LanesTest(unittest.TestCase):
    def test_no_colon_reaches_hermes_and_all_comes_back(self) -> None:
        for iris_id in ("android:default", "a~b", "a%7Eb", "::~~%%", "日本 🎉/x", "plain"):
            with self.subTest(iris_id):
                coded = lanes.encode(iris_id)
                self.assertNotIn(":", coded)
                self.assertEqual(lanes.decode(coded), iris_id)
        self.assertEqual(lanes.encode("android:default"), "android~default")

    def test_lane_of_hermes(self) -> None:
        lane = lanes.Lane.of_hermes("android~default", "t~1")
        self.assertEqual(lane, lanes.Lane("android:default", "t:1"))
        self.assertEqual((lane.hermes_chat, lane.hermes_thread), ("android~default", "t~1"))
        self.assertIsNone(lanes.Lane.of_hermes("a", "").thread_id)


class SettingsTest(unittest.TestCase):
    def test_endpoint(self) -> None:
        cases = {
            "https://gw.example": "wss://gw.example/host",
            "https://gw.example/iris/": "wss://gw.example/iris/host",
            "http://127.0.0.1:8080": "ws://127.0.0.1:8080/host",
        }
        for url, endpoint in cases.items():
            self.assertEqual(settings.Settings(url, "t").endpoint, endpoint)

    def test_token_never_in_clear_text_nor_printed(self) -> None:
        for url in ("http://gw.example", "ftp://gw.example", "gw.example", ""):
            with self.subTest(url), self.assertRaises(settings.BadSettings):
                _ = settings.Settings(url, "t").endpoint
        self.assertNotIn("hush", repr(settings.Settings("https://gw.example", "hush")))

    def test_load(self) -> None:
        with mock.patch.dict(os.environ, {"IRIS_URL": " https://x ", "IRIS_TOKEN": "t"}):
            self.assertEqual(settings.load(), settings.Settings("https://x", "t"))
            self.assertTrue(settings.load().complete)


class TextTest(unittest.TestCase):
    def test_head_mark_tail(self) -> None:
        cut = text.cut_text("a" * 1000 + "z" * 1000, 100)
        self.assertTrue(cut.startswith("a" * 50) and cut.endswith("z" * 50))
        self.assertIn("1900 bytes cut", cut)
        self.assertEqual(text.cut_text("short", 100), "short")

    def test_never_inside_a_character(self) -> None:
        self.assertNotIn("\ufffd", text.cut_text("é" * 1000, 101))
        self.assertLessEqual(len(text.tail_text("世" * 5000).encode()), text.TAIL_LIMIT + 3)

    def test_whatever_comes_can_be_encoded(self) -> None:
        odd = {1: {2, 3}, "f": float("nan"), "o": object(), "deep": [[[[[[[[[["x"]]]]]]]]]]}
        json.dumps(text.cut(odd, 100), allow_nan=False)
        self.assertEqual(text.cut([0.5, 7, True, None], 100), [0.5, 7, True, None])


class ToolsTest(unittest.TestCase):
    def test_ok_looks_into_the_result(self) -> None:
        good = [
            ("ok", '{"output":"hi","exit_code":0,"error":null}'),
            ("ok", "plain text"),
            (None, None),
            ("ok", '["a"]'),
            ("success", {"user_response": "red"}),
        ]
        bad = [
            ("ok", '{"output":"","exit_code":3,"error":null}'),
            ("error", '{"status":"blocked"}'),
            ("ok", '{"error":"no such file"}'),
            ("ok", '{"success":false}'),
            ("ok", {"status": "blocked"}),
            ("error", "plain text"),  # whatever it gave back
            ("timeout", None),
            ("ok", {"user_response": "[user did not respond within 60m]"}),
        ]
        for status, result in good:
            self.assertTrue(tools.ok(status, result), result)
        for status, result in bad:
            self.assertFalse(tools.ok(status, result), result)

    def test_output_tail(self) -> None:
        self.assertEqual(tools.output_tail('{"output":"hi","exit_code":0}'), "hi")
        self.assertEqual(tools.output_tail('{"output":"","error":"gone"}'), "gone")
        self.assertEqual(tools.output_tail("text"), "text")
        self.assertEqual(tools.output_tail('{"output":"","exit_code":0,"error":null,"approval":"given"}'), "")
        self.assertEqual(tools.output_tail(None), "")
        self.assertTrue(tools.output_tail(json.dumps({"output": "x" * 9000 + "END"})).endswith("END"))

    def test_args_are_an_object_of_16_kib(self) -> None:
        self.assertEqual(tools.args_of({"a": 1}), {"a": 1})
        self.assertEqual(tools.args_of("text"), {"value": "text"})
        self.assertEqual(tools.args_of(None), {})
        for args in (
            {"content": "x" * 100_000},
            {str(i): "y" * 500 for i in range(200)},
            {"n": list(range(50_000))},
        ):
            self.assertLessEqual(len(json.dumps(tools.args_of(args))), text.ARGS_LIMIT)

    def test_preview(self) -> None:
        self.assertEqual(tools.preview({"timeout": 3, "command": "ls -l\nrm x"}), "ls -l")
        self.assertEqual(tools.preview({"todos": [1]}), "")
        self.assertEqual(len(tools.preview({"query": "q" * 500})), 120)


class ClockTest(unittest.TestCase):
    def test_is_the_gateways(self) -> None:
        clock = Clock(lambda: 1_000_000.0)
        self.assertEqual(clock.now_ms(), 1_000_000_000)
        with self.assertLogs("iris.clock", "WARNING"):
            clock.meet(formatdate(999_400, usegmt=True))
        self.assertEqual(clock.now_ms(), 999_400_000)
        for unreadable in (None, "", "yesterday"):
            clock.meet(unreadable)
        self.assertEqual(clock.now_ms(), 999_400_000)
        clock.meet(formatdate(999_999, usegmt=True))  # somebody has set the clock
        self.assertEqual(clock.now_ms(), 1_000_000_000)


class EventsTest(unittest.TestCase):
    def test_durable(self) -> None:
        self.assertFalse(event("send", streaming=True).durable)
        self.assertTrue(event("send", streaming=False).durable)
        self.assertFalse(event("edit", final=False).durable)
        self.assertTrue(event("edit", final=True).durable)
        self.assertTrue(event("model.start").durable)  # it decides which texts belong together
        self.assertTrue(event("turn.end").durable)

    def test_frame(self) -> None:
        frame = json.loads(event("answer", text="hé").frame(7))
        self.assertEqual((frame["type"], frame["seq"], frame["kind"]), ("event", 7, "answer"))
        self.assertEqual((frame["chat_id"], frame["thread_id"]), (LANE.chat_id, None))
        self.assertNotIn("seq", json.loads(event("model.start").frame(None)))

    def test_frame_fits_whatever_the_model_said(self) -> None:
        frame = event("model.end", text="界" * 600_000, reasoning="r" * 600_000).frame(1)
        self.assertLess(len(frame.encode()), 1_000_001)
        self.assertIn("bytes cut", frame)

    def test_frame_fits_whatever_is_offered(self) -> None:
        models = [{"id": f"some/model-{i}", "label": f"some/model-{i}"} for i in range(1000)]
        body = {
            "prompt_id": "pr_1",
            "kind": "model",
            "providers": [{"id": f"p{i}", "models": models} for i in range(40)],
        }
        frame = Event("prompt", LANE, body).frame(1)
        self.assertLess(len(frame.encode()), 1_000_001)
        self.assertEqual(json.loads(frame)["body"]["providers"][0]["models"][:10], models[:10])
        frame = event("prompt", odd={str(i): "x" * 64 for i in range(100_000)}).frame(1)
        self.assertEqual((json.loads(frame)["seq"], json.loads(frame)["body"]), (1, {}))

    def test_lone_surrogate(self) -> None:
        json.loads(event("answer", text="a\ud800b").frame(1).encode())


class ImportTest(unittest.TestCase):
    """hermes imports the plugin in many processes: register must neither import hermes nor dial."""

    def test_register_alone(self) -> None:
        code = (
            "import sys, threading, unittest.mock as m, iris\n"
            "ctx = m.Mock(); iris.register(ctx)\n"
            "assert ctx.register_platform.call_args.kwargs['name'] == 'iris'\n"
            "assert ctx.register_hook.call_count == 10\n"
            "bad = {'gateway', 'hermes_cli', 'websockets', 'sqlite3'} & set(sys.modules)\n"
            "assert not bad, bad\n"
            "assert threading.active_count() == 1\n"
            "[c.args[1](session_id='s') for c in ctx.register_hook.call_args_list]\n"  # no adapter: no harm
        )
        done = subprocess.run(
            [sys.executable, "-B", "-c", code],
            env={"PYTHONPATH": str(PLUGIN)},
            capture_output=True,
            text=True,
        )
        self.assertEqual(done.returncode, 0, done.stderr)


if __name__ == "__main__":
    unittest.main()
