<?php
// The application: it publishes on request, and answers how many connections Redis handed the message to.
//
//   publish ROOM id=N TEXT      published id=N receivers=K
//
// One process, which keeps its connection to Redis. PHP in a web server reconnects for each request, and would need
// about 150 us more. The format of a publication is that of the relay: the functions `is_heard` and `publication` of
// the subject's `publication.php`.

require 'publication.php';

[, $host, $port] = $argv;
$redis = new Redis();
connect($redis);
while (!is_heard($redis)) {
    usleep(10000);
}

$context = stream_context_create(['socket' => ['tcp_nodelay' => true]]);
$server = stream_socket_server("tcp://$host:0", context: $context);
fwrite(STDOUT, substr(strrchr(stream_socket_get_name($server, false), ':'), 1) . "\n");

/** The part of a line received so far, by connection. */
$begun = [];
$clients = [];
while (true) {
    $readable = [$server, ...array_values($clients)];
    $none = null;
    stream_select($readable, $none, $none, null);
    foreach ($readable as $stream) {
        if ($stream === $server) {
            $client = stream_socket_accept($server);
            stream_set_blocking($client, false);
            $clients[(int) $client] = $client;
            $begun[(int) $client] = '';
            continue;
        }
        $id = (int) $stream;
        $bytes = fread($stream, 65536);
        if ($bytes === '' || $bytes === false) {
            fclose($stream);
            unset($clients[$id], $begun[$id]);
            continue;
        }
        $lines = explode("\n", $begun[$id] . $bytes);
        $begun[$id] = array_pop($lines);
        foreach ($lines as $line) {
            fwrite($stream, publish($redis, $line) . "\n");
        }
    }
}

function connect(Redis $redis): void
{
    global $host, $port;
    $redis->connect($host, (int) $port);
}

function publish(Redis $redis, string $line): string
{
    $words = explode(' ', $line, 4);
    if (count($words) < 4 || $words[0] !== 'publish') {
        return 'error: expected is `publish ROOM id=N TEXT`';
    }
    [, $room, $id, $text] = $words;
    try {
        $redis->isConnected() || connect($redis);
        $receivers = $redis->publish(...publication($room, $text));
    } catch (RedisException $exception) {
        // Redis is gone, perhaps for a moment.
        return "error $id: {$exception->getMessage()}";
    }
    // Redis keeps nothing: without a relay it is lost.
    return $receivers > 0 ? "published $id receivers=$receivers" : "error $id: nobody hears Redis";
}
