<?php
// WebSocket echo on ReactPHP's event loop and sockets. RFC 6455 on top of them is implemented here: ReactPHP
// itself has no WebSocket, and Debian packages no library for it that has one.

use React\EventLoop\StreamSelectLoop;
use React\Socket\ConnectionInterface;
use React\Socket\Server;

// ReactPHP of 2019 on PHP 8.2.
error_reporting(E_ALL & ~E_DEPRECATED);
require __DIR__ . '/package/usr/share/icingaweb2/modules/reactbundle/vendor/autoload.php';
require __DIR__ . '/php/server.php';

/** One connection: its opening handshake, then frames. */
final class WebSocket
{
    private const TEXT = 1;
    private const BINARY = 2;
    private const CLOSE = 8;
    private const PING = 9;

    private string $received = '';
    private bool $isOpen = false;
    /** The fragments of a message received so far, and its kind. */
    private string $fragments = '';
    private ?int $kind = null;

    public function __construct(
        private ConnectionInterface $connection,
        private ?string $reply,
        private int $messageMax,
    ) {
    }

    public function receive(string $bytes): void
    {
        $this->received .= $bytes;
        if (!$this->isOpen && !$this->open()) {
            return;
        }
        while ($this->received !== '' && ($frame = $this->cut()) !== null) {
            $this->handle(...$frame);
        }
    }

    /** Answers the request for an upgrade. False: it is incomplete, or not an upgrade. */
    private function open(): bool
    {
        $end = strpos($this->received, "\r\n\r\n");
        if ($end === false) {
            return false;
        }
        if (!preg_match('/^sec-websocket-key: *(\S+)/mi', substr($this->received, 0, $end), $key)) {
            $this->connection->end("HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n");
            return false;
        }
        $accept = base64_encode(sha1($key[1] . '258EAFA5-E914-47DA-95CA-C5AB0DC85B11', true));
        $head = "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n";
        $this->connection->write("{$head}Sec-WebSocket-Accept: $accept\r\n\r\n");
        $this->received = substr($this->received, $end + 4);
        return $this->isOpen = true;
    }

    /** The next frame: whether it is the last of its message, its opcode, its payload. Null: not yet complete. */
    private function cut(): ?array
    {
        $have = strlen($this->received);
        if ($have < 2) {
            return null;
        }
        [$first, $second] = [ord($this->received[0]), ord($this->received[1])];
        $length = $second & 127;
        $at = 2 + match ($length) { 126 => 2, 127 => 8, default => 0 };
        if ($have < $at + 4) {
            return null;
        }
        if ($length === 126) {
            $length = unpack('n', $this->received, 2)[1];
        } elseif ($length === 127) {
            $length = unpack('J', $this->received, 2)[1];
        }
        if (!($second & 128) || $first & 0x70 || $length < 0 || $length > $this->messageMax) {
            $this->close(1002);
            return null;
        }
        if ($have < $at + 4 + $length) {
            return null;
        }
        $mask = substr($this->received, $at, 4);
        $payload = substr($this->received, $at + 4, $length) ^ str_repeat($mask, ($length >> 2) + 1);
        $this->received = substr($this->received, $at + 4 + $length);
        return [($first & 128) !== 0, $first & 15, $payload];
    }

    private function handle(bool $isLast, int $opcode, string $payload): void
    {
        if ($opcode === self::PING) {
            $this->send($opcode + 1, $payload);
        } elseif ($opcode === self::CLOSE) {
            $this->received = '';
            $this->connection->end($this->frame(self::CLOSE, substr($payload, 0, 2)));
        } elseif ($opcode < self::CLOSE) {
            $this->kind ??= $opcode;
            $this->fragments .= $payload;
            if ($isLast) {
                work();
                $this->send($this->kind, $this->reply ?? $this->fragments);
                [$this->kind, $this->fragments] = [null, ''];
            } elseif (strlen($this->fragments) > $this->messageMax) {
                $this->close(1009);
            }
        }
    }

    private function send(int $opcode, string $payload): void
    {
        $this->connection->write($this->frame($opcode, $payload));
    }

    private function close(int $code): void
    {
        $this->received = '';
        $this->connection->end($this->frame(self::CLOSE, pack('n', $code)));
    }

    private function frame(int $opcode, string $payload): string
    {
        $length = strlen($payload);
        $head = match (true) {
            $length < 126 => pack('CC', 128 | $opcode, $length),
            $length < 65536 => pack('CCn', 128 | $opcode, 126, $length),
            default => pack('CCJ', 128 | $opcode, 127, $length),
        };
        return $head . $payload;
    }
}

// Its other loops need extensions that Debian does not have.
$loop = new StreamSelectLoop();
$address = setting('HOST', '127.0.0.1') . ':' . setting('PORT', '0');
$context = ['backlog' => (int) setting('BACKLOG', '4096'), 'tcp_nodelay' => true];
$server = new Server($address, $loop, ['tcp' => $context]);
$reply = setting('REPLY');
$messageMax = (int) setting('MESSAGE_MAX', (string) (16 << 20));
$server->on('connection', function (ConnectionInterface $connection) use ($reply, $messageMax) {
    $socket = new WebSocket($connection, $reply, $messageMax);
    $connection->on('data', $socket->receive(...));
});
$loop->addSignal(SIGTERM, fn () => exit(0));
ready('ws', substr($server->getAddress(), strlen('tcp://')));
$loop->run();
