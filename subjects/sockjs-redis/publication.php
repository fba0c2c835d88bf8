<?php
// Publications for the relay of server.js: bare texts, in a channel for each room.

function is_heard(Redis $redis): bool
{
    return $redis->pubsub('numpat') > 0;
}

/** The Redis channel and the publication. */
function publication(string $room, string $text): array
{
    return [$room, $text];
}
