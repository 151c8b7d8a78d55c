"""serve.py NAME JSON_PORT SSE_PORT [FOLDER COMMAND...]: a server on 127.0.0.1, in both modes of answering.

NAME is everything, that of the Python SDK's source package; notes, a fastmcp server; day, two of them, one a mode; or
filesystem, which speaks stdio and is run by COMMAND in FOLDER, behind fastmcp's proxy.
"""

import sys

import anyio

NAME, PORTS, REST = sys.argv[1], [int(port) for port in sys.argv[2:4]], sys.argv[4:]


async def in_both_modes(run):
    async with anyio.create_task_group() as group:
        for port, is_json in zip(PORTS, [True, False]):
            group.start_soon(run, port, is_json)


async def everything():
    from mcp_everything_server.server import event_store, mcp

    async def run(port, is_json):
        await mcp.run_streamable_http_async(port=port, json_response=is_json, event_store=event_store)

    await in_both_modes(run)


async def serve(*servers):
    async def run(port, is_json):
        # The last one of several is for events.
        server = servers[0 if is_json else -1]
        await server.run_http_async(
            show_banner=False, host="127.0.0.1", port=port, log_level="WARNING", json_response=is_json
        )

    await in_both_modes(run)


async def notes():
    from notes import server

    await serve(server)


async def day():
    from day import memory, web

    await serve(memory, web)


async def filesystem():
    from fastmcp import Client
    from fastmcp.client.transports import StdioTransport
    from fastmcp.server import create_proxy

    folder, command, *arguments = REST
    transport = StdioTransport(command, [*arguments, folder], cwd=folder)
    # One process for all: a client that is not connected starts one a request.
    async with Client(transport, mode="legacy") as client:
        await serve(create_proxy(client, name="filesystem"))


anyio.run({"day": day, "everything": everything, "notes": notes, "filesystem": filesystem}[NAME])
