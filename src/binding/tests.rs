use std::time::{Duration, SystemTime, UNIX_EPOCH};

use proptest::prelude::*;

use super::*;
use crate::Principal;

const OLD: [u8; 32] = [1; 32];
const NEW: [u8; 32] = [2; 32];

const ID: &str = "1868a90c-d91d-4e4a-8d3b-8d6a2a3a6f3e";

fn key() -> BindingKey {
    BindingKey::new(OLD).unwrap()
}

fn ana() -> Principal {
    Principal::new("oauth", "ana").unwrap()
}

fn of_ana() -> Binder {
    Binder::new(&key(), Some("files"), Some(&ana()))
}

fn then() -> SystemTime {
    UNIX_EPOCH + Duration::from_secs(1_790_000_000)
}

fn session() -> String {
    of_ana().bind_session(ID, then()).unwrap()
}

#[test]
fn sk_07_sk_18_a_bound_session_is_known_again_with_its_time() {
    let bound = session();
    let parts: Vec<_> = bound.split('.').collect();
    assert_eq!((parts.len(), parts[0], parts[2]), (4, "v1", "1790000000"));
    assert!(parts.iter().all(|part| part.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte))));
    let verified = of_ana().verify_session(&bound).unwrap();
    assert_eq!((verified.id(), verified.minted()), (ID, then()));
    assert!(!format!("{verified:?}").contains(ID));
}

#[test]
fn sk_08_a_bound_task_is_always_the_same_text() {
    let bound = of_ana().bind_task(ID).unwrap();
    assert!(bound.starts_with("t1."));
    assert_eq!(of_ana().bind_task(ID).unwrap(), bound);
    assert_eq!(of_ana().verify_task(&bound).unwrap().id(), ID);
    assert!(!format!("{:?}", of_ana().verify_task(&bound)).contains(ID));
}

#[test]
fn sk_07_sk_08_each_changed_character_is_found() {
    let alphabet = "ABZabz019-_.=+/ \u{e9}";
    for bound in [session(), of_ana().bind_task(ID).unwrap()] {
        for (at, old) in bound.char_indices() {
            for new in alphabet.chars().filter(|new| *new != old) {
                let mut changed = bound.clone();
                changed.replace_range(at..at + 1, &new.to_string());
                assert!(of_ana().verify_session(&changed).is_err(), "{changed}");
                assert!(of_ana().verify_task(&changed).is_err(), "{changed}");
            }
            assert!(of_ana().verify_session(&bound[..at]).is_err());
            assert!(of_ana().verify_task(&bound[..at]).is_err());
        }
        for longer in [format!("{bound}A"), format!("{bound}."), format!("{bound}="), format!(" {bound}")] {
            assert!(of_ana().verify_session(&longer).is_err(), "{longer}");
            assert!(of_ana().verify_task(&longer).is_err(), "{longer}");
        }
    }
}

#[test]
fn th_067_sk_02_every_part_of_a_principal_counts() {
    let tenant = ana().with_tenant("t");
    for other in [
        Principal::new("oauth", "bob").unwrap(),
        Principal::new("api-key", "ana").unwrap(),
        Principal::new("oautha", "na").unwrap(),
        ana().with_issuer("https://login.example"),
        tenant.clone(),
        ana().with_tenant(""),
    ] {
        let binder = Binder::new(&key(), Some("files"), Some(&other));
        assert_eq!(binder.verify_session(&session()), Err(BindingFault::OtherPrincipal), "{other:?}");
    }
    let anonymous = Binder::new(&key(), Some("files"), None);
    assert_eq!(anonymous.verify_session(&session()), Err(BindingFault::OtherPrincipal));
    let bound = anonymous.bind_session(ID, then()).unwrap();
    assert_eq!(of_ana().verify_session(&bound), Err(BindingFault::OtherPrincipal));
}

#[test]
fn th_071_a_refreshed_token_keeps_its_session() {
    let refreshed = Binder::new(&key(), Some("files"), Some(&ana().with_epoch("token-2")));
    assert_eq!(refreshed.verify_session(&session()).unwrap(), of_ana().verify_session(&session()).unwrap());
}

