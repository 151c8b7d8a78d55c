//! `--approve`: what it asks a server, prints and writes.

use crate::contract::run;
use crate::offers::{Client, Era, Folder, Offers, OverHttp};
use crate::pins::{Case, ECHO, ECHO_HASH, READ, SCHEMA, TRUSTED, cases, hash, line, pages, pins_at};
use crate::support::{Gateway, Reply, Setup, Upstream, nowhere, ok, response};

#[test]
fn approving_speaks_to_a_server_as_its_era_wants_it() {
    let legacy = OverHttp::new(Era::Legacy, false, pages(&[ECHO, READ, SCHEMA]));
    let modern = OverHttp::new(Era::Modern, false, pages(&[ECHO, READ, SCHEMA]));
    for (server, era) in [(&legacy, Era::Legacy), (&modern, Era::Modern)] {
        let folder = Folder::new();
        let setup = Setup::open().entry("files", &server.transport(), TRUSTED);
        let config = setup.section(&pins_at(&folder.file("pins.lock"))).text();
        assert_eq!(run(&config, &["--approve", "files", "*"]).0, 0, "{era:?}");
        let methods: Vec<_> = server.seen().iter().map(|seen| seen["method"].as_str().unwrap().to_owned()).collect();
        let seen = server.upstream.seen();
        let list = "tools/list";
        if era == Era::Modern {
            assert_eq!(methods, [list; 3]);
            assert!(seen.iter().all(|seen| seen.header("mcp-protocol-version") == Some("2026-07-28")));
            continue;
        }
        assert_eq!(methods, [list, "initialize", "notifications/initialized", list, list, list]);
        let in_session = seen.iter().filter(|seen| seen.header("mcp-session-id") == Some("s-1")).count();
        assert_eq!(in_session, 5, "all but the first two requests");
        assert!(seen.last().unwrap().start.starts_with("DELETE "), "the session is ended: {seen:#?}");
    }
}

#[test]
fn all_tools_of_a_server_are_approved_at_once() {
    for case in cases() {
        case.offer(&[READ, ECHO, SCHEMA]);
        let printed = [("read", READ), ("echo", ECHO), ("sum", SCHEMA)];
        let printed: String =
            printed.iter().map(|(name, text)| format!("files {name}: {}\n{text}\n", hash(text))).collect();
        case.assert_approved("*", &printed);
        let lock = [("echo", ECHO), ("read", READ), ("sum", SCHEMA)];
        let lock: String = lock.iter().map(|(name, text)| line("files", name, &hash(text))).collect();
        assert_eq!(case.locked(), lock, "{}", case.name);
        let (code, out, _) = case.approve("*");
        assert_eq!((code, out.matches(": as approved before, ").count()), (0, 3), "{out}");
        assert_eq!(case.locked(), lock, "{}", case.name);
    }
}

#[test]
fn what_is_printed_cannot_move_a_terminals_cursor() {
    let case = Case::simple(&["{\"name\":\"echo\",\"description\":\"\u{202e}\u{7f}\u{9b}31m é\"}"]);
    let (code, out, err) = case.approve("echo");
    assert_eq!((code, &*err), (0, ""));
    assert!(out.ends_with("\\u{202e}\\u{7f}\\u{9b}31m \\u{e9}\"}\n"), "{out}");
    assert!(out.chars().all(|c| c == '\n' || c.is_ascii_graphic() || c == ' '), "{out}");
}

#[test]
fn other_pins_stay_and_the_file_is_written_whole() {
    let case = Case::simple(&[ECHO, READ]);
    let foreign = "f".repeat(64);
    let before = [line("other", "a", &foreign), line("files", "gone", &foreign), line("files", "echo", &foreign)];
    std::fs::write(case.lock(), before.concat()).unwrap();
    let printed = format!("files echo: {foreign} becomes {ECHO_HASH}\n{ECHO}\n");
    case.assert_approved("echo", &printed);
    let after = [line("files", "echo", ECHO_HASH), line("files", "gone", &foreign), line("other", "a", &foreign)];
    assert_eq!(case.locked(), after.concat());
    assert_eq!(case.folder.names(), ["pins.lock"], "nothing is left beside it");
    let (code, out, _) = run(&case.config(), &["--check"]);
    assert!(code == 1 && out.contains("mcp.pins.file: tools of `other` are approved"), "{out}");
}

