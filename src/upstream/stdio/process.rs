//! The child, and those that it starts.

use std::io;
use std::process::Stdio;

use tokio::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command};

use super::config::StdioConfig;
use super::environment::isolated;

/// A child, and the pipes to it.
pub(super) struct Pipes {
    pub(super) child: Child,
    pub(super) stdin: ChildStdin,
    pub(super) stdout: ChildStdout,
    pub(super) stderr: ChildStderr,
}

impl Pipes {
    pub(super) fn open(config: &StdioConfig) -> io::Result<Self> {
        let mut child = spawn(config)?;
        match (child.stdin.take(), child.stdout.take(), child.stderr.take()) {
            (Some(stdin), Some(stdout), Some(stderr)) => Ok(Self { child, stdin, stdout, stderr }),
            _ => Err(io::ErrorKind::BrokenPipe.into()),
        }
    }

    pub(super) fn group(&self) -> Group {
        Group::of(&self.child)
    }
}

/// Starts the child, at the head of a group of its own: what a terminal tells this process it does not hear.
fn spawn(config: &StdioConfig) -> io::Result<Child> {
    let mut command = Command::new(&config.command);
    command.args(&config.args);
    if config.isolated {
        command.env_clear().envs(isolated(std::env::vars_os()));
    }
    command.envs(&config.env);
    if let Some(folder) = &config.folder {
        command.current_dir(folder);
    }
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).kill_on_drop(true);
    #[cfg(unix)]
    command.process_group(0);
    command.spawn()
}

/// The group of a child. Dropping it kills whoever is left in it.
#[derive(Debug)]
pub(super) struct Group {
    #[cfg(unix)]
    leader: Option<rustix::process::Pid>,
}

impl Group {
    #[cfg(unix)]
    fn of(child: &Child) -> Self {
        let id = child.id().and_then(|id| i32::try_from(id).ok());
        Self { leader: id.and_then(rustix::process::Pid::from_raw) }
    }

    /// There is the child only, which dies with its handle.
    #[cfg(not(unix))]
    fn of(_: &Child) -> Self {
        Self {}
    }

    /// Kills all of it, once: the number may be another group's later on.
    pub(super) fn kill(&mut self) {
        #[cfg(unix)]
        if let Some(leader) = self.leader.take() {
            // That there is nobody left is what is wanted.
            _ = rustix::process::kill_process_group(leader, rustix::process::Signal::KILL);
        }
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        self.kill();
    }
}
