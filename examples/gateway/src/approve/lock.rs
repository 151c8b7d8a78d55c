//! The lock file, to be written anew.

use std::fs::{self, File, OpenOptions};
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::Duration;

use tower_toolgate::server::Pins;

/// How often, and after which pause, it is tried again while somebody else has it.
const TRIES: u32 = 20;
const PAUSE: Duration = Duration::from_millis(100);

/// The lock file. Until this is dropped nobody else can have it.
pub(super) struct Lock {
    file: PathBuf,
    /// What becomes the file. It is there for as long as somebody has the lock.
    beside: PathBuf,
    new: File,
    is_written: bool,
    pub(super) pins: Pins,
}

impl Lock {
    /// Waits for whoever has it.
    pub(super) fn open(file: &Path) -> Result<Self, String> {
        // What a link leads to is written, and not the link.
        let file = file.canonicalize().unwrap_or_else(|_| file.to_owned());
        let mut beside = file.clone().into_os_string();
        beside.push(".new");
        let beside = PathBuf::from(beside);
        let new = alone(&beside)?;
        let mut lock = Self { file, beside, new, is_written: false, pins: Pins::new() };
        lock.pins = read(&lock.file)?;
        Ok(lock)
    }

    /// All of it or nothing: a gateway may be reading it.
    pub(super) fn write(mut self) -> Result<(), String> {
        let written = self.replace();
        self.is_written = written.is_ok();
        written.map_err(|error| format!("cannot write `{}`: {error}", self.file.display()))
    }

    fn replace(&mut self) -> std::io::Result<()> {
        if let Ok(known) = fs::metadata(&self.file) {
            self.new.set_permissions(known.permissions())?;
        }
        self.new.write_all(self.pins.write().as_bytes())?;
        self.new.sync_all()?;
        fs::rename(&self.beside, &self.file)
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        if !self.is_written {
            // Who comes next is told if it is still there.
            _ = fs::remove_file(&self.beside);
        }
    }
}

/// What a lock file says. One that is not there yet is empty.
pub(super) fn read(file: &Path) -> Result<Pins, String> {
    let shown = file.display();
    let text = match fs::read_to_string(file) {
        Err(error) if error.kind() == ErrorKind::NotFound => String::new(),
        read => read.map_err(|error| format!("cannot read `{shown}`: {error}"))?,
    };
    Pins::read(&text).map_err(|error| format!("`{shown}`, {error}"))
}

/// A file that was not there, so that nobody else has made it, or led it elsewhere.
fn alone(path: &Path) -> Result<File, String> {
    let shown = path.display();
    for _ in 0..TRIES {
        match OpenOptions::new().write(true).create_new(true).open(path) {
            Err(error) if error.kind() == ErrorKind::AlreadyExists => sleep(PAUSE),
            made => return made.map_err(|error| format!("cannot write `{shown}`: {error}")),
        }
    }
    Err(format!("`{shown}` is there: somebody else approves something, or was stopped in it; then remove the file"))
}
