//! The gate as an inner service and a client see it.

#![expect(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test that meets something unexpected ends"
)]

mod answers;
mod attack;
#[cfg(feature = "content-trust")]
mod binding;
#[cfg(feature = "content-trust")]
mod binding_attacks;
mod bodies;
mod borders;
#[cfg(feature = "content-trust")]
mod content_trust;
#[cfg(feature = "content-trust")]
mod content_trust_attacks;
#[cfg(feature = "content-trust")]
mod content_trust_carriers;
#[cfg(feature = "content-trust")]
mod content_trust_drops;
#[cfg(feature = "content-trust")]
mod content_trust_identities;
#[cfg(feature = "content-trust")]
mod content_trust_joined;
#[cfg(feature = "content-trust")]
mod content_trust_keys;
#[cfg(feature = "content-trust")]
mod content_trust_outages;
#[cfg(feature = "content-trust")]
mod content_trust_races;
#[cfg(feature = "content-trust")]
mod content_trust_rules;
#[cfg(feature = "content-trust")]
mod content_trust_stepped;
mod context;
mod cost;
mod decisions;
mod heads;
mod hosts;
mod list_answers;
mod list_attacks;
mod list_streams;
mod lists;
mod observe;
#[cfg(all(feature = "content-trust", feature = "provenance"))]
mod provenance;
#[cfg(all(feature = "content-trust", feature = "provenance"))]
mod provenance_attacks;
#[cfg(all(feature = "content-trust", feature = "provenance"))]
mod provenance_carriers;
#[cfg(all(feature = "content-trust", feature = "provenance"))]
mod provenance_fences;
#[cfg(all(feature = "content-trust", feature = "provenance"))]
mod provenance_spoofing;
#[cfg(all(feature = "content-trust", feature = "provenance"))]
mod provenance_streams;
mod readiness;
#[cfg(feature = "server-trust")]
mod server_trust;
#[cfg(feature = "server-trust")]
mod server_trust_attacks;
#[cfg(feature = "server-trust")]
mod server_trust_enquiry;
#[cfg(feature = "server-trust")]
mod server_trust_enquiry_faults;
#[cfg(feature = "server-trust")]
mod server_trust_levels;
#[cfg(feature = "server-trust")]
mod server_trust_media;
#[cfg(feature = "server-trust")]
mod server_trust_pins;
#[cfg(feature = "server-trust")]
mod server_trust_reach;
#[cfg(feature = "server-trust")]
mod server_trust_roots;
mod support;
#[cfg(feature = "upstream")]
mod upstream_attacks;
#[cfg(feature = "upstream")]
mod upstream_connect;
#[cfg(all(feature = "upstream", unix))]
mod upstream_eras;
#[cfg(feature = "upstream")]
mod upstream_http;
#[cfg(feature = "upstream")]
mod upstream_peers;
#[cfg(feature = "upstream")]
mod upstream_reach;
#[cfg(feature = "upstream")]
mod upstream_stdio;
#[cfg(feature = "upstream")]
mod upstream_support;
#[cfg(all(feature = "upstream", unix))]
mod upstream_trouble;
