//! A conversation cut at every byte is the same conversation.

use super::conversations::ends;
use super::ends::{End, settle, settle_in_pieces};
use super::world::{client, client_options, server, server_options, world};
use wire::Connection;
use wire::tls::{Client, Server, Version};

#[test]
fn a_conversation_is_the_same_in_pieces_of_any_length() {
    for version in Version::ALL {
        let (client, server) = pair(version);
        let whole = converse(&client, &server, usize::MAX);
        for piece_len in [1, 2, 3, 4, 5, 6, 7, 21, 22, 23, 100, 1000] {
            assert_eq!(converse(&client, &server, piece_len), whole, "pieces of {piece_len}");
        }
    }
}

#[test]
fn a_handshake_can_be_cut_anywhere() {
    for version in Version::ALL {
        let (client, server) = pair(version);
        let lens =
            flights(&client, &server, &|flight: &[u8], end: &mut End| end.feed_whole(flight));
        let longest = lens.iter().copied().max().unwrap();
        assert!(longest > 500, "{lens:?}");
        for cut in 1..longest {
            flights(&client, &server, &|flight: &[u8], end: &mut End| {
                let (left, right) = flight.split_at(cut.min(flight.len()));
                end.feed_whole(left);
                end.feed_whole(right);
            });
        }
    }
}

#[test]
fn messages_can_be_cut_anywhere() {
    for version in Version::ALL {
        let (client, server) = pair(version);
        for transport in ["framed", "websocket", "http"] {
            let (mut there, mut here) = ends(&client, &server, transport, 0);
            settle(&mut there, &mut here);
            for cut in 1.. {
                let (answers, heard) = (there.messages.len(), here.messages.len());
                there.send(&[1; 150]);
                there.send(&[2; 10]);
                let bytes = there.take();
                if cut >= bytes.len() {
                    break;
                }
                here.feed_whole(&bytes[..cut]);
                here.feed_whole(&bytes[cut..]);
                assert_eq!(here.messages[heard..], [vec![1; 150], vec![2; 10]], "cut at {cut}");
                here.send(&[3; 150]);
                here.send(&[4; 10]);
                let bytes = here.take();
                let cut = cut.min(bytes.len());
                there.feed_whole(&bytes[..cut]);
                there.feed_whole(&bytes[cut..]);
                assert_eq!(there.messages[answers..], [vec![3; 150], vec![4; 10]]);
            }
        }
    }
}

fn pair(version: Version) -> (Client, Server) {
    // RSA signatures have one length, and without tickets all handshakes are full: so every run has the same number of
    // bytes.
    let (mut there, mut here) = (client_options(), server_options());
    there.versions = vec![version];
    here.identity = world().rsa.clone();
    (there.resumption, here.resumption) = (false, false);
    (client(&there), server(&here))
}

/// Everything that both ends understand in a whole conversation.
fn converse(client: &Client, server: &Server, piece_len: usize) -> [Vec<String>; 2] {
    let (mut there, mut here): (End<Connection>, End<Connection>) =
        ends(client, server, "websocket", 0);
    settle_in_pieces(&mut there, &mut here, piece_len);
    for len in [0, 1, 126, 5000] {
        there.send(&vec![7; len]);
        settle_in_pieces(&mut there, &mut here, piece_len);
        here.send(&vec![7; len]);
        settle_in_pieces(&mut there, &mut here, piece_len);
    }
    assert!(there.close());
    settle_in_pieces(&mut there, &mut here, piece_len);
    assert_eq!(there.heard.len(), 7, "{:?}", there.heard);
    [there.heard, here.heard]
}

/// Performs a handshake in which `deliver` hands over each flight. Returns the length of each.
fn flights(client: &Client, server: &Server, deliver: &dyn Fn(&[u8], &mut End)) -> Vec<usize> {
    let (mut there, mut here) = ends(client, server, "framed", 0);
    let mut lens = Vec::new();
    while !there.tx.is_empty() || !here.tx.is_empty() {
        let flight = there.take();
        lens.push(flight.len());
        deliver(&flight, &mut here);
        let flight = here.take();
        lens.push(flight.len());
        deliver(&flight, &mut there);
    }
    assert!(
        there.secured.is_some() && here.secured.is_some(),
        "{:?} {:?}",
        there.heard,
        here.heard
    );
    lens
}
