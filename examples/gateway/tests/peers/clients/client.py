"""client.py URL KEY ERA STEP JSON...: connects, lists, takes each step in turn, prints one line of JSON a step.

A step is a tool with its arguments, or one of the methods below with its parameters; with `progress:` before the name
of a tool, it is asked for progress. After `--` comes another run.
A run that ends with the step `asked` declares that it can be asked for everything; that step says how often it was.

URL may also be `stdio:` and a command, in JSON, which is then the server.
The interpreter chooses the SDK's version; ERA is legacy or modern, which only version 2 knows.
"""

import importlib.metadata
import itertools
import json
import os
import sys

import anyio

LISTS = {
    "tools/list": ("list_tools", "tools"),
    "prompts/list": ("list_prompts", "prompts"),
    "resources/list": ("list_resources", "resources"),
    "resources/templates/list": ("list_resource_templates", "resourceTemplates"),
}


class Asked:
    """Answers what a client is asked, and counts it."""

    def __init__(self, types):
        self.types, self.counts = types, {"sampling": 0, "elicitation": 0, "roots": 0}

    async def sampling(self, context, params):
        self.counts["sampling"] += 1
        content = self.types.TextContent(type="text", text="what the model says")
        return self.types.CreateMessageResult(role="assistant", model="none", content=content)

    async def elicitation(self, context, params):
        self.counts["elicitation"] += 1
        content = {"name": "ann", "response": "what the user says"}
        return self.types.ElicitResult(action="accept", content=content)

    async def roots(self, context):
        self.counts["roots"] += 1
        return self.types.ListRootsResult(roots=[self.types.Root(uri="file:///of-the-client", name="of-the-client")])

    def callbacks(self):
        return {
            "sampling_callback": self.sampling,
            "elicitation_callback": self.elicitation,
            "list_roots_callback": self.roots,
        }


def dump(value):
    return value.model_dump(mode="json", by_alias=True, exclude_none=True)


async def patiently(action):
    """What the gateway's store had no time for on a busy machine is done again: the server has seen nothing of it."""
    while True:
        try:
            return await action()
        except Exception as error:
            data = getattr(getattr(error, "error", None), "data", None) or {}
            if data.get("reason") != "trust.store_unavailable":
                raise
        await anyio.sleep(0.1)


async def step(name, action):
    try:
        with anyio.fail_after(20):
            result = await patiently(action)
        result = result if isinstance(result, dict) else dump(result)
        content = result.get("content") or [{}]
        names = [tool["name"] for tool in result["tools"]] if "tools" in result else None
        told = {"text": content[0].get("text"), "tools": names, "result": result}
        print(json.dumps({"step": name, "ok": True, **told}), flush=True)
    except Exception as error:
        told = getattr(error, "error", None)
        told = {"code": getattr(told, "code", None), "message": str(error), "data": getattr(told, "data", None)}
        print(json.dumps({"step": name, "ok": False, **told}), flush=True)


async def pages(client, method):
    name, key = LISTS[method]
    members, cursor = [], None
    while True:
        page = dump(await getattr(client, name)(cursor=cursor))
        members += page[key]
        cursor = page.get("nextCursor")
        if cursor is None:
            return {"members": members}


async def with_progress(client, name, told):
    progress = []

    async def on_progress(value, total, message):
        progress.append(value)

    return {**dump(await client.call_tool(name, told, progress_callback=on_progress)), "progress": progress}


async def take(client, name, told, asked):
    if name == "asked":
        return asked.counts
    if name in LISTS:
        return await pages(client, name)
    if name == "prompts/get":
        return await client.get_prompt(told["name"])
    if name == "resources/read":
        return await client.read_resource(told["uri"])
    if name.startswith("progress:"):
        return await with_progress(client, name.removeprefix("progress:"), told)
    return await client.call_tool(name, told)


async def drive(client, steps, asked):
    await step("list", client.list_tools)
    for name, told in zip(steps[::2], steps[1::2]):
        await step(name, lambda: take(client, name, json.loads(told), asked))


def over_stdio(url):
    from mcp.client.stdio import StdioServerParameters, stdio_client

    command, *arguments = json.loads(url.removeprefix("stdio:"))
    return stdio_client(StdioServerParameters(command=command, args=arguments), errlog=open(os.devnull, "w"))


async def version_1(url, headers, _, steps):
    from mcp import ClientSession, types
    from mcp.client.streamable_http import streamablehttp_client

    asked = Asked(types)
    callbacks = asked.callbacks() if "asked" in steps else {}
    is_child = url.startswith("stdio:")
    async with over_stdio(url) if is_child else streamablehttp_client(url, headers=headers) as (read, write, *_):
        async with ClientSession(read, write, **callbacks) as client:
            await step("connect", client.initialize)
            await drive(client, steps, asked)


async def version_2(url, headers, era, steps):
    from mcp import Client, types
    from mcp.client.streamable_http import streamable_http_client
    from mcp.shared._httpx_utils import create_mcp_http_client

    asked = Asked(types)
    callbacks = asked.callbacks() if "asked" in steps else {}
    mode = "2026-07-28" if era == "modern" else "legacy"
    async with create_mcp_http_client(headers=headers) as http:
        transport = over_stdio(url) if url.startswith("stdio:") else streamable_http_client(url, http_client=http)
        async with Client(transport, mode=mode, **callbacks) as client:
            print(json.dumps({"step": "connect", "ok": True}), flush=True)
            await drive(client, steps, asked)


async def main():
    version = version_1 if importlib.metadata.version("mcp").startswith("1.") else version_2
    for is_run, run in itertools.groupby(sys.argv[1:], "--".__ne__):
        if is_run:
            url, key, era, *steps = run
            await version(url, {"authorization": f"Bearer {key}"}, era, steps)
            print(json.dumps({"step": "close", "ok": True}), flush=True)


anyio.run(main)
