"""AgentLoop while it is not known yet where to look."""

from __future__ import annotations

import pytest

from tests.platforms.agentloop.fake import FakePlatform
from tests.support.screen_text import screen_text, see
from tests.tui.agentloop.steps import PATIENCE, Make


async def test_a_key_typed_before_the_place_is_known_waits_for_it_and_the_keys_say_what_is_missing(
    make_app: Make, fake: FakePlatform, credentials: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TUI_EVAL_AGENTLOOP_REGION", "cn-hangzhou")
    monkeypatch.setenv("TUI_EVAL_AGENTLOOP_ENDPOINT", fake.url)
    app = make_app()
    async with app.run_test(size=(80, 24), notifications=True) as pilot:
        await pilot.press("B", "a")
        await see(pilot, "type to filter", PATIENCE)
        await pilot.press("escape")
        await see(pilot, "a agent space  o region", PATIENCE)
        assert "i details" not in screen_text(app)
