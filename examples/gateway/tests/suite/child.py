"""A server over stdio that does what the arguments of a call say. Standard library only."""

import argparse
import json
import os
import random
import subprocess
import sys
import threading

options = argparse.ArgumentParser()
options.add_argument("--tools", help="a file with the pages of the list: arrays of definitions, each as a text")
options.add_argument("--seen", help="a file for every line that comes")
options = options.parse_args()

writing = threading.Lock()
waiting = {}


def write(line):
    with writing:
        sys.stdout.write(line + "\n")
        sys.stdout.flush()


def result(id, text):
    content = {"content": [{"type": "text", "text": text}]}
    write(json.dumps({"jsonrpc": "2.0", "id": id, "result": content}))


def tools(id, params):
    with open(options.tools) as file:
        pages = json.load(file)
    at = int(params.get("cursor", "0"))
    more = ',"nextCursor":"%d"' % (at + 1) if at + 1 < len(pages) else ""
    write('{"jsonrpc":"2.0","id":%s,"result":{"tools":[%s]%s}}' % (json.dumps(id), ",".join(pages[at]), more))


def ask(id, method):
    """Asks the other side, and says what it was answered."""
    own = "child-%d" % len(waiting)
    waiting[own] = lambda answer: result(id, json.dumps(answer))
    write(json.dumps({"jsonrpc": "2.0", "id": own, "method": method, "params": {"message": "the child asks"}}))


def spawn():
    """Somebody who hears neither the end of a terminal nor a request to end."""
    deaf = "trap '' HUP TERM INT; exec sleep 60"
    return subprocess.Popen(["/bin/sh", "-c", deaf], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL).pid


def call(id, arguments):
    do = arguments.get("do", "say")
    if do == "say":
        result(id, json.dumps(arguments))
    elif do == "later":
        threading.Timer(random.random() * arguments["within"], result, (id, json.dumps(arguments))).start()
    elif do == "sleep":
        threading.Timer(arguments["seconds"], result, (id, json.dumps(arguments))).start()
    elif do == "pid":
        result(id, str(os.getpid()))
    elif do == "spawn":
        result(id, "%d %d" % (os.getpid(), spawn()))
    elif do == "env":
        result(id, json.dumps(dict(os.environ)))
    elif do == "stderr":
        sys.stderr.write(arguments["text"])
        sys.stderr.flush()
        result(id, "said")
    elif do == "ask":
        ask(id, arguments["method"])
    elif do == "notify":
        write(json.dumps({"jsonrpc": "2.0", "method": arguments["method"], "params": {"data": arguments["data"]}}))
        result(id, "told")
    # "hang" is never answered.


def hear(message):
    id, method, params = message.get("id"), message.get("method"), message.get("params", {})
    token = params.get("_meta", {}).get("progressToken")
    if token is not None:
        notice = {"progressToken": token, "progress": 1}
        write(json.dumps({"jsonrpc": "2.0", "method": "notifications/progress", "params": notice}))
    if method == "initialize":
        server = {"name": "child", "version": "1"}
        welcome = {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": server}
        write(json.dumps({"jsonrpc": "2.0", "id": id, "result": welcome}))
    elif method == "tools/list":
        tools(id, params)
    elif method == "tools/call":
        call(id, params.get("arguments", {}))
    elif method is None and id in waiting:
        waiting[id](message)
    elif method is not None and id is not None:
        write(json.dumps({"jsonrpc": "2.0", "id": id, "error": {"code": -32601, "message": "Method not found"}}))


for line in sys.stdin:
    if options.seen:
        with open(options.seen, "a") as seen:
            seen.write(line)
    hear(json.loads(line))
