//! What a child may know of the gateway's environment.

use std::ffi::{OsStr, OsString};

const PASSED: &[&str] = &["HOME", "LANG", "PATH", "SHELL", "TERM", "TMPDIR", "TZ", "USER"];

/// Without these programs do not start, or find no folder of their own.
#[cfg(windows)]
const PASSED_BY_SYSTEM: &[&str] = &[
    "APPDATA",
    "COMSPEC",
    "HOMEDRIVE",
    "HOMEPATH",
    "LOCALAPPDATA",
    "PATHEXT",
    "PROCESSOR_ARCHITECTURE",
    "PROGRAMFILES",
    "SYSTEMDRIVE",
    "SYSTEMROOT",
    "TEMP",
    "TMP",
    "USERNAME",
    "USERPROFILE",
    "WINDIR",
];
#[cfg(not(windows))]
const PASSED_BY_SYSTEM: &[&str] = &[];

/// What passes of an environment.
pub(super) fn isolated(
    variables: impl IntoIterator<Item = (OsString, OsString)>,
) -> impl Iterator<Item = (OsString, OsString)> {
    // A value like this is a function of a shell.
    variables.into_iter().filter(|(name, value)| passes(name) && !value.as_encoded_bytes().starts_with(b"()"))
}

fn passes(name: &OsStr) -> bool {
    let Some(name) = name.to_str() else { return false };
    let same = |known: &&str| if cfg!(windows) { known.eq_ignore_ascii_case(name) } else { *known == name };
    name.starts_with("LC_") || PASSED.iter().chain(PASSED_BY_SYSTEM).any(same)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_known_to_be_harmless_passes() {
        let pairs = [
            ("PATH", "/bin", true),
            ("LC_ALL", "C", true),
            ("TZ", "UTC", true),
            ("SHELL", "() { :; }", false),
            ("AWS_SECRET_ACCESS_KEY", "x", false),
            ("LD_PRELOAD", "x", false),
            ("PYTHONPATH", "x", false),
            ("NODE_OPTIONS", "x", false),
            ("HTTPS_PROXY", "http://user:password@proxy", false),
            ("path", "/bin", cfg!(windows)),
        ];
        for (name, value, passes) in pairs {
            let left: Vec<_> = isolated([(name.into(), value.into())]).collect();
            assert_eq!(!left.is_empty(), passes, "{name}");
        }
    }
}
