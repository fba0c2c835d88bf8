//! The server of the page as a browser and an attacker see it: bytes on a socket.

mod served;
