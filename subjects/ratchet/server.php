<?php
// WebSocket echo with Ratchet.

use Ratchet\ConnectionInterface;
use Ratchet\Http\HttpServer;
use Ratchet\RFC6455\Messaging\Frame;
use Ratchet\RFC6455\Messaging\MessageInterface;
use Ratchet\Server\IoServer;
use Ratchet\WebSocket\MessageComponentInterface;
use Ratchet\WebSocket\WsServer;
use React\EventLoop\Factory;
use React\Socket\Server;

// Ratchet of 2021 on a current PHP.
error_reporting(E_ALL & ~E_DEPRECATED);
require __DIR__ . '/vendor/autoload.php';
require __DIR__ . '/php/server.php';

final class EchoComponent implements MessageComponentInterface
{
    public function __construct(private ?string $reply)
    {
    }

    public function onMessage(ConnectionInterface $connection, MessageInterface $message)
    {
        work();
        $kind = $message->isBinary() ? Frame::OP_BINARY : Frame::OP_TEXT;
        $connection->send(new Frame($this->reply ?? $message->getPayload(), true, $kind));
    }

    public function onOpen(ConnectionInterface $connection)
    {
    }

    public function onClose(ConnectionInterface $connection)
    {
    }

    public function onError(ConnectionInterface $connection, \Exception $error)
    {
        fwrite(STDERR, $error->getMessage() . "\n");
        $connection->close();
    }
}

// The fastest loop for which PHP has an extension; stream_select() where it has none.
$loop = Factory::create();
$address = setting('HOST', '127.0.0.1') . ':' . setting('PORT', '0');
$context = ['backlog' => (int) setting('BACKLOG', '4096'), 'tcp_nodelay' => true];
$socket = new Server($address, $loop, ['tcp' => $context]);
$server = new IoServer(new HttpServer(new WsServer(new EchoComponent(setting('REPLY')))), $socket, $loop);
$loop->addSignal(SIGTERM, fn () => exit(0));
ready('ws', substr($socket->getAddress(), strlen('tcp://')));
$server->run();