#[test]
fn an_id_of_another_server_kind_or_version_is_refused() {
    let task = of_ana().bind_task(ID).unwrap();
    let rest = |bound: &str| bound[2..].to_owned();
    for (bound, expected) in [
        (task.clone(), BindingFault::OtherKind),
        (format!("v1{}", rest(&task)), BindingFault::Malformed),
        (format!("v2{}", rest(&session())), BindingFault::OtherVersion),
        (format!("v01{}", rest(&session())), BindingFault::OtherVersion),
        (format!("w1{}", rest(&session())), BindingFault::Malformed),
        (ID.to_owned(), BindingFault::Malformed),
        (String::new(), BindingFault::Malformed),
        ("v1".to_owned(), BindingFault::Malformed),
        ("v1...".to_owned(), BindingFault::Malformed),
        (session().replace(".1790000000.", ".01790000000."), BindingFault::Malformed),
        (session().replace(".1790000000.", ".+1790000000."), BindingFault::Malformed),
        (session().replace(".1790000000.", ".1790000001."), BindingFault::Forged),
    ] {
        assert_eq!(of_ana().verify_session(&bound), Err(expected), "{bound}");
    }
    assert_eq!(of_ana().verify_task(&session()), Err(BindingFault::OtherKind));
    for server in [Some("filesx"), Some(""), None] {
        let elsewhere = Binder::new(&key(), server, Some(&ana()));
        assert_eq!(elsewhere.verify_session(&session()), Err(BindingFault::OtherServer));
        assert_ne!(elsewhere.bind_task(ID), of_ana().bind_task(ID));
        let bound = elsewhere.bind_session(ID, then()).unwrap();
        let (here, there) = (of_ana().verify_session(&session()), elsewhere.verify_session(&bound));
        assert_ne!(here.unwrap().conversation(), there.unwrap().conversation());
    }
}

#[test]
fn a_key_is_changed_without_ending_what_it_has_bound() {
    let rotated = BindingKey::new(NEW).unwrap().with_previous(OLD).unwrap();
    let binder = Binder::new(&rotated, Some("files"), Some(&ana()));
    let verified = binder.verify_session(&session()).unwrap();
    assert_eq!(verified, of_ana().verify_session(&session()).unwrap());
    let bound = binder.bind_session(ID, then()).unwrap();
    assert_eq!(of_ana().verify_session(&bound), Err(BindingFault::Forged));
    let only_new = Binder::new(&BindingKey::new(NEW).unwrap(), Some("files"), Some(&ana()));
    assert_eq!(only_new.verify_session(&session()), Err(BindingFault::Forged));
    assert!(only_new.verify_session(&bound).is_ok());
    // Whose an old id is, is said all the same.
    let bob = Principal::new("oauth", "bob").unwrap();
    let of_bob = Binder::new(&rotated, Some("files"), Some(&bob));
    assert_eq!(of_bob.verify_session(&session()), Err(BindingFault::OtherPrincipal));
}

#[test]
fn sk_09_what_is_too_long_is_not_hashed() {
    let longest = "x".repeat(1024);
    let bound = of_ana().bind_session(&longest, UNIX_EPOCH + Duration::from_secs(u64::from(u32::MAX))).unwrap();
    assert_eq!(of_ana().verify_session(&bound).unwrap().id(), longest);
    assert!(of_ana().bind_session(&"x".repeat(1025), then()).is_err());
    assert!(of_ana().bind_task(&"x".repeat(1025)).is_err());
    assert_eq!(of_ana().verify_session(&"v".repeat(1537)), Err(BindingFault::TooLong));
    assert_eq!(of_ana().verify_task(&"t".repeat(1 << 20)), Err(BindingFault::TooLong));
}

#[test]
fn only_ids_of_sessions_are_bound_as_such() {
    for id in ["", " ", "a b", "a\tb", "\u{7f}", "\u{e9}", "a\r\nb"] {
        assert!(of_ana().bind_session(id, then()).is_err(), "{id:?}");
    }
    assert!(of_ana().bind_session("?owner=bob&x=.v1.", then()).is_ok());
    assert!(of_ana().bind_task("").is_err());
}

#[test]
fn a_key_is_long_and_not_shown() {
    assert_eq!(BindingKey::new([0; 31]).unwrap_err(), WeakKey);
    assert_eq!(key().with_previous("").unwrap_err(), WeakKey);
    assert_eq!(format!("{:?}", key()), "BindingKey(<secret>)");
    let (one, other) = (BindingKey::random().unwrap(), BindingKey::random().unwrap());
    let binder = |key: &BindingKey| Binder::new(key, None, None);
    let bound = binder(&one).bind_session(ID, then()).unwrap();
    assert!(binder(&one).verify_session(&bound).is_ok());
    assert_eq!(binder(&other).verify_session(&bound), Err(BindingFault::Forged));
}

proptest! {
    #[test]
    fn what_was_bound_is_unbound(id in "[!-~]{1,200}", task in "\\PC{1,100}", seconds in 0..u64::from(u32::MAX)) {
        let minted = UNIX_EPOCH + Duration::from_secs(seconds);
        let verified = of_ana().verify_session(&of_ana().bind_session(&id, minted).unwrap()).unwrap();
        prop_assert_eq!((verified.id(), verified.minted()), (&*id, minted));
        let bound = of_ana().bind_task(&task).unwrap();
        let verified = of_ana().verify_task(&bound).unwrap();
        prop_assert_eq!(verified.id(), &*task);
    }

    #[test]
    fn nothing_else_is(text in "\\PC{0,300}", dotted in "[vt]1\\.[A-Za-z0-9_-]{0,40}(\\.[0-9]{1,10})?\\.[A-Za-z0-9_-]{86}") {
        for text in [text, dotted] {
            prop_assert!(of_ana().verify_session(&text).is_err());
            prop_assert!(of_ana().verify_task(&text).is_err());
        }
    }
}
