"""client.py URL KEY ERA TOOL ARGUMENTS...: connects, lists, calls each tool in turn, prints one line of JSON a step.

The interpreter chooses the SDK's version; ERA is legacy or modern, which only version 2 knows.
"""

import importlib.metadata
import json
import sys

import anyio

URL, KEY, ERA, CALLS = sys.argv[1], sys.argv[2], sys.argv[3], sys.argv[4:]
HEADERS = {"authorization": f"Bearer {KEY}"}


async def step(name, action):
    try:
        with anyio.fail_after(20):
            result = await action()
        content = getattr(result, "content", None)
        tools = getattr(result, "tools", None)
        text = getattr(content[0], "text", None) if content else None
        names = [tool.name for tool in tools] if tools is not None else None
        print(json.dumps({"step": name, "ok": True, "text": text, "tools": names}), flush=True)
    except Exception as error:
        told = getattr(error, "error", None)
        told = {"code": getattr(told, "code", None), "message": str(error), "data": getattr(told, "data", None)}
        print(json.dumps({"step": name, "ok": False, **told}), flush=True)


async def drive(client):
    await step("list", client.list_tools)
    for name, arguments in zip(CALLS[::2], CALLS[1::2]):
        await step(name, lambda: client.call_tool(name, json.loads(arguments)))


async def version_1():
    from mcp import ClientSession
    from mcp.client.streamable_http import streamablehttp_client

    async with streamablehttp_client(URL, headers=HEADERS) as (read, write, _):
        async with ClientSession(read, write) as client:
            await step("connect", client.initialize)
            await drive(client)


async def version_2():
    from mcp import Client
    from mcp.client.streamable_http import streamable_http_client
    from mcp.shared._httpx_utils import create_mcp_http_client

    mode = "2026-07-28" if ERA == "modern" else "legacy"
    async with create_mcp_http_client(headers=HEADERS) as http:
        async with Client(streamable_http_client(URL, http_client=http), mode=mode) as client:
            print(json.dumps({"step": "connect", "ok": True}), flush=True)
            await drive(client)


async def main():
    await (version_1() if importlib.metadata.version("mcp").startswith("1.") else version_2())
    print(json.dumps({"step": "close", "ok": True}), flush=True)


anyio.run(main)
