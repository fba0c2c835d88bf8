//! The safety rail: which addresses may be loaded without anybody's consent.
//!
//! Pure. Names are looked up before (see `reach`): what counts is the address that a connection would go to.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// The distance of an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Distance {
    /// This machine: loopback, and the unspecified address, which leads there.
    Loopback,
    /// The same site: private use (RFC 1918), shared by a provider's customers (RFC 6598), link-local (RFC 3927,
    /// RFC 4291), unique local (RFC 4193).
    Private,
    /// Everything else, whatever a registry may have reserved it for.
    Public,
}

/// The distance of `address`. An IPv6 address that stands for an IPv4 one (`::ffff:10.0.0.1`) is as far as that.
pub fn distance(address: IpAddr) -> Distance {
    match address.to_canonical() {
        IpAddr::V4(address) => distance_v4(address),
        IpAddr::V6(address) => distance_v6(address),
    }
}

/// True if `address` needs consent before it is loaded.
pub fn is_public(address: IpAddr) -> bool {
    distance(address) == Distance::Public
}

fn distance_v4(address: Ipv4Addr) -> Distance {
    let [first, second, ..] = address.octets();
    let is_shared = first == 100 && (64..128).contains(&second);
    if address.is_loopback() || address.is_unspecified() {
        Distance::Loopback
    } else if address.is_private() || address.is_link_local() || is_shared {
        Distance::Private
    } else {
        Distance::Public
    }
}

fn distance_v6(address: Ipv6Addr) -> Distance {
    if address.is_loopback() || address.is_unspecified() {
        Distance::Loopback
    } else if address.is_unique_local() || address.is_unicast_link_local() {
        Distance::Private
    } else {
        Distance::Public
    }
}

#[cfg(test)]
mod tests {
    use super::Distance::{Loopback, Private, Public};
    use super::*;

    #[test]
    fn every_range_ends_where_its_rfc_says() {
        #[rustfmt::skip]
        let table = [
            // first and last of a range, and their neighbours
            ("0.0.0.0",         Loopback), // leads to this machine
            ("0.0.0.1",         Public),
            ("9.255.255.255",   Public),
            ("10.0.0.0",        Private),
            ("10.255.255.255",  Private),
            ("11.0.0.0",        Public),
            ("100.63.255.255",  Public),
            ("100.64.0.0",      Private),
            ("100.127.255.255", Private),
            ("100.128.0.0",     Public),
            ("126.255.255.255", Public),
            ("127.0.0.0",       Loopback),
            ("127.255.255.255", Loopback),
            ("128.0.0.0",       Public),
            ("169.253.255.255", Public),
            ("169.254.0.0",     Private),
            ("169.254.255.255", Private),
            ("169.255.0.0",     Public),
            ("172.15.255.255",  Public),
            ("172.16.0.0",      Private),
            ("172.31.255.255",  Private),
            ("172.32.0.0",      Public),
            ("192.167.255.255", Public),
            ("192.168.0.0",     Private),
            ("192.168.255.255", Private),
            ("192.169.0.0",     Public),
            ("192.0.2.1",       Public), // documentation
            ("198.18.0.1",      Public), // benchmarks of network devices
            ("224.0.0.1",       Public), // multicast
            ("255.255.255.255", Public), // broadcast
            ("::",              Loopback),
            ("::1",             Loopback),
            ("::2",             Public),
            ("::127.0.0.1",     Public), // IPv4-compatible, which no longer means anything
            ("64:ff9b::a00:1",  Public), // a translator decides where it leads
            ("2001:db8::1",     Public),
            ("fbff:ffff::",     Public),
            ("fc00::",          Private),
            ("fdff:ffff::",     Private),
            ("fe00::",          Public),
            ("fe80::",          Private),
            ("febf:ffff::",     Private),
            ("fec0::",          Public), // site-local, which is no more
            ("ff02::1",         Public),
        ];
        for (text, expected) in table {
            let address: IpAddr = text.parse().unwrap();
            assert_eq!(distance(address), expected, "{text}");
            if let IpAddr::V4(address) = address {
                let mapped = IpAddr::V6(address.to_ipv6_mapped());
                assert_eq!(distance(mapped), expected, "{mapped}");
            }
        }
    }

    #[test]
    fn only_public_addresses_need_consent() {
        for (text, expected) in [("127.0.0.1", false), ("10.1.2.3", false), ("8.8.8.8", true)] {
            assert_eq!(is_public(text.parse().unwrap()), expected, "{text}");
        }
    }
}
