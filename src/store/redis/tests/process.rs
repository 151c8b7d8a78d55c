//! A server of its own, in a folder of its own.

use std::fs;
use std::future::Future;
use std::io::{self, Write};
use std::net::TcpListener;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::thread;
use std::time::{Duration, Instant};

use redis::Value;
use tokio::runtime::{Builder, Handle};

/// Waits on this thread for what runs on a runtime of another one.
pub(super) fn block_on<F: Future>(future: F) -> F::Output {
    static RUNTIME: OnceLock<Handle> = OnceLock::new();
    let handle = RUNTIME.get_or_init(|| {
        let runtime = Builder::new_current_thread().enable_all().build().unwrap();
        let handle = runtime.handle().clone();
        thread::spawn(move || runtime.block_on(std::future::pending::<()>()));
        handle
    });
    handle.block_on(future)
}

pub(super) struct Server {
    child: Child,
    folder: PathBuf,
    arguments: Vec<String>,
    pub(super) port: u16,
}

impl Server {
    /// A server that keeps nothing; `None` where there is no `redis-server` and need not be one.
    pub(super) fn start(arguments: &[&str]) -> Option<Self> {
        static COUNT: AtomicUsize = AtomicUsize::new(0);
        let name = format!("toolgate-redis-{}-{}", std::process::id(), COUNT.fetch_add(1, SeqCst));
        let folder = std::env::temp_dir().join(name);
        _ = fs::remove_dir_all(&folder);
        fs::create_dir(&folder).unwrap();
        let arguments: Vec<_> = arguments.iter().map(|&argument| argument.into()).collect();
        // Another process may take the port in between: then the server ends, and there is another try.
        for _ in 0..10 {
            let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
            let child = launch(&folder, port, &arguments)?;
            let mut server = Self { child, folder: folder.clone(), arguments: arguments.clone(), port };
            if server.answers() {
                return Some(server);
            }
        }
        panic!("redis-server does not start: {}", fs::read_to_string(folder.join("log")).unwrap_or_default());
    }

    pub(super) fn url(&self) -> String {
        format!("redis://127.0.0.1:{}", self.port)
    }

    fn answers(&mut self) -> bool {
        let start = Instant::now();
        while start.elapsed() < Duration::from_secs(20) {
            if self.child.try_wait().unwrap().is_some() {
                return false;
            }
            match self.try_command(&["PING"]) {
                Err(error) if error.is_io_error() || error.code() == Some("LOADING") => (),
                _ => return true,
            }
            thread::sleep(Duration::from_millis(5));
        }
        false
    }

    pub(super) fn try_command(&self, words: &[&str]) -> redis::RedisResult<Value> {
        let mut connection = redis::Client::open(self.url())?.get_connection_with_timeout(Duration::from_secs(5))?;
        redis::cmd(words[0]).arg(&words[1..]).query(&mut connection)
    }

    pub(super) fn command(&self, words: &[&str]) -> Value {
        self.try_command(words).unwrap()
    }

    pub(super) fn number(&self, words: &[&str]) -> i64 {
        redis::from_redis_value(self.command(words)).unwrap()
    }

    pub(super) fn text(&self, words: &[&str]) -> String {
        redis::from_redis_value(self.command(words)).unwrap()
    }

    pub(super) fn keys(&self) -> Vec<String> {
        redis::from_redis_value(self.command(&["KEYS", "*"])).unwrap()
    }

    /// How often a command was called since the statistics were reset.
    pub(super) fn calls(&self, command: &str) -> u64 {
        let stats = self.text(&["INFO", "commandstats"]);
        let line = format!("cmdstat_{command}:calls=");
        let calls = stats.lines().find_map(|stat| stat.strip_prefix(&line)?.split(',').next()?.parse().ok());
        calls.unwrap_or(0)
    }

    fn signal(&self, signal: &str) {
        assert!(Command::new("kill").arg(signal).arg(self.child.id().to_string()).status().unwrap().success());
    }

    pub(super) fn pause(&self) {
        self.signal("-STOP");
    }

    pub(super) fn resume(&self) {
        self.signal("-CONT");
    }

    /// As a crash.
    pub(super) fn kill(&mut self) {
        _ = self.child.kill();
        self.child.wait().unwrap();
    }

    /// On the same port, with what there is in the folder.
    pub(super) fn restart(&mut self) {
        self.kill();
        for _ in 0..50 {
            self.child = launch(&self.folder, self.port, &self.arguments).unwrap();
            if self.answers() {
                return;
            }
            thread::sleep(Duration::from_millis(100));
        }
        panic!("redis-server does not start again");
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        _ = self.child.kill();
        _ = self.child.wait();
        _ = fs::remove_dir_all(&self.folder);
    }
}

fn launch(folder: &PathBuf, port: u16, arguments: &[String]) -> Option<Child> {
    let mut command = Command::new("redis-server");
    command.arg("--port").arg(port.to_string()).arg("--dir").arg(folder);
    command.args(["--bind", "127.0.0.1", "--save", "", "--logfile", "log", "--repl-diskless-sync-delay", "0"]);
    command.args(arguments).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    match command.spawn() {
        Ok(child) => Some(child),
        Err(error) => {
            let required = ["CI", "TOOLGATE_REQUIRE_REDIS"].iter().any(|name| std::env::var_os(name).is_some());
            assert!(!required, "redis-server is required and cannot be run: {error}");
            // Not `eprintln`, which is only shown of tests that fail.
            _ = writeln!(io::stderr(), "SKIPPED, NOT PASSED: redis-server cannot be run: {error}");
            _ = fs::remove_dir_all(folder);
            None
        }
    }
}
