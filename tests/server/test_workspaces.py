"""Each folder has its own configuration, and changes of it count at once."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from lsprotocol import types

BAD = 'import torch\n\nstate = torch.load("a.pt")\n'
HERE = ["2:14 TL501"]


def folder(parent: Path, name: str, configuration: str = "") -> Path:
    """A folder of the workspace with a configuration."""
    path = parent / name
    path.mkdir()
    if configuration:
        (path / "pyproject.toml").write_text(f"[tool.torchlint]\n{configuration}\n", encoding="utf-8")
    return path


def test_each_folder_has_its_own_configuration(session: Any, tmp_path: Path) -> None:
    one = folder(tmp_path, "one")
    two = folder(tmp_path, "two", 'ignore = ["TL501"]')
    three = folder(tmp_path, "three", 'exclude = ["old"]')

    async def scenario(editor: Any) -> None:
        for path in (one / "a.py", two / "a.py", three / "a.py", three / "old" / "a.py"):
            editor.open(path.as_uri(), BAD)
        assert await editor.codes((one / "a.py").as_uri()) == HERE
        assert await editor.codes((two / "a.py").as_uri()) == []
        assert await editor.codes((three / "a.py").as_uri()) == HERE
        assert editor.newest((three / "old" / "a.py").as_uri()) is None

    session(scenario, folders=[one, two, three])


def test_a_changed_configuration_counts_at_once(session: Any, tmp_path: Path) -> None:
    path = tmp_path / "a.py"
    configuration = tmp_path / "torchlint.toml"

    async def scenario(editor: Any) -> None:
        editor.open(path.as_uri(), BAD)
        await editor.settled(path.as_uri(), HERE)
        await editor.until(lambda: "workspace/didChangeWatchedFiles" in editor.registered)
        configuration.write_text('ignore = ["unmapped-load"]\n', encoding="utf-8")
        editor.file_changed(configuration)
        await editor.settled(path.as_uri(), [])
        configuration.write_text("ignore = []\n", encoding="utf-8")
        editor.file_changed(configuration)
        await editor.settled(path.as_uri(), HERE)

    session(scenario)


def test_a_broken_configuration_is_shown_once_and_silences(session: Any, tmp_path: Path) -> None:
    path = tmp_path / "a.py"
    configuration = tmp_path / "torchlint.toml"

    async def scenario(editor: Any) -> None:
        editor.open(path.as_uri(), BAD)
        await editor.settled(path.as_uri(), HERE)
        configuration.write_text("ignor = []\n", encoding="utf-8")
        editor.file_changed(configuration)
        await editor.settled(path.as_uri(), [])
        editor.change(path.as_uri(), 2, BAD)
        configuration.write_text("ignore = []\n", encoding="utf-8")
        editor.file_changed(configuration)
        await editor.settled(path.as_uri(), HERE)
        [message] = editor.messages
        assert "torchlint.toml" in message
        assert "did you mean 'ignore'" in message

    session(scenario)


def test_the_editors_settings_go_over_the_configuration(session: Any, tmp_path: Path) -> None:
    one, two = folder(tmp_path, "one"), folder(tmp_path, "two", 'ignore = ["TL501"]')
    path, other = (one / "a.py").as_uri(), (two / "a.py").as_uri()

    async def scenario(editor: Any) -> None:
        editor.open(path, BAD)
        editor.open(other, BAD)
        await editor.settled(path, [])
        await editor.settled(other, HERE)
        editor.settings = {two.as_uri(): {"enable": False}}
        editor.client.workspace_did_change_configuration(types.DidChangeConfigurationParams(None))
        await editor.settled(path, HERE)
        await editor.settled(other, [])
        editor.settings = {one.as_uri(): {"selct": []}}
        editor.client.workspace_did_change_configuration(types.DidChangeConfigurationParams(None))
        await editor.until(lambda: editor.messages != [])
        assert "unknown setting 'selct': did you mean 'select'" in editor.messages[0]

    session(
        scenario,
        folders=[one, two],
        settings={one.as_uri(): {"ignore": ["TL5"]}, two.as_uri(): {"extendSelect": ["TL501"]}},
    )


def test_a_folder_that_is_added_brings_its_settings(session: Any, tmp_path: Path) -> None:
    one, two = folder(tmp_path, "one"), folder(tmp_path, "two")
    uri = (two / "a.py").as_uri()

    async def scenario(editor: Any) -> None:
        editor.open(uri, BAD)
        await editor.settled(uri, HERE)
        added = types.WorkspaceFoldersChangeEvent(added=[types.WorkspaceFolder(two.as_uri(), "two")], removed=[])
        editor.client.workspace_did_change_workspace_folders(types.DidChangeWorkspaceFoldersParams(added))
        await editor.settled(uri, [])

    session(scenario, folders=[one], settings={two.as_uri(): {"ignore": ["ALL"]}})
