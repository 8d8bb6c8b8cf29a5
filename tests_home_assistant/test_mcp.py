"""Home Assistant's own client of the Model Context Protocol, connected to the library's server."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from homeassistant.components.mcp.const import DOMAIN
from homeassistant.config_entries import SOURCE_USER
from homeassistant.core import HomeAssistant
from homeassistant.data_entry_flow import FlowResultType
from homeassistant.helpers import llm

PYTHON = os.environ.get("FAMILY_RECALL_PYTHON", "")
"""An interpreter with the extra ``mcp``, whose version is another than Home Assistant's."""


@pytest.fixture
def url(tmp_path: Path, socket_enabled: None) -> Iterator[str]:
    """Serve a household as the recipe says, and return the URL for Home Assistant."""
    del socket_enabled
    if not PYTHON:
        pytest.skip("FAMILY_RECALL_PYTHON names no Python with the extra mcp")
    db = str(tmp_path / "family.db")
    command = (PYTHON, "-m", "family_recall")
    key = ("add", "The spare key is under the blue pot", "--author", "alice", "--db", db)
    served = ("mcp", "--db", db, "--person", "alice", "--aloud", "--http", "--port", "0")
    subprocess.run([*command, "init", "--person", "alice", "--db", db], check=True)  # noqa: S603
    subprocess.run([*command, *key], check=True)  # noqa: S603
    server = subprocess.Popen(  # noqa: S603
        [*command, *served, "--token-in-url"], stderr=subprocess.PIPE, text=True
    )
    assert server.stderr is not None
    for line in server.stderr:
        if line.startswith("listening on "):
            yield line.split()[2]
            break
    server.terminate()
    server.wait()


async def test_it_connects_by_a_url_alone(hass: HomeAssistant, url: str) -> None:
    """The dialog asks for nothing else; the tools are listed, and one answers."""
    form = await hass.config_entries.flow.async_init(DOMAIN, context={"source": SOURCE_USER})
    done = await hass.config_entries.flow.async_configure(form["flow_id"], {"url": url})
    await hass.async_block_till_done()

    assert done["type"] is FlowResultType.CREATE_ENTRY, done
    (api,) = (one for one in llm.async_get_apis(hass) if one.id != llm.LLM_API_ASSIST)
    nobody = dict.fromkeys(llm.LLMContext.__dataclass_fields__)
    instance = await api.async_get_api_instance(llm.LLMContext(**nobody))
    assert {"recall", "remember"} <= {tool.name for tool in instance.tools}
    answer = await instance.async_call_tool(
        llm.ToolInput(tool_name="recall", tool_args={"question": "Where is the spare key?"})
    )
    assert "under the blue pot" in str(answer)
    assert await hass.config_entries.async_unload(done["result"].entry_id)
