use super::*;
use McpTrustLevel::{Future, Sandboxed, Trusted, Untrusted};

const DAY: Duration = Duration::from_secs(24 * 60 * 60);

fn after(steps: impl FnOnce(&mut TrustScore)) -> TrustScore {
    let mut score = TrustScore::new();
    steps(&mut score);
    score
}

fn times(count: usize, mut step: impl FnMut()) {
    (0..count).for_each(|_| step());
}

#[test]
fn scores_are_as_pinned() {
    for (row, score, value, level) in [
        ("SE-29 the start", TrustScore::new(), 0.5, Untrusted),
        ("SE-29 a finding", after(|score| score.register(1)), 0.25, Sandboxed),
        ("SE-29 a failure", after(TrustScore::fail), 0.4, Untrusted),
        ("SE-29 a success", after(TrustScore::succeed), 0.52, Untrusted),
        ("SE-29 never below 0", after(|score| times(9, || score.fail())), 0.0, Sandboxed),
        ("SE-29 never above 1", after(|score| times(99, || score.succeed())), 1.0, Trusted),
        ("SE-30 decay", after(|score| (times(5, || score.succeed()), score.wait(3 * DAY)).1), 0.57, Untrusted),
        ("SE-30 no further than the start", after(|score| (score.succeed(), score.wait(99 * DAY)).1), 0.5, Untrusted),
        ("SE-31 no recovery by waiting", after(|score| (score.fail(), score.wait(999 * DAY)).1), 0.4, Untrusted),
        ("SE-32 untrusted from 0.4 on", after(TrustScore::fail), 0.4, Untrusted),
        ("SE-32 sandboxed below", after(|score| times(2, || score.fail())), 0.3, Sandboxed),
        ("SE-32 trusted from 0.8 on", after(|score| times(15, || score.succeed())), 0.8, Trusted),
        ("SE-32 not before", after(|score| times(14, || score.succeed())), 0.78, Untrusted),
        (
            "SE-33 at most three findings",
            after(|score| (times(25, || score.succeed()), score.register(9)).1),
            0.25,
            Sandboxed,
        ),
        ("SE-34 no findings", after(|score| score.register(0)), 0.5, Untrusted),
    ] {
        assert_eq!((score.value(), score.level()), (value, level), "{row}");
    }
}

#[test]
fn trust_only_falls() {
    let found = after(|score| score.register(1));
    let recovered = after(|score| (score.register(1), times(99, || score.succeed())).1);
    let mildly = after(|score| (times(10, || score.succeed()), score.register(1)).1);
    for (row, score, configured, effective) in [
        ("SE-34 nothing found", TrustScore::new(), Trusted, Trusted),
        ("SE-34 nothing found", TrustScore::new(), Sandboxed, Sandboxed),
        ("SE-34 no findings", after(|score| score.register(0)), Trusted, Trusted),
        ("SE-34 failures are no findings", after(|score| times(5, || score.fail())), Trusted, Trusted),
        ("SE-35 found", found, Trusted, Sandboxed),
        ("SE-35 found", found, Untrusted, Sandboxed),
        ("SE-35 found, of a good score", mildly, Trusted, Untrusted),
        ("SE-35 never back up", recovered, Trusted, Sandboxed),
        ("SE-35 no promotion", after(|score| times(99, || score.succeed())), Untrusted, Untrusted),
        ("SE-35 no promotion", after(|score| times(99, || score.succeed())), Sandboxed, Sandboxed),
        ("SE-13", found, Future, Future),
    ] {
        assert_eq!(score.effective(configured), effective, "{row}");
    }
}

#[test]
fn waiting_in_small_steps_is_waiting() {
    let mut score = after(|score| times(5, || score.succeed()));
    times(24 * 60, || score.wait(Duration::from_secs(60)));
    assert_eq!(score.value(), 0.59);
}

#[test]
fn servers_ask_for_what_their_level_allows() {
    let secs = |secs| Some(Duration::from_secs(secs));
    let root = || [Root::new("file:///srv")];
    for (row, entry, at, (sampling, elicitation, roots)) in [
        ("trusted", entry(Trusted), Trusted, (true, None, false)),
        ("SE-39 trusted", entry(Trusted).with_elicitation_enabled(true), Trusted, (true, secs(120), false)),
        ("trusted, roots", entry(Trusted).with_roots(root()), Trusted, (true, None, true)),
        ("SE-39 off", entry(Untrusted), Untrusted, (false, None, false)),
        ("SE-39 flag", entry(Untrusted).with_elicitation_enabled(true), Untrusted, (false, secs(120), false)),
        (
            "SE-39 time",
            entry(Untrusted).with_elicitation_enabled(true).with_elicitation_timeout_secs(5),
            Untrusted,
            (false, secs(5), false),
        ),
        ("roots", entry(Untrusted).with_roots(root()), Untrusted, (false, None, true)),
        (
            "SE-39 sandboxed",
            entry(Sandboxed).with_elicitation_enabled(true).with_roots(root()),
            Sandboxed,
            (false, None, false),
        ),
        ("demoted", entry(Trusted).with_elicitation_enabled(true).with_roots(root()), Sandboxed, (false, None, false)),
        ("demoted a little", entry(Trusted), Untrusted, (false, None, false)),
        ("not promoted", entry(Sandboxed).with_elicitation_enabled(true), Trusted, (false, None, false)),
        ("SE-13", entry(Future).with_elicitation_enabled(true), Trusted, (false, None, false)),
    ] {
        let reach = ReachBack::at(&entry, at);
        assert_eq!((reach.sampling(), reach.elicitation(), reach.roots()), (sampling, elicitation, roots), "{row}");
        assert_eq!(ReachBack::new(&entry), ReachBack::at(&entry, entry.trust_level), "{row}");
    }
}

#[test]
fn se_40_media_pass_by_the_flag_and_never_from_a_sandbox() {
    for (configured, flag, at, passes) in [
        (Trusted, true, Trusted, true),
        (Untrusted, true, Untrusted, true),
        (Untrusted, false, Untrusted, false),
        (Trusted, false, Trusted, false),
        (Sandboxed, true, Sandboxed, false),
        (Sandboxed, true, Trusted, false),
        (Trusted, true, Sandboxed, false),
        (Future, true, Trusted, false),
    ] {
        assert_eq!(entry(configured).with_media_passthrough(flag).passes_media(at), passes, "{configured} {flag} {at}");
    }
}

#[test]
fn se_38_only_the_trusted_reach_what_is_private() {
    let those = [Trusted, Untrusted, Sandboxed, Future].map(McpTrustLevel::may_reach_private);
    assert_eq!(those, [true, false, false, false]);
}

#[test]
fn the_lower_level_is_the_lower_one() {
    let levels = [Future, Sandboxed, Untrusted, Trusted];
    for (at, one) in levels.into_iter().enumerate() {
        for (other_at, other) in levels.into_iter().enumerate() {
            assert_eq!(one.lower(other), levels[at.min(other_at)], "{one} {other}");
        }
    }
}

#[test]
fn environments_are_isolated_unless_said_otherwise() {
    for (level, said, isolated) in [
        (Trusted, None, false),
        (Untrusted, None, true),
        (Sandboxed, None, true),
        (Future, None, true),
        (Trusted, Some(true), true),
        (Untrusted, Some(false), false),
    ] {
        let mut entry = entry(level);
        entry.env_isolation = said;
        assert_eq!(entry.isolates_env(), isolated, "{level} {said:?}");
    }
}
