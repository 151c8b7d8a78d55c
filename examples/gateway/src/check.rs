//! `--check` and `--explain`.

use std::process::ExitCode;

use tower_toolgate::policy::Policy;

use crate::config::{Parsed, Problem};
use crate::{provenance, servers, trust};

/// Compiles the policy of a configuration.
///
/// # Errors
///
/// Its first mistake, with its place in the file.
pub fn compile(parsed: &Parsed) -> Result<Policy, Problem> {
    Policy::new(&parsed.config.policy)
        .map_err(|error| parsed.places.problem(format!("policy.{}", error.place()), error.problem().to_string()))
}

/// What is wrong or doubtful in a section.
type Check = fn(&Parsed) -> Result<Vec<Problem>, Problem>;

/// But for the policy and the gateway's own.
const SECTIONS: [Check; 3] = [servers::check, trust::check, provenance::check];

/// What is doubtful in a configuration, though not wrong.
///
/// # Errors
///
/// The first mistake, with its place in the file.
pub fn doubts(parsed: &Parsed, policy: &Policy) -> Result<Vec<Problem>, Problem> {
    SECTIONS.iter().try_fold(of_policy_and_gateway(parsed, policy), |mut doubts, section| {
        doubts.extend(section(parsed)?);
        Ok(doubts)
    })
}

fn of_policy_and_gateway(parsed: &Parsed, policy: &Policy) -> Vec<Problem> {
    let place = |place: &str, message: String| parsed.places.problem(place, message);
    let lints = policy.lints().iter();
    let mut doubts: Vec<_> =
        lints.map(|lint| place(&format!("policy.{}", lint.place()), lint.kind().to_string())).collect();
    let gateway = &parsed.config.gateway;
    if gateway.api_keys.is_empty() {
        doubts.push(place("gateway.api_keys", "without keys every request is answered with 401".to_owned()));
    }
    if gateway.shadow {
        doubts.push(place("gateway.shadow", "nothing that the policy denies is held back".to_owned()));
    }
    if !gateway.listen.ip().is_loopback() && gateway.allowed_hosts.is_empty() {
        doubts.push(place("gateway.allowed_hosts", "without hosts every request is answered with 403".to_owned()));
    }
    if gateway.admin.is_some() && parsed.config.content_trust.is_none() {
        doubts.push(place("gateway.admin", "without `content_trust` there is nothing to look at".to_owned()));
    }
    for (at, role) in parsed.config.policy.roles.iter().enumerate() {
        if !gateway.api_keys.iter().any(|key| key.roles.contains(&role.name)) {
            doubts.push(place(&format!("policy.roles[{at}].name"), format!("no key has the role `{}`", role.name)));
        }
    }
    doubts
}

/// Prints all problems: 0 without any, 1 with doubts, 2 with errors.
#[must_use]
pub fn report(parsed: &Parsed) -> ExitCode {
    let mut errors = parsed.not_yet();
    let mut doubts = Vec::new();
    match compile(parsed) {
        Ok(policy) => doubts.extend(of_policy_and_gateway(parsed, &policy)),
        Err(problem) => errors.push(problem),
    }
    for section in SECTIONS {
        match section(parsed) {
            Ok(found) => doubts.extend(found),
            Err(problem) => errors.push(problem),
        }
    }
    errors.iter().for_each(|problem| println!("error: {problem}"));
    doubts.iter().for_each(|problem| println!("doubt: {problem}"));
    match (errors.is_empty(), doubts.is_empty()) {
        (true, true) => ExitCode::SUCCESS,
        (true, false) => ExitCode::from(1),
        (false, _) => ExitCode::from(2),
    }
}

/// `--explain`.
pub mod explain {
    use std::process::ExitCode;

    use tower_toolgate::json::OwnedArguments;
    use tower_toolgate::message::Call;
    use tower_toolgate::policy::Decision;

    use super::compile;
    use crate::config::Parsed;

    /// Prints what would become of a call on each server: 0 if it would pass somewhere, 1 if nowhere, 2 with errors.
    #[must_use]
    pub fn report(parsed: &Parsed, role: &str, tool: &str, json: &str) -> ExitCode {
        let policy = match compile(parsed) {
            Ok(policy) => policy,
            Err(problem) => return failed(&problem.to_string()),
        };
        let arguments = match OwnedArguments::read(json) {
            Ok(arguments) => arguments,
            Err(error) => return failed(&format!("arguments: {error}")),
        };
        let call = Call::Tool { name: tool.into(), arguments: arguments.arguments() };
        let mut allowed = false;
        for server in &parsed.config.mcp.servers {
            match policy.check(role, Some(&server.entry.id), &call) {
                Decision::Allow => {
                    allowed = true;
                    println!("{}: allow", server.entry.id);
                }
                Decision::Deny(denied) => println!("{}: deny ({}): {denied}", server.entry.id, denied.reason()),
            }
        }
        ExitCode::from(u8::from(!allowed))
    }

    fn failed(message: &str) -> ExitCode {
        eprintln!("error: {message}");
        ExitCode::from(2)
    }
}
