//! The cost of one decision, by the number of roles.

use std::error::Error;
use std::time::{Duration, Instant};

use tower_toolgate::json::OwnedArguments;
use tower_toolgate::message::Call;
use tower_toolgate::policy::{ArgumentAllowlist, Policy, PolicyConfig, RoleConfig};

use super::measure::{nanoseconds, undisturbed};

const FEW: usize = 10;
const MANY: usize = 10_000;
const RULES: usize = 100;
const RUNS: u32 = 1_000;

pub(crate) fn table() -> Result<(), Box<dyn Error>> {
    let arguments = OwnedArguments::read(r#"{"cmd":"ls -la"}"#)?;
    let call = Call::Tool { name: "tool_50".into(), arguments: arguments.arguments() };
    let (few, few_built) = policy(FEW)?;
    let (many, many_built) = policy(MANY)?;
    let allows = |policy: &Policy, role: &str| policy.check(role, None, &call).is_allow();
    if !allows(&few, "role_5") || !allows(&many, "role_5") || allows(&many, "role_x") {
        return Err("the policy does not decide as it should".into());
    }
    let same = |policy: &Policy| nanoseconds(RUNS, || "role_5", |role| allows(policy, role));
    let (few_random, many_random) = (random(FEW), random(MANY));
    let at_random = |policy: &Policy, roles: &[String]| {
        let mut roles = roles.iter();
        nanoseconds(RUNS, || (), |()| roles.next().is_some_and(|role| allows(policy, role)))
    };
    let [few_same, many_same, few_random, many_random] =
        undisturbed([&mut || same(&few), &mut || same(&many), &mut || at_random(&few, &few_random), &mut || {
            at_random(&many, &many_random)
        }]);
    println!(
        "One decision, of {RULES} rules a role. Times in ns; the aim is a ratio of 1.2 for one and the same role.\n"
    );
    println!("| roles | one and the same | at random | built in |");
    println!("|---|--:|--:|--:|");
    println!("| {FEW} | {few_same:.0} | {few_random:.0} | {few_built:.1?} |");
    println!("| {MANY} | {many_same:.0} | {many_random:.0} | {many_built:.1?} |");
    println!("| ratio | {:.2} | {:.2} | |", many_same / few_same, many_random / few_random);
    Ok(())
}

fn policy(roles: usize) -> Result<(Policy, Duration), Box<dyn Error>> {
    let config = (0..roles).map(role).fold(PolicyConfig::new(), PolicyConfig::with_role);
    let start = Instant::now();
    let policy = Policy::new(&config)?;
    Ok((policy, start.elapsed()))
}

fn role(at: usize) -> RoleConfig {
    let tool = |rule| format!("tool_{rule}");
    let role = RoleConfig::new(format!("role_{at}")).with_allow((0..RULES).map(tool));
    let rule = |rule| ArgumentAllowlist::new_required(tool(rule), "cmd", ["ls", "cat"]);
    (0..RULES).map(rule).fold(role, RoleConfig::with_argument_allowlist)
}

/// Names of roles, in an order that neither repeats soon nor changes from run to run.
fn random(roles: usize) -> Vec<String> {
    let next = |state: &u32| Some(state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223));
    let states = std::iter::successors(Some(1_u32), next);
    states.map(|state| format!("role_{}", state as usize / 256 % roles)).take(RUNS as usize).collect()
}
