"""Two fastmcp servers for an agent's day: `memory` is the operator's own, `web` brings anybody's pages."""

import urllib.request

from fastmcp import FastMCP
from fastmcp.server.dependencies import get_http_headers
from starlette.responses import JSONResponse

memory, web = FastMCP("memory"), FastMCP("web")
SEEN = []
opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))


def see(tool):
    headers = get_http_headers()
    session = headers.get("x-toolgate-session", "not said")
    SEEN.append({"by": headers.get("x-toolgate-principal"), "tool": tool, "session": session})
    return session


@memory.tool
def remember(text: str) -> str:
    """Keeps a text, and says what the gateway says of the session."""
    return see("remember")


@memory.tool
def look() -> str:
    """Says what the gateway says of the session."""
    return see("look")


@web.tool
def web_fetch(url: str) -> str:
    """Fetches a page."""
    see("web_fetch")
    with opener.open(url, timeout=20) as page:
        return page.read().decode()


@memory.custom_route("/seen", methods=["GET"])
async def seen(request):
    return JSONResponse(SEEN)
