<?php
// Publications in the form of socket-redis.

const CHANNEL = 'socket-redis-down';

function is_heard(Redis $redis): bool
{
    return $redis->pubsub('numsub', [CHANNEL])[CHANNEL] > 0;
}

/** The channel of Redis, and what is published there. */
function publication(string $room, string $text): array
{
    $event = ['channel' => $room, 'event' => 'message', 'data' => $text];
    return [CHANNEL, json_encode(['type' => 'publish', 'data' => $event])];
}
