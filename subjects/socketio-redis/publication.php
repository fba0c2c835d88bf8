<?php
// Publications in the form of Socket.IO's adapter for Redis: MessagePack, in a channel for each room.

function is_heard(Redis $redis): bool
{
    return $redis->pubsub('numpat') > 0;
}

/** The channel of Redis, and what is published there: who publishes, the event, and whom it is for. */
function publication(string $room, string $text): array
{
    $event = ['type' => 2, 'data' => ['published', $text], 'nsp' => '/'];
    return ["socket.io#/#$room#", msgpack_pack(['emitter', $event, ['rooms' => [$room], 'flags' => [], 'except' => []]])];
}
