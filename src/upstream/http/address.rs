//! Which addresses are public.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Whether an address belongs to the public internet (the registries of RFC 6890), and not to a machine, a link, a
/// private network, a group, or nobody. One that stands for an address of IPv4 is judged as that.
pub(super) fn is_public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => is_public_v4(address),
        IpAddr::V6(address) => is_public_v6(address),
    }
}

fn is_public_v4(address: Ipv4Addr) -> bool {
    let [a, b, c, _] = address.octets();
    !matches!(
        (a, b, c),
        // This network, private, loopback.
        (0 | 10 | 127, _, _)
            // Shared with a provider (CGNAT).
            | (100, 64..=127, _)
            // Link-local: here clouds keep their secrets.
            | (169, 254, _)
            | (172, 16..=31, _)
            // Protocols' own, documentation, relays of 6to4.
            | (192, 0, 0 | 2)
            | (192, 88, 99)
            | (192, 168, _)
            // Benchmarks, documentation.
            | (198, 18 | 19, _)
            | (198, 51, 100)
            | (203, 0, 113)
            // Multicast, reserved, broadcast.
            | (224..=255, _, _)
    )
}

fn is_public_v6(address: Ipv6Addr) -> bool {
    let [a, b, c, d, e, f, g, h] = address.segments();
    let v4 = |high: u16, low: u16| is_public_v4(Ipv4Addr::from(u32::from(high) << 16 | u32::from(low)));
    match (a, b) {
        (0, 0) if (c, d, e, f) == (0, 0, 0, 0xFFFF) => v4(g, h),
        // NAT64 (RFC 6052); the prefix for local use (RFC 8215) is not public.
        (0x64, 0xFF9B) if (c, d, e, f) == (0, 0, 0, 0) => v4(g, h),
        // 6to4.
        (0x2002, _) => v4(b, c),
        // Protocols' own, Teredo and ORCHID among them; documentation.
        (0x2001, 0..=0x1FF | 0xDB8) | (0x3FFF, 0..=0xFFF) => false,
        // All that has been given out to anybody.
        (0x2000..=0x3FFF, _) => true,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses() {
        let public = ["1.1.1.1", "8.8.8.8", "100.63.255.255", "100.128.0.1", "172.15.0.1", "172.32.0.1", "192.0.1.1"]
            .into_iter()
            .chain(["2606:4700::1111", "2a00:1450::1", "::ffff:8.8.8.8", "64:ff9b::808:808", "2002:808:808::1"]);
        for text in public {
            assert!(is_public(text.parse().unwrap()), "{text}");
        }
        let others = ["0.0.0.0", "0.1.2.3", "10.0.0.1", "100.64.0.1", "100.127.255.255", "127.0.0.1", "127.1.2.3"]
            .into_iter()
            .chain(["169.254.169.254", "172.16.0.1", "172.31.255.255", "192.0.0.1", "192.0.2.1", "192.88.99.1"])
            .chain(["192.168.1.1", "198.18.0.1", "198.51.100.1", "203.0.113.1", "224.0.0.1", "255.255.255.255"])
            .chain(["::", "::1", "::7f00:1", "::ffff:127.0.0.1", "::ffff:10.0.0.1", "::ffff:0:127.0.0.1"])
            .chain(["64:ff9b::7f00:1", "64:ff9b::a9fe:a9fe", "64:ff9b:1::808:808", "2002:7f00:1::", "2002:a00:1::1"])
            .chain(["2001::1", "2001:db8::1", "3fff::1", "fc00::", "fd00::1", "fe80::1", "fec0::1", "ff02::1"])
            .chain(["4000::1", "100::1"]);
        for text in others {
            assert!(!is_public(text.parse().unwrap()), "{text}");
        }
        // Only a resolver takes this for an address; see `resolve`.
        assert!("127.1".parse::<IpAddr>().is_err());
    }
}