#[test]
fn a_lock_file_that_cannot_be_written_stays_as_it_was() {
    let case = Case::simple(&[ECHO]);
    // Whoever writes beside it needs a longer name than there can be.
    let long = case.folder.file(&"l".repeat(255));
    std::fs::write(&long, line("files", "read", &hash(READ))).unwrap();
    let config = case.setup().section(&pins_at(&long)).text();
    case.assert_not_approved(&config, "echo", 2, "cannot write");
    assert_eq!(std::fs::read_to_string(&long).unwrap(), line("files", "read", &hash(READ)));
    let nowhere = case.setup().section(&pins_at(&case.folder.file("no/pins.lock"))).text();
    case.assert_not_approved(&nowhere, "echo", 2, "cannot write");
    std::fs::create_dir(case.folder.file("folder")).unwrap();
    let folder = case.setup().section(&pins_at(&case.folder.file("folder"))).text();
    case.assert_not_approved(&folder, "echo", 2, "cannot read");
}

#[cfg(unix)]
#[test]
fn a_folder_that_cannot_be_written_to_keeps_its_lock_file() {
    use std::fs::{Permissions, set_permissions, write};
    use std::os::unix::fs::PermissionsExt;

    let case = Case::simple(&[ECHO]);
    let folder = case.folder.file("locked");
    std::fs::create_dir(&folder).unwrap();
    let lock = folder.join("pins.lock");
    write(&lock, line("files", "read", &hash(READ))).unwrap();
    set_permissions(&folder, Permissions::from_mode(0o555)).unwrap();
    // Of the superuser nobody asks for permission.
    if write(folder.join("probe"), "").is_err() {
        let config = case.setup().section(&pins_at(&lock)).text();
        case.assert_not_approved(&config, "echo", 2, "cannot write");
        assert_eq!(std::fs::read_to_string(&lock).unwrap(), line("files", "read", &hash(READ)));
    }
    set_permissions(&folder, Permissions::from_mode(0o755)).unwrap();
}

#[test]
fn a_tool_that_is_not_listed_is_not_approved() {
    for case in cases() {
        case.offer(&[ECHO, READ]);
        for tool in ["ech", "Echo", "echo ", "ec*", ""] {
            case.assert_not_approved(&case.config(), tool, 1, &format!("`files` does not list `{tool}`"));
        }
        assert_eq!(case.folder.names(), [""; 0], "{}", case.name);
        assert_eq!(case.approve("echo").0, 0);
        case.assert_not_approved(&case.config(), "sum", 1, "`files` does not list `sum`");
    }
}

