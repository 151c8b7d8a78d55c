//! Servers that mean harm to whoever approves their tools, and to each other's clients.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::contract::run;
use crate::support::{Gateway, Reply, Setup, Upstream, ok};
use crate::wire::Request;

/// A folder of its own, which is gone with it.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Self {
        static COUNT: AtomicUsize = AtomicUsize::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("server-attacks-{}-{count}", std::process::id()));
        fs::create_dir(&path).unwrap();
        Self(path)
    }

    fn file(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    fn names(&self) -> Vec<String> {
        let entries = fs::read_dir(&self.0).unwrap();
        let mut names: Vec<_> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        _ = fs::remove_dir_all(&self.0);
    }
}

fn locked(upstream: &Upstream, lock: &Path) -> String {
    let text = Setup::of(upstream.address).text();
    format!("{text}\n[mcp.pins]\nfile = {:?}\n", lock.to_str().unwrap())
}

/// A server whose tools have these names, as JSON; it first does something else.
fn listing(names: &'static [&'static str], first: impl Fn() + Send + Sync + 'static) -> Upstream {
    Upstream::new(move |_| {
        first();
        let tools: Vec<_> = names.iter().map(|name| format!(r#"{{"name":{name},"inputSchema":{{}}}}"#)).collect();
        let tools = tools.join(",");
        Reply::Keep(ok(format!(r#"{{"jsonrpc":"2.0","id":"tools/list","result":{{"tools":[{tools}]}}}}"#)))
    })
}

fn approved(lock: &Path) -> Vec<String> {
    let text = fs::read_to_string(lock).unwrap();
    let member = |line: &str, name: &str| {
        let value: serde_json::Value = serde_json::from_str(line).unwrap();
        value[name].as_str().unwrap().to_owned()
    };
    text.lines().map(|line| format!("{} {}", member(line, "server"), member(line, "tool"))).collect()
}

#[test]
fn an_approval_meanwhile_is_not_lost() {
    let folder = Folder::new();
    let lock = folder.file("toolgate.lock");
    let nested: &'static Mutex<String> = Box::leak(Box::default());
    let upstream = listing(&[r#""echo""#], || {
        let (code, out, err) = run(&nested.lock().unwrap(), &["--approve", "elsewhere", "*"]);
        assert_eq!(code, 0, "{out}{err}");
    });
    let config = locked(&upstream, &lock);
    nested.lock().unwrap().clone_from(&config);
    let (code, out, err) = run(&config, &["--approve", "a", "echo"]);
    assert_eq!(code, 0, "{out}{err}");
    let approved = approved(&lock);
    assert!(approved.contains(&"a echo".to_owned()), "{approved:?}");
    assert!(approved.iter().any(|tool| tool.starts_with("elsewhere ")), "{approved:?}");
    assert_eq!(folder.names(), ["toolgate.lock"], "nothing is left beside it");
}

#[cfg(unix)]
#[test]
fn the_lock_file_stays_where_and_what_it_is() {
    use std::os::unix::fs::{PermissionsExt, symlink};

    let folder = Folder::new();
    let (lock, real) = (folder.file("toolgate.lock"), folder.file("real"));
    fs::write(&real, "").unwrap();
    fs::set_permissions(&real, fs::Permissions::from_mode(0o640)).unwrap();
    symlink("real", &lock).unwrap();
    let upstream = listing(&[r#""echo""#], || {});
    let (code, out, err) = run(&locked(&upstream, &lock), &["--approve", "a", "echo"]);
    assert_eq!(code, 0, "{out}{err}");
    assert!(fs::symlink_metadata(&lock).unwrap().is_symlink());
    assert_eq!(approved(&real), ["a echo"]);
    assert_eq!(fs::metadata(&real).unwrap().permissions().mode() & 0o7777, 0o640);
    assert_eq!(folder.names(), ["real", "toolgate.lock"]);
}

/// Whoever may write beside the lock file must not choose where it is written.
#[cfg(unix)]
#[test]
fn an_approval_that_is_under_way_is_not_disturbed() {
    let folder = Folder::new();
    let (lock, elsewhere) = (folder.file("toolgate.lock"), folder.file("elsewhere"));
    fs::write(&lock, "").unwrap();
    fs::write(&elsewhere, "untouched").unwrap();
    std::os::unix::fs::symlink(&elsewhere, folder.file("toolgate.lock.new")).unwrap();
    let upstream = listing(&[r#""echo""#], || {});
    let (code, out, err) = run(&locked(&upstream, &lock), &["--approve", "a", "echo"]);
    assert_eq!(code, 2, "{out}{err}");
    assert!(err.contains("toolgate.lock.new"), "{err}");
    assert_eq!(fs::read_to_string(&lock).unwrap(), "");
    assert_eq!(fs::read_to_string(&elsewhere).unwrap(), "untouched");
    assert_eq!(folder.names(), ["elsewhere", "toolgate.lock", "toolgate.lock.new"]);
}

#[test]
fn names_of_tools_do_not_move_a_terminals_cursor() {
    let folder = Folder::new();
    let lock = folder.file("toolgate.lock");
    for names in [
        &[r#""\u001b[2Jx""#, r#""\u001b[2Jx""#][..],
        &[r#""\u001b[2J\u202ex""#],
        &[r#""\u001b[2Jx","x":9007199254740993"#],
    ] {
        let upstream = listing(names, || {});
        let (code, out, err) = run(&locked(&upstream, &lock), &["--approve", "a", "*"]);
        assert_eq!(code, 2, "{out}{err}");
        assert!(err.contains("[2J"), "{err}");
        for text in [out, err] {
            assert!(!text.contains(['\u{1b}', '\u{202e}']), "{text:?}");
        }
    }
    assert!(!lock.exists());
}

/// The pages are kept until all of them are there.
#[test]
fn a_list_of_large_pages_comes_to_an_end() {
    let folder = Folder::new();
    let lock = folder.file("toolgate.lock");
    let count = AtomicUsize::new(0);
    let upstream = Upstream::new(move |_| {
        let page = count.fetch_add(1, Ordering::Relaxed);
        let tool = format!(r#"{{"name":"t{page}","description":"{}"}}"#, "x".repeat(1 << 20));
        let result = format!(r#"{{"tools":[{tool}],"nextCursor":"{page}"}}"#);
        Reply::Keep(ok(format!(r#"{{"jsonrpc":"2.0","id":"tools/list","result":{result}}}"#)))
    });
    let (code, out, err) = run(&locked(&upstream, &lock), &["--approve", "a", "*"]);
    assert_eq!((code, &*out), (2, ""), "{err}");
    assert!(err.contains("too large") && upstream.seen().len() <= 17, "{err}{}", upstream.seen().len());
}

/// Metrics, policies and people tell servers apart by their ids.
#[test]
fn no_two_servers_have_one_id() {
    let upstream = Upstream::echo();
    let config = Setup::of(upstream.address).server("A", upstream.address, "20s").text();
    for arguments in [&["--check"][..], &["--listen", "127.0.0.1:0"]] {
        let (code, out, err) = run(&config, arguments);
        assert_eq!(code, 2, "{out}{err}");
        assert!((out + &err).contains("mcp.servers[1].id"), "{arguments:?}");
    }
}

/// Of a name in the path there is one way to write it.
#[test]
fn a_server_is_at_one_path() {
    let upstream = Upstream::echo();
    let gateway: Gateway = Setup::of(upstream.address).start();
    for path in ["/mcp/%61", "/mcp/a/", "/mcp//a", "/mcp/A", "/mcp/elsewhere/../a", "/mcp/a%2f", "/mcp/a;x", "/mcp"] {
        assert_eq!(gateway.send(&Request::post(path, crate::support::call("1", "echo"))).status(), 404, "{path}");
    }
    gateway.assert_forwarded_nothing(&upstream);
}
