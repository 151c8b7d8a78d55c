"""An MCP server over stdio that does what its tests ask for."""

import json
import os
import subprocess
import sys
import threading
import time

LOCK = threading.Lock()
SEEN = []
CANCELLED = []
ASKED = {}
ERA = []


def write(text):
    with LOCK:
        sys.stdout.write(text + "\n")
        sys.stdout.flush()


def send(**message):
    write(json.dumps({"jsonrpc": "2.0", **message}))


def text(id, value):
    send(id=id, result={"content": [{"type": "text", "text": json.dumps(value)}]})


def later(seconds, act, *args):
    timer = threading.Timer(seconds, act, args)
    timer.daemon = True
    timer.start()


def progress(id, token, arguments):
    for step in range(arguments["steps"]):
        send(method="notifications/progress", params={"progress": step, "progressToken": token, "message": arguments["who"]})
        time.sleep(arguments.get("pause", 0))
    text(id, arguments["who"])


def ask(id, method):
    own = "ask-%d" % len(ASKED)
    ASKED[own] = id
    send(id=own, method=method, params={})


def garbage(id):
    write("no JSON at all")
    write("{")
    write("")
    write("[]")
    write('[{"jsonrpc":"2.0","id":%s,"result":{"batch":true}}]' % json.dumps(id))
    write('{"jsonrpc":"2.0","id":424242,"result":{}}')
    write('{"jsonrpc":"2.0","id":"%s","result":{"text":true}}' % id)
    write('{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":424242,"progress":1}}')
    sys.stdout.flush()
    sys.stdout.buffer.write(b"\xff\xfe\n")
    sys.stdout.buffer.flush()
    text(id, "after garbage")


def spawn(id):
    child = subprocess.Popen(["sleep", "1000"], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    text(id, [os.getpid(), child.pid])


def notify(id, arguments):
    for _ in range(arguments.get("times", 1)):
        send(method=arguments["method"], params=arguments.get("params", {}))
    text(id, "notified")


def call(id, params):
    name, arguments = params["name"], params.get("arguments", {})
    token = params.get("_meta", {}).get("progressToken")
    if name == "echo":
        later(arguments.get("delay", 0), text, id, arguments["payload"])
    elif name == "progress":
        threading.Thread(target=progress, args=(id, token, arguments), daemon=True).start()
    elif name == "die":
        os._exit(3)
    elif name == "deafen":
        text(id, "deaf")
        time.sleep(1000)
    elif name == "close":
        os.close(1)
    elif name == "environment":
        text(id, dict(os.environ))
    elif name == "garbage":
        garbage(id)
    elif name == "long":
        write("x" * arguments["bytes"])
        text(id, "after a long line")
    elif name == "stderr":
        sys.stderr.write(arguments["text"])
        sys.stderr.flush()
        text(id, "said")
    elif name == "malformed":
        write('{"jsonrpc":"2.0","id":%s,"result":{},"error":{}}' % json.dumps(id))
    elif name == "break":
        write('{"jsonrpc":"2.0",\r"id":%s,\r"result":{}}' % json.dumps(id))
    elif name == "ask":
        ask(id, arguments["method"])
    elif name == "spawn":
        spawn(id)
    elif name == "notify":
        notify(id, arguments)
    elif name == "cancelled":
        text(id, CANCELLED)
    elif name == "raw":
        send(id=id, result=arguments["result"])
    elif name == "seen":
        text(id, SEEN)
    elif name != "hang":
        send(id=id, error={"code": -32602, "message": "Unknown tool"})


def listen(id, times):
    own = {"io.modelcontextprotocol/subscriptionId": id}
    send(method="notifications/subscriptions/acknowledged", params={"_meta": own, "notifications": {}})
    time.sleep(0.5)
    for _ in range(times):
        send(method="notifications/tools/list_changed", params={"_meta": own})
    send(id=id, result={"_meta": own})


def is_modern(message):
    meta = message.get("params", {}).get("_meta", {})
    return "io.modelcontextprotocol/protocolVersion" in meta


def serves(message):
    """Whether it is of the era in which this server was spoken to first."""
    if "both" in sys.argv and "method" in message and not ERA:
        ERA.append(is_modern(message))
    return "both" not in sys.argv or "id" not in message or "method" not in message or ERA[0] == is_modern(message)


def hear(message):
    method, id = message.get("method"), message.get("id")
    SEEN.append(method)
    if is_modern(message) and "exits" in sys.argv:
        os._exit(3)
    if is_modern(message) and "hangs" in sys.argv:
        return
    if not serves(message):
        send(id=id, error={"code": -32600, "message": "of another era"})
    elif method == "server/discover" and "both" in sys.argv:
        send(id=id, result={"supportedVersions": ["2026-07-28"], "capabilities": {}})
    elif method is None:
        waiting = ASKED.pop(id)
        text(waiting, {key: message[key] for key in ("result", "error") if key in message})
    elif method == "initialize" and "modern" not in sys.argv:
        if "mute" not in sys.argv:
            send(id=id, result={"protocolVersion": "2025-11-25", "capabilities": {"tools": {}},
                                "serverInfo": {"name": "test", "version": str(os.getpid())},
                                "echoed": message["params"]["capabilities"]})
    elif method == "tools/call":
        call(id, message["params"])
    elif method == "subscriptions/listen":
        threading.Thread(target=listen, args=(id, message["params"].get("times", 1)), daemon=True).start()
    elif method == "notifications/cancelled":
        CANCELLED.append(message["params"]["requestId"])
    elif id is not None:
        send(id=id, error={"code": -32601, "message": "Method not found"})


for line in sys.stdin:
    hear(json.loads(line))
