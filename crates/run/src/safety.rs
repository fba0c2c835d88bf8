//! The safety rail: which addresses may be loaded without consent, and how gently a load begins on those that need it.
//!
//! Pure. Names are resolved earlier (see `reach`): what counts is the address that a connection would go to.

use spec::{Address, Lifetime, Phases, Server, Workload};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use units::{Nanos, Rate};

/// The distance of an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Distance {
    /// This machine: loopback, and the unspecified address, which reaches it.
    Loopback,
    /// The same site: private use (RFC 1918), shared by a provider's customers (RFC 6598), link-local (RFC 3927,
    /// RFC 4291), unique local (RFC 4193).
    Private,
    /// Everything else, even if a registry has reserved it for some purpose.
    Public,
}

/// The distance of `address`. An IPv4-mapped IPv6 address (`::ffff:10.0.0.1`) counts as the IPv4 address.
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

/// True unless the target is known not to be public: a server that we start, a path, or a local or private address.
/// Names are not resolved.
pub(crate) fn may_be_public(server: &Server) -> bool {
    let Some(endpoint) = server.url() else { return false };
    match &endpoint.address {
        Address::Host { name, .. } => name.parse().map_or(name != "localhost", is_public),
        Address::Unix(_) => false,
    }
}

/// The same load with a gradual start: long-lived connections are opened, and a rate rises, over at least [`RAMP`].
pub(crate) fn gently(workload: &Workload) -> Workload {
    let lasts = workload.load.lifetime() == Lifetime::Long;
    let slow = Rate::new(workload.load.connections(), RAMP).filter(|_| lasts);
    let slower = |a: Rate, b: Rate| if a.per_second() < b.per_second() { a } else { b };
    let connect_rate = workload.connect_rate.into_iter().chain(slow).reduce(slower);
    let phases = Phases { warm_up: workload.phases.warm_up.max(RAMP), ..workload.phases };
    Workload { connect_rate, phases, ..workload.clone() }
}

/// The User-Agent that tells the owner of a target where the load comes from and whom to contact.
pub(crate) fn user_agent(contact: Option<&str>) -> String {
    let contact = contact.map_or_else(String::new, |contact| format!("; {contact}"));
    format!("wirebench/{} (load test{contact})", env!("CARGO_PKG_VERSION"))
}

/// The shortest time in which a load on a public target reaches its full height.
const RAMP: Nanos = Nanos::from_secs(5);

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
    use crate::plan::{Measurement, Plan};
    use load::Arrival;
    use spec::{Context, Experiment, Options};
    use std::num::NonZeroU32;
    use units::Count;

    #[test]
    fn a_public_target_is_known_by_its_address_and_a_name_may_be_one() {
        let given = |url: &str| may_be_public(&Server::Given(url.parse().unwrap()));
        let near = ["ws://127.0.0.1:9", "ws://[::1]:9", "ws://10.1.2.3", "ws://localhost"];
        assert!(near.iter().chain(&["unix:/tmp/socket"]).all(|url| !given(url)));
        let far = ["ws://9.9.9.9", "ws://[2620:fe::fe]", "wss://chat.example"];
        assert!(far.iter().all(|url| given(url)));
    }

    #[test]
    fn a_load_on_a_public_target_begins_gently_and_says_whose_it_is() {
        let options = Options {
            connections: Some(Count(100)),
            rate: Some("2000/s".parse().unwrap()),
            contact: Some("ops@shop.example".to_owned()),
            ..Options::default()
        };
        let measured = |url: &str| {
            let read = |path: &str, _| Err(format!("{path} is not there"));
            let pack = |_: &str, _: &[u8], _| Err("nothing is packed".to_owned());
            let context = Context { read: &read, environment: &|_| None, pack: &pack, seed: 7 };
            let server = Server::Given(url.parse().unwrap());
            let workloads = options.workloads("a", &server, &context).unwrap();
            let asked = Experiment { workloads, public_allowed: true, ..Experiment::default() };
            let plan = Plan::new(asked, &|name| Err(name.to_owned())).unwrap();
            let Measurement { workload, speech, .. } = plan.measurements[0].clone();
            let Arrival::Open { schedule, .. } = workload.arrival else { panic!("an open loop") };
            let beginning = (workload.connect_rate, workload.phases.warm_up, schedule.ramps_up);
            (beginning, speech.options.headers)
        };
        let agent = vec![("User-Agent".to_owned(), user_agent(Some("ops@shop.example")))];
        let slow = Rate::new(NonZeroU32::new(100).unwrap(), RAMP);
        assert_eq!(measured("ws://chat.example"), ((slow, RAMP, true), agent.clone()));
        let usual = Nanos::from_secs(1);
        assert_eq!(measured("ws://127.0.0.1:9"), ((None, usual, false), agent));
    }

    #[test]
    fn the_user_agent_says_what_loads_it_and_whom_to_ask() {
        let version = env!("CARGO_PKG_VERSION");
        assert_eq!(user_agent(None), format!("wirebench/{version} (load test)"));
        let expected = format!("wirebench/{version} (load test; ops@shop.example)");
        assert_eq!(user_agent(Some("ops@shop.example")), expected);
    }

    #[test]
    fn every_range_ends_where_its_rfc_says() {
        #[rustfmt::skip]
        let table = [
            // first and last of a range, and their neighbours
            ("0.0.0.0",         Loopback), // reaches this machine
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
            ("fec0::",          Public), // site-local, which is deprecated
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
