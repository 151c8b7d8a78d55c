//! One process at a time.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

pub(super) use self::held::Lock;

/// A file beside another one.
pub(super) fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name = OsString::from(path);
    name.push(suffix);
    name.into()
}

/// The lock is a socket's address. Unlike a file's being there, that somebody listens ends with the process, however
/// it ends: what a crash leaves behind is told from what is in use, from within other containers too.
#[cfg(unix)]
mod held {
    use std::fs;
    use std::io::{self, ErrorKind};
    use std::os::unix::net::UnixDatagram;
    use std::path::{Path, PathBuf};
    use std::sync::atomic::{AtomicU64, Ordering};
    use std::time::{SystemTime, UNIX_EPOCH};

    use super::beside;

    #[derive(Debug)]
    pub(in super::super) struct Lock {
        path: PathBuf,
        _address: UnixDatagram,
    }

    impl Lock {
        /// The lock of a file, unless somebody has it.
        pub(in super::super) fn acquire(file: &Path) -> io::Result<Option<Self>> {
            let (path, bound) = (beside(file, ".lock"), beside(file, &unique()));
            let address = UnixDatagram::bind(&bound)?;
            let taken = take(&bound, &path);
            // Renamed already, if it took the place of another one.
            _ = fs::remove_file(&bound);
            Ok(taken?.then(|| Self { path, _address: address }))
        }
    }

    impl Drop for Lock {
        fn drop(&mut self) {
            _ = fs::remove_file(&self.path);
        }
    }

    fn unique() -> String {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let time = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.subsec_nanos());
        format!(".{:x}.{time:x}.{:x}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed))
    }

    /// A link is made only where nothing is; what is left of a crash is replaced by one process at a time.
    fn take(bound: &Path, path: &Path) -> io::Result<bool> {
        if link(bound, path)? {
            return Ok(true);
        }
        let turn = beside(path, ".turn");
        if !link(bound, &turn)? {
            return Ok(false);
        }
        let taken = in_use(path).and_then(|used| if used { Ok(false) } else { fs::rename(bound, path).map(|()| true) });
        fs::remove_file(turn)?;
        taken
    }

    /// Whether nothing was there.
    fn link(from: &Path, to: &Path) -> io::Result<bool> {
        match fs::hard_link(from, to) {
            Ok(()) => Ok(true),
            Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(false),
            Err(error) => Err(error),
        }
    }

    fn in_use(path: &Path) -> io::Result<bool> {
        match UnixDatagram::unbound()?.connect(path) {
            Ok(()) => Ok(true),
            Err(error) if matches!(error.kind(), ErrorKind::ConnectionRefused | ErrorKind::NotFound) => Ok(false),
            Err(error) => Err(error),
        }
    }
}

/// The lock is a file. After a crash it has to be removed by hand.
#[cfg(not(unix))]
mod held {
    use std::fs::{self, OpenOptions};
    use std::io::{self, ErrorKind};
    use std::path::{Path, PathBuf};

    use super::beside;

    #[derive(Debug)]
    pub(in super::super) struct Lock(PathBuf);

    impl Lock {
        /// The lock of a file, unless it is there.
        pub(in super::super) fn acquire(file: &Path) -> io::Result<Option<Self>> {
            let path = beside(file, ".lock");
            match OpenOptions::new().write(true).create_new(true).open(&path) {
                Ok(_) => Ok(Some(Self(path))),
                Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(None),
                Err(error) => Err(error),
            }
        }
    }

    impl Drop for Lock {
        fn drop(&mut self) {
            _ = fs::remove_file(&self.0);
        }
    }
}
