"""A fastmcp server with everything that lists show, three to a page."""

from fastmcp import FastMCP

server = FastMCP("notes", list_page_size=3)


def tool(name):
    @server.tool(name=name, tags={"notes"})
    def run(text: str = "nothing", times: int = 1) -> str:
        """Says what it was told."""
        return f"{name}: {text * times}"


def prompt(name):
    @server.prompt(name=name)
    def get(subject: str = "all") -> str:
        """Asks for it."""
        return f"{name} {subject}"


def resource(uri):
    @server.resource(uri, name=uri.rsplit("/", 1)[1], mime_type="text/plain")
    def read() -> str:
        """A note."""
        return f"the text of {uri}"


# The reader may call no tool of the first page and none of the last.
for name in ["note_add", "note_drop", "note_edit", "note_find", "note_count", "note_move", "note_share"]:
    tool(name)
for name in ["rewrite", "summarise", "summarise_briefly", "translate"]:
    prompt(name)
for uri in ["private/keys", "public/hello", "public/menu", "private/diary", "public/news"]:
    resource(f"notes://{uri}")


@server.resource("notes://public/{name}/history", mime_type="text/plain")
def public(name: str) -> str:
    """What a public note was."""
    return f"the history of {name}"


@server.resource("notes://private/{name}/history", mime_type="text/plain")
def private(name: str) -> str:
    """What a private note was."""
    return f"the history of {name}"


@server.resource("notes://{folder}/index", mime_type="text/plain")
def index(folder: str) -> str:
    """What a folder holds."""
    return f"the notes of {folder}"


@server.resource("notes://trash{?since}", mime_type="text/plain")
def trash(since: str = "ever") -> str:
    """What was dropped."""
    return f"dropped since {since}"
