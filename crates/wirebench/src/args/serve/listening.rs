//! Errors about addresses that a server cannot listen on.

use crate::exit::Failure;
use engine::{Address, ConnectionError};

/// The failure of a server that cannot listen on `address`, with its cure.
pub(super) fn cannot_listen(address: &Address, error: ConnectionError) -> Failure {
    let cures = [
        (ConnectionError::AddressInUse, "; try port 0, or another path"),
        (ConnectionError::AddressNotAvailable, "; use an address of this machine"),
        (ConnectionError::NotFound, "; its folder does not exist"),
    ];
    let cure = cures.iter().find(|(of, _)| *of == error).map_or("", |(_, cure)| cure);
    Failure::usage(format!("cannot listen at {address}: {error}{cure}"))
}

/// Returns the error for an option whose value `listen` is not an address, with the address that was probably meant.
pub(super) fn not_an_address(option: &str, listen: &str) -> String {
    let near = match listen.rsplit_once(':') {
        Some(("" | "localhost", port)) => format!("; did you mean 127.0.0.1:{port}?"),
        None if listen.parse::<u16>().is_ok() => format!("; did you mean 127.0.0.1:{listen}?"),
        _ => String::new(),
    };
    format!(
        "{option} {listen}: not an address with a port, such as 127.0.0.1:8080 or [::1]:8080{near}"
    )
}
