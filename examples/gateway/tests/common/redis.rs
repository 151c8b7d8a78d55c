//! A Redis of its own, for as long as a test runs. Two binaries of tests share this file, and each uses a part.
#![allow(dead_code)]

use std::fs;
use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU16, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// Nothing takes that long unless it hangs.
const PATIENCE: Duration = Duration::from_secs(30);

pub(crate) struct Redis {
    child: Child,
    folder: PathBuf,
    port: u16,
}

impl Redis {
    /// A server that writes nothing down; `None`, with a word about it, where there is none and need not be one.
    pub(crate) fn start(test: &str, arguments: &[&str]) -> Option<Self> {
        // Another process may hold the port: then the server ends, and there is another try.
        for _ in 0..20 {
            let port = port();
            let folder = std::env::temp_dir().join(format!("toolgate-redis-{}-{port}", std::process::id()));
            fs::create_dir(&folder).expect("the folder is new");
            let child = launch(test, &folder, port, arguments)?;
            let mut redis = Self { child, folder, port };
            if redis.answers() {
                return Some(redis);
            }
        }
        panic!("redis-server does not start");
    }

    /// The section of a configuration that says to use it.
    pub(crate) fn section(&self) -> String {
        format!("[content_trust.store]\nkind = \"redis\"\nurl = \"redis://127.0.0.1:{}\"\n", self.port)
    }

    /// As a crash.
    pub(crate) fn kill(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }

    /// Starts it again where it was, empty.
    pub(crate) fn restart(&mut self) {
        self.kill();
        self.child = launch("", &self.folder, self.port, &[]).expect("it was there before");
        assert!(self.answers(), "redis-server does not start again");
    }

    pub(crate) fn pause(&self) {
        self.signal("-STOP");
    }

    pub(crate) fn resume(&self) {
        self.signal("-CONT");
    }

    fn signal(&self, signal: &str) {
        let done = Command::new("kill").arg(signal).arg(self.child.id().to_string()).status();
        assert!(done.expect("there is `kill`").success());
    }

    /// Waits until it answers; it does not if it has ended.
    fn answers(&mut self) -> bool {
        let start = Instant::now();
        while start.elapsed() < PATIENCE && self.child.try_wait().is_ok_and(|ended| ended.is_none()) {
            if self.ping().is_ok_and(|answer| answer.starts_with(b"+PONG")) {
                return true;
            }
            thread::sleep(Duration::from_millis(5));
        }
        false
    }

    fn ping(&self) -> io::Result<[u8; 5]> {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port))?;
        stream.set_read_timeout(Some(PATIENCE))?;
        stream.write_all(b"PING\r\n")?;
        let mut answer = [0; 5];
        stream.read_exact(&mut answer)?;
        Ok(answer)
    }
}

impl Drop for Redis {
    fn drop(&mut self) {
        self.kill();
        // What is left is the system's to clear.
        let _ = fs::remove_dir_all(&self.folder);
    }
}

/// A port below those that the system gives to whoever asks for any: nobody takes it while the server is down.
fn port() -> u16 {
    static NEXT: AtomicU16 = AtomicU16::new(0);
    let first = 30_000 + u16::try_from(std::process::id() % 100).expect("it is small") * 20;
    first + NEXT.fetch_add(1, Ordering::Relaxed) % 20
}

fn launch(test: &str, folder: &Path, port: u16, arguments: &[&str]) -> Option<Child> {
    let mut command = Command::new("redis-server");
    command.arg("--port").arg(port.to_string()).arg("--dir").arg(folder);
    command.args(["--bind", "127.0.0.1", "--save", "", "--logfile", "log"]).args(arguments);
    match command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn() {
        Ok(child) => Some(child),
        Err(error) => {
            let _ = fs::remove_dir_all(folder);
            let required = ["CI", "TOOLGATE_REQUIRE_REDIS"].iter().any(|name| std::env::var_os(name).is_some());
            assert!(!required, "redis-server is required and cannot be run: {error}");
            // Not `eprintln`, which is only shown of tests that fail.
            let _ = writeln!(io::stderr(), "SKIPPED, NOT PASSED: {test}: redis-server cannot be run: {error}");
            None
        }
    }
}
