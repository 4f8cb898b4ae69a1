"""The plugin in real hermes processes that are no gateway: they list it and load it, and nothing more
happens.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import unittest

from support import PLUGIN, TempDir, has, needs_hermes

if has("gateway.platforms.base"):
    import hermes_cli

LOAD = """
import json, sys, threading
from hermes_cli.plugins import discover_plugins, get_plugin_manager
discover_plugins()
(found,) = [p for p in get_plugin_manager().list_plugins() if p["name"] == "iris"]
heavy = {"hermes_plugins.iris.adapter", "hermes_plugins.iris.link", "websockets"} & set(sys.modules)
print(json.dumps({**found, "heavy": sorted(heavy), "threads": threading.active_count()}))
"""

CATALOGUE = """
import json
from hermes_cli.plugins import discover_plugins
discover_plugins()
from hermes_plugins.iris import hermes
print(json.dumps(hermes.hello()))
"""

GREET = """
def register(ctx):
    ctx.register_command("greet", lambda args: "hi", description="Says hi", args_hint="[whom]")
    ctx.register_command("status", lambda args: "mine", description="Not hermes' own")
"""


@needs_hermes
class LoadedTest(TempDir):
    def setUp(self) -> None:
        super().setUp()
        (self.dir / "plugins").mkdir()
        (self.dir / "plugins" / "iris").symlink_to(PLUGIN / "iris")
        (self.dir / "config.yaml").write_text("plugins: {enabled: [iris]}\n")

    def hermes(self, *args: str) -> str:
        """Run Python in hermes' environment, without a network."""
        env = {"HOME": str(self.dir), "HERMES_HOME": str(self.dir), "COLUMNS": "200", "LANG": "C.UTF-8"}
        env |= {"HTTPS_PROXY": "http://127.0.0.1:9", "PYTHONPATH": os.environ.get("PYTHONPATH", "")}
        env |= {"IRIS_URL": "http://127.0.0.1:9", "IRIS_TOKEN": "secret"}
        done = subprocess.run(
            [sys.executable, "-B", *args], env=env, capture_output=True, text=True, timeout=120
        )
        self.assertEqual((done.returncode, "Traceback" in done.stderr), (0, False), done.stderr)
        return done.stdout

    def test_listed(self) -> None:
        rows = self.hermes("-m", "hermes_cli.main", "plugins", "list").splitlines()
        self.assertTrue(any("iris" in row and " enabled" in row and "user" in row for row in rows), rows)

    def test_loaded_without_its_adapter(self) -> None:
        found = json.loads(self.hermes("-c", LOAD).splitlines()[-1])
        self.assertEqual((found["enabled"], found["error"], found["hooks"]), (True, None, 10))
        self.assertEqual((found["heavy"], found["threads"]), ([], 1))
        self.assertFalse((self.dir / "iris").exists())  # no spool

    def test_catalogue_of_commands(self) -> None:
        other = self.dir / "plugins" / "greet"
        other.mkdir()
        (other / "plugin.yaml").write_text("name: greet\nversion: 1.0.0\ndescription: Greets\n")
        (other / "__init__.py").write_text(GREET)
        (self.dir / "config.yaml").write_text("plugins: {enabled: [iris, greet]}\nmodel: {default: m}\n")
        hello = json.loads(self.hermes("-c", CATALOGUE).splitlines()[-1])
        self.assertEqual((hello["agent"]["name"], hello["agent"]["model"]), ("hermes-agent", "m"))
        self.assertEqual(hello["agent"]["version"], hermes_cli.__version__)
        commands = {command["name"]: command for command in hello["commands"]}
        self.assertEqual(len(commands), len(hello["commands"]), "a name comes twice")
        self.assertIn("/reset", commands["/new"]["aliases"])
        greet = {"description": "Says hi", "args_hint": "[whom]", "category": "Plugins", "aliases": []}
        self.assertEqual(commands["/greet"], {"name": "/greet", **greet})
        self.assertNotEqual(commands["/status"]["category"], "Plugins")
        self.assertFalse({"/approve", "/deny", "/start", "/clear"} & set(commands))  # /clear: terminals only


if __name__ == "__main__":
    unittest.main()
