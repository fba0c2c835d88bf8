<?php
// Publications in the format of Socket.IO's Redis adapter: MessagePack, in a channel for each room.

function is_heard(Redis $redis): bool
{
    return $redis->pubsub('numpat') > 0;
}

/** The Redis channel and the publication: its publisher, the event, and its recipients. */
function publication(string $room, string $text): array
{
    $event = ['type' => 2, 'data' => ['published', $text], 'nsp' => '/'];
    return ["socket.io#/#$room#", msgpack_pack(['emitter', $event, ['rooms' => [$room], 'flags' => [], 'except' => []]])];
}
