//! The two steps that Redis takes as one.

use redis::aio::MultiplexedConnection;
use redis::{Cmd, ErrorKind, RedisError, RedisResult, ServerErrorKind, Value};

/// A step. Because of its first line a script is refused by a replica, and without `allow-oom` by a full server.
#[derive(Clone, Copy, Debug)]
pub(super) enum Script {
    /// A visit.
    Visit,
    /// A visit that marks nothing, to a full server: nothing is written, not even what is told again.
    Peek,
    /// An operator's.
    Clear,
}

const VISIT: &str = concat!("#!lua\nlocal writes = true\n", include_str!("value.lua"), include_str!("visit.lua"));
const PEEK: &str =
    concat!("#!lua flags=allow-oom\nlocal writes = false\n", include_str!("value.lua"), include_str!("visit.lua"));
const CLEAR: &str = concat!("#!lua\n", include_str!("value.lua"), include_str!("clear.lua"));

impl Script {
    const fn text(self) -> &'static str {
        match self {
            Self::Visit => VISIT,
            Self::Peek => PEEK,
            Self::Clear => CLEAR,
        }
    }
}

/// The scripts by the digests that a server gave them.
#[derive(Clone, Debug)]
pub(super) struct Loaded {
    visit: String,
    peek: String,
    clear: String,
}

impl Loaded {
    pub(super) async fn load(connection: &mut MultiplexedConnection) -> RedisResult<Self> {
        let mut pipeline = redis::pipe();
        for script in [Script::Visit, Script::Peek, Script::Clear] {
            pipeline.cmd("SCRIPT").arg("LOAD").arg(script.text());
        }
        let (visit, peek, clear) = pipeline.query_async(connection).await?;
        Ok(Self { visit, peek, clear })
    }

    fn digest(&self, script: Script) -> &str {
        match script {
            Script::Visit => &self.visit,
            Script::Peek => &self.peek,
            Script::Clear => &self.clear,
        }
    }

    /// Runs a script on one key; once more with its text if the server has forgotten it.
    pub(super) async fn run(
        &self,
        connection: &mut MultiplexedConnection,
        script: Script,
        key: &str,
        arguments: &[String],
    ) -> RedisResult<Value> {
        let command = |name, script: &str| -> Cmd {
            let mut command = redis::cmd(name);
            command.arg(script).arg(1).arg(key).arg(arguments);
            command
        };
        match command("EVALSHA", self.digest(script)).query_async(connection).await {
            Err(error) if is_forgotten(&error) => command("EVAL", script.text()).query_async(connection).await,
            answer => answer,
        }
    }
}

fn is_forgotten(error: &RedisError) -> bool {
    error.kind() == ErrorKind::Server(ServerErrorKind::NoScript)
}

/// Whether the server takes nothing more.
pub(super) fn is_full(error: &RedisError) -> bool {
    error.code() == Some("OOM")
}