#[test]
fn what_keeps_a_tool_from_being_approved_is_told() {
    let case = Case::simple(&[ECHO, READ]);
    assert_eq!(case.approve("read").0, 0);
    let unknown = case.config().replace("id = \"files\"", "id = \"fils\"");
    case.assert_not_approved(&unknown, "echo", 2, "no server has the id `files`");
    case.assert_not_approved(&case.setup().text(), "echo", 2, "mcp.pins.file");
    let dead = Setup::open().server("files", nowhere(), "5s").section(&pins_at(&case.lock())).text();
    case.assert_not_approved(&dead, "echo", 2, "could not be reached");
    let missing = Setup::open().entry("files", "{ stdio = { command = \"/nowhere/server\" } }", TRUSTED);
    case.assert_not_approved(&missing.section(&pins_at(&case.lock())).text(), "echo", 2, "could not be reached");
    case.offer(&[ECHO, READ, ECHO]);
    for tool in ["echo", "*"] {
        case.assert_not_approved(&case.config(), tool, 2, "the server lists `echo` more than once");
    }
    case.assert_not_approved(&case.config(), "sum", 1, "does not list");
    // It has no name that all readers agree on.
    case.offer(&[r#"{"name":"echo","name":"echo"}"#, READ]);
    case.assert_not_approved(&case.config(), "echo", 1, "does not list");
    case.assert_not_approved(&case.config(), "*", 2, "a tool without a name");
    case.offer(&[r#"{"name":"echo","_meta":{"x":9007199254740993}}"#, READ]);
    case.assert_not_approved(&case.config(), "echo", 2, "integer beyond 2^53 - 1");
    case.assert_not_approved(&case.config(), "*", 2, "integer beyond 2^53 - 1");
    case.offer(&[r#"{"name":"read file"}"#]);
    case.assert_not_approved(&case.config(), "read file", 2, "no tool can have the name");
}

#[test]
fn a_tool_that_is_listed_on_two_pages_is_not_approved() {
    for case in cases().into_iter().filter(|case| case.paged) {
        case.offer(&[ECHO, READ, ECHO]);
        case.assert_not_approved(&case.config(), "echo", 2, "the server lists `echo` more than once");
        assert_eq!(case.approve("read").0, 0);
        assert_eq!(case.locked(), line("files", "read", &hash(READ)));
    }
}

#[test]
fn a_malformed_lock_file_is_told_with_its_line_and_stays_as_it_is() {
    let case = Case::simple(&[ECHO]);
    let good = line("files", "read", &hash(READ));
    for (lock, told) in [
        (format!("{good}<<<<<<< HEAD\n{good}"), "line 2: "),
        (format!("{good}{good}"), "line 2: the tool is pinned in an earlier line"),
        (format!("{good}\n"), "line 2: "),
        (good.replace("\"tool\"", "\"tol\""), "line 1: there is no member \"tol\""),
        (line("files", "read", "abc"), "line 1: `sha256`"),
        (line("my__files", "read", &hash(READ)), "line 1: `server`"),
        (line("files", "read file", &hash(READ)), "line 1: `tool`"),
        ("[]".to_owned(), "line 1: not an object"),
    ] {
        std::fs::write(case.lock(), &lock).unwrap();
        case.assert_not_approved(&case.config(), "echo", 2, told);
        let (code, out, err) = run(&case.config(), &[]);
        assert_eq!((code, &*out), (2, ""), "{lock}");
        assert!(err.contains("mcp.pins.file: ") && err.contains(told), "{lock}: {err}");
        let (code, out, _) = run(&case.config(), &["--check"]);
        assert!(code == 2 && out.contains("mcp.pins.file: ") && out.contains(told), "{lock}: {out}");
    }
    assert_eq!(case.server.seen().len(), 0, "the server is not asked in vain");
}

#[test]
fn approving_is_not_combined_with_other_questions() {
    let case = Case::simple(&[ECHO]);
    for arguments in [
        &["--approve", "files", "echo", "--check"][..],
        &["--approve", "files", "echo", "--explain", "user", "echo", "{}"],
        &["--approve", "files"],
    ] {
        let (code, out, err) = run(&case.config(), arguments);
        assert!(code == 2 && out.is_empty() && err.starts_with("error: "), "{arguments:?}: {out}{err}");
    }
    assert_eq!((case.folder.names().len(), case.server.seen().len()), (0, 0));
}

/// A server that answers everything alike.
fn alike(answer: impl Fn(&str) -> Reply + Send + Sync + 'static) -> Upstream {
    Upstream::new(move |request| match request.body.is_empty() {
        true => Reply::Keep(ok("")),
        false => answer(&request.id()),
    })
}

#[test]
fn a_server_that_lists_without_an_end_or_not_at_all_is_given_up() {
    let events = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n";
    let page = |id: &str| format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{"tools":[{ECHO}],"nextCursor":"1"}}}}"#);
    let without = |id: &str| format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{}}}}"#);
    let silent = || Reply::Hang(events.as_bytes().to_vec());
    for (server, told) in [
        (alike(move |id| Reply::Keep(ok(page(id)))), "list of tools has no end"),
        (alike(move |id| Reply::Keep(ok(without(id)))), "has no list of tools"),
        (alike(|_| Reply::Keep(ok("[]"))), "does not answer"),
        (alike(|_| Reply::Keep(response("200 OK", "text/event-stream", "data: {}\n\n"))), "does not answer"),
        (alike(|_| Reply::Hang(Vec::new())), "did not answer in time"),
        (alike(move |_| silent()), "takes too long"),
    ] {
        let folder = Folder::new();
        let setup = Setup::open().server("files", server.address, "300ms").section(&pins_at(&folder.file("pins.lock")));
        let (code, out, err) = run(&setup.text(), &["--approve", "files", "echo"]);
        assert!(code == 2 && out.is_empty() && err.contains(told), "{told}: {out}{err}");
        assert_eq!(folder.names(), [""; 0], "{told}");
    }
}

#[test]
fn tools_of_a_builtin_server_are_approved_as_well() {
    let case = Case::simple(&[ECHO]);
    let (code, out, err) = run(&case.config(), &["--approve", "elsewhere", "read_file"]);
    assert_eq!((code, &*err), (0, ""), "{out}");
    assert!(out.starts_with("elsewhere read_file: "), "{out}");
    let gateway = Gateway::start(&case.config());
    let client = Client::streaming(gateway.address, "elsewhere");
    assert_eq!(client.list(), ["read_file"]);
    client.assert_refused("remember", "pin.new", "builtin");
}
