//! Whether a server is one to rely upon.

use redis::aio::MultiplexedConnection;
use redis::{ErrorKind, RedisError, ServerErrorKind};

use super::failure;
use crate::store::StoreError;

/// What a server says of itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Server {
    /// Another one after each start; blank where it does not say.
    pub(super) run_id: String,
    /// Whether it writes down what it is told; `None` where it does not say.
    pub(super) persists: Option<bool>,
}

const EVICTS: StoreError = StoreError::Unfit("`maxmemory-policy` is not `noeviction`");
const REPLICA: StoreError = StoreError::Unfit("it is a replica");
const OLD: StoreError = StoreError::Unfit("it is older than Redis 7.0");
const SILENT: StoreError = StoreError::Unfit("it does not say whether it evicts, and nobody has acknowledged that");

impl Server {
    /// Asks a server, and judges what it says.
    pub(super) async fn ask(connection: &mut MultiplexedConnection, acknowledged: bool) -> Result<Self, StoreError> {
        let sections = ["server", "replication", "memory", "persistence"];
        let info: Result<String, _> = redis::cmd("INFO").arg(&sections).query_async(connection).await;
        let info = match info {
            Ok(info) => info,
            Err(error) if is_denied(&error) => String::new(),
            Err(error) => return Err(failure(&error)),
        };
        let mut server = Self::judge(&info, acknowledged)?;
        if server.persists != Some(true) {
            server.persists = snapshots(connection).await?.or(server.persists);
        }
        Ok(server)
    }

    fn judge(info: &str, acknowledged: bool) -> Result<Self, StoreError> {
        let field = |name: &str| info.lines().find_map(|line| line.trim_end().strip_prefix(name)?.strip_prefix(':'));
        if field("role").is_some_and(|role| role != "master") {
            return Err(REPLICA);
        }
        let major = |version: &str| version.split('.').next().and_then(|major| major.parse::<u32>().ok());
        if field("redis_version").is_some_and(|version| major(version).is_none_or(|major| major < 7)) {
            return Err(OLD);
        }
        match (field("maxmemory"), field("maxmemory_policy")) {
            (Some("0"), _) | (_, Some("noeviction")) => (),
            (Some(_), Some(_)) => return Err(EVICTS),
            _ if acknowledged => (),
            _ => return Err(SILENT),
        }
        let persists = field("aof_enabled").filter(|enabled| *enabled == "1").map(|_| true);
        Ok(Self { run_id: field("run_id").unwrap_or_default().into(), persists })
    }
}

/// Whether it has save points.
async fn snapshots(connection: &mut MultiplexedConnection) -> Result<Option<bool>, StoreError> {
    let answer: Result<Vec<String>, _> = redis::cmd("CONFIG").arg("GET").arg("save").query_async(connection).await;
    match answer {
        Ok(pair) => Ok(pair.get(1).map(|points| !points.is_empty())),
        Err(error) if is_denied(&error) => Ok(None),
        Err(error) => Err(failure(&error)),
    }
}

/// Whether the server does not let this user ask, or does not know the command.
fn is_denied(error: &RedisError) -> bool {
    matches!(error.kind(), ErrorKind::Server(ServerErrorKind::NoPerm | ServerErrorKind::ResponseError))
}

#[cfg(test)]
mod tests {
    use super::*;

    const INFO: &str = "# Server\r\nredis_version:7.2.4\r\nrun_id:abc\r\nrole:master\r\nmaxmemory:0\r\n\
                        maxmemory_policy:allkeys-lru\r\naof_enabled:1\r\n";

    #[test]
    fn rd_03_rd_04_a_server_is_judged_by_what_it_says() {
        let judge = |from: &str, to: &str| Server::judge(&INFO.replace(from, to), false);
        let fit = Server { run_id: "abc".into(), persists: Some(true) };
        assert_eq!(judge("", ""), Ok(fit.clone()));
        assert_eq!(judge("maxmemory:0", "maxmemory:9"), Err(EVICTS));
        assert_eq!(
            judge("maxmemory:0\r\nmaxmemory_policy:allkeys-lru", "maxmemory:9\r\nmaxmemory_policy:noeviction"),
            Ok(fit)
        );
        assert_eq!(judge("role:master", "role:slave"), Err(REPLICA));
        assert_eq!(judge("7.2.4", "6.2.14"), Err(OLD));
        assert_eq!(judge("aof_enabled:1", "aof_enabled:0").unwrap().persists, None);
        assert_eq!(judge("maxmemory", "x"), Err(SILENT));
        assert_eq!(Server::judge("", false), Err(SILENT));
        assert_eq!(Server::judge("", true), Ok(Server::default()));
        assert_eq!(Server::judge(&INFO.replace("maxmemory:0", "maxmemory:9"), true), Err(EVICTS));
    }
}
