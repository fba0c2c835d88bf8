<?php
// Publications in the format of socket-redis.

const CHANNEL = 'socket-redis-down';

function is_heard(Redis $redis): bool
{
    return $redis->pubsub('numsub', [CHANNEL])[CHANNEL] > 0;
}

/** The Redis channel and the publication. */
function publication(string $room, string $text): array
{
    $event = ['channel' => $room, 'event' => 'message', 'data' => $text];
    return [CHANNEL, json_encode(['type' => 'publish', 'data' => $event])];
}
