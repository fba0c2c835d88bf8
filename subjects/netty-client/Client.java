import io.netty.bootstrap.Bootstrap;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufUtil;
import io.netty.buffer.Unpooled;
import io.netty.channel.Channel;
import io.netty.channel.ChannelFuture;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.ChannelInitializer;
import io.netty.channel.ChannelOption;
import io.netty.channel.ChannelPipeline;
import io.netty.channel.EventLoop;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.nio.NioEventLoopGroup;
import io.netty.channel.socket.SocketChannel;
import io.netty.channel.socket.nio.NioSocketChannel;
import io.netty.handler.codec.http.HttpClientCodec;
import io.netty.handler.codec.http.HttpObjectAggregator;
import io.netty.handler.codec.http.websocketx.BinaryWebSocketFrame;
import io.netty.handler.codec.http.websocketx.CloseWebSocketFrame;
import io.netty.handler.codec.http.websocketx.TextWebSocketFrame;
import io.netty.handler.codec.http.websocketx.WebSocketClientProtocolConfig;
import io.netty.handler.codec.http.websocketx.WebSocketClientProtocolHandler;
import io.netty.handler.codec.http.websocketx.WebSocketClientProtocolHandler.ClientHandshakeStateEvent;
import io.netty.handler.codec.http.websocketx.WebSocketCloseStatus;
import io.netty.handler.codec.http.websocketx.WebSocketFrame;
import io.netty.handler.codec.http.websocketx.WebSocketFrameAggregator;
import io.netty.handler.ssl.SslContext;
import io.netty.handler.ssl.SslContextBuilder;
import io.netty.handler.ssl.SslHandshakeCompletionEvent;
import io.netty.util.ReferenceCountUtil;
import io.netty.util.Version;
import java.io.EOFException;
import java.io.File;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;

/**
 * A client on Netty: `tcp`, `ws` and `wss`, all connections on one event loop group, as its documentation has it (a
 * group for each connection is what made an old Netty client need two threads for each). The pipeline is that of
 * Netty's example: HttpClientCodec, HttpObjectAggregator, WebSocketClientProtocolHandler. Chosen: TCP_NODELAY,
 * WebSocketFrameAggregator, so that a fragmented reply is a message. No compression.
 */
public final class Client extends Lane {
    private static final int MESSAGE_MAX = 1 << 30, CLOSE_MS_MAX = 5000;

    private final ClientSettings settings;
    private final Block block;
    private final EventLoop loop;
    private final SslContext secure;
    private final CountDownLatch stopped = new CountDownLatch(1);
    private final boolean web;
    private final ByteBuf expect;
    private Channel channel;
    private boolean awaiting;
    private long sent;
    private long lifeBegan;
    private long lifeDone;

    private Client(ClientSettings settings, Block block, EventLoop loop, SslContext secure) {
        this.settings = settings;
        this.block = block;
        this.loop = loop;
        this.secure = secure;
        web = !settings.url.getScheme().equals("tcp");
        expect = Unpooled.wrappedBuffer(settings.expect);
    }

    public static void main(String[] arguments) throws IOException, InterruptedException {
        String version = Version.identify().get("netty-codec-http").artifactVersion();
        if (arguments.length > 0) {
            System.out.println(version);
            return;
        }
        ClientSettings settings = new ClientSettings();
        SslContext secure = !settings.url.getScheme().equals("wss") ? null
            : SslContextBuilder.forClient().trustManager(new File(settings.authority)).build();
        EventLoopGroup group = new NioEventLoopGroup();
        new ClientRun(settings).serve("netty " + version, block -> new Client(settings, block, group.next(), secure));
        group.shutdownGracefully(0, 1, TimeUnit.SECONDS).sync();
    }

    @Override
    void open() throws Exception {
        try {
            loop.submit(() -> connect(System.nanoTime(), true)).get().get();
        } catch (ExecutionException error) {
            throw error.getCause() instanceof Exception cause ? cause : error;
        }
    }

    @Override
    void begin() {
        block.gate.thenRunAsync(settings.life == 0 ? this::send : this::live, loop);
    }

    @Override
    void await() throws InterruptedException {
        stopped.await();
    }

    @Override
    void close() {
        if (!channel.isActive()) {
            return;
        }
        long before = System.nanoTime();
        end();
        if (channel.closeFuture().awaitUninterruptibly(CLOSE_MS_MAX)) {
            closes.add(System.nanoTime() - before);
        } else {
            error(new IOException("the other end did not close"));
            channel.close();
        }
    }

    /** Begins another short-lived connection, or ends. */
    private void live() {
        long now = System.nanoTime();
        if (!block.mayLive(now)) {
            stopped.countDown();
            return;
        }
        lifeBegan = now;
        lifeDone = 0;
        connect(now, block.counts(now)).whenComplete((open, error) -> {
            if (error == null) {
                send();
            } else {
                error(error);
                next();
            }
        });
    }

    private void next() {
        block.spend(lifeBegan);
        loop.execute(this::live);
    }

    private void send() {
        long now = System.nanoTime();
        if (!block.maySend(now)) {
            over(false);
            return;
        }
        awaiting = true;
        sent = now;
        channel.writeAndFlush(message());
    }

    private Object message() {
        ByteBuf payload = Unpooled.wrappedBuffer(settings.payload);
        return !web ? payload : settings.text ? new TextWebSocketFrame(payload) : new BinaryWebSocketFrame(payload);
    }

    private void replied(boolean good) {
        long received = System.nanoTime();
        awaiting = false;
        if (!good) {
            failed(new IOException("another reply than was expected"));
            return;
        }
        if (block.counts(sent)) {
            roundTrips.add(received - sent);
            last = received;
        }
        if (++lifeDone == settings.life) {
            over(true);
        } else {
            send();
        }
    }

    /** The round trips of a connection are done. */
    private void over(boolean whole) {
        if (settings.life == 0) {
            stopped.countDown();
            return;
        }
        boolean counts = block.counts(lifeBegan);
        long before = System.nanoTime();
        if (counts && whole) {
            lives.add(before - lifeBegan);
        }
        end();
        channel.closeFuture().addListener(closed -> {
            if (counts) {
                closes.add(System.nanoTime() - before);
            }
            live();
        });
    }

    private void failed(Throwable error) {
        awaiting = false;
        error(error);
        channel.close();
        if (settings.life == 0) {
            stopped.countDown();
        } else {
            next();
        }
    }

    /** Begins the proper end. */
    private void end() {
        if (web) {
            channel.writeAndFlush(new CloseWebSocketFrame(WebSocketCloseStatus.NORMAL_CLOSURE));
        } else {
            ((SocketChannel) channel).shutdownOutput();
        }
    }

    private CompletableFuture<Void> connect(long began, boolean counts) {
        CompletableFuture<Void> opened = new CompletableFuture<>();
        InetAddress address;
        try {
            address = InetAddress.getByName(settings.url.getHost());
        } catch (IOException error) {
            opened.completeExceptionally(error);
            return opened;
        }
        if (counts) {
            resolves.add(System.nanoTime() - began);
        }
        Talk talk = new Talk(opened, counts);
        ChannelFuture connected = new Bootstrap().group(loop).channel(NioSocketChannel.class)
            .option(ChannelOption.TCP_NODELAY, true)
            .handler(new ChannelInitializer<SocketChannel>() {
                @Override
                protected void initChannel(SocketChannel made) {
                    build(made, talk);
                }
            })
            .connect(new InetSocketAddress(address, settings.url.getPort()));
        connected.addListener(result -> {
            if (result.isSuccess()) {
                talk.connected();
            } else {
                opened.completeExceptionally(result.cause());
            }
        });
        channel = connected.channel();
        return opened;
    }

    private void build(SocketChannel made, Talk talk) {
        ChannelPipeline pipeline = made.pipeline();
        if (secure != null) {
            pipeline.addLast(secure.newHandler(made.alloc(), settings.url.getHost(), settings.url.getPort()));
        }
        if (web) {
            WebSocketClientProtocolConfig config = WebSocketClientProtocolConfig.newBuilder()
                .webSocketUri(settings.url).maxFramePayloadLength(MESSAGE_MAX).build();
            pipeline.addLast(new HttpClientCodec(), new HttpObjectAggregator(8192),
                new WebSocketClientProtocolHandler(config), new WebSocketFrameAggregator(MESSAGE_MAX));
        }
        pipeline.addLast(talk);
    }

    /** The end of the pipeline of one connection: takes the times of its phases, and its replies. */
    private final class Talk extends ChannelInboundHandlerAdapter {
        private final CompletableFuture<Void> opened;
        private final boolean counts;
        private long before;
        /** TCP: the received length of the reply. */
        private int length;

        Talk(CompletableFuture<Void> opened, boolean counts) {
            this.opened = opened;
            this.counts = counts;
        }

        /** The pipeline is built: connecting is next. */
        @Override
        public void handlerAdded(ChannelHandlerContext context) {
            before = System.nanoTime();
        }

        /** Called before any handler learns of it, TLS included. */
        void connected() {
            phase(connects);
            if (!web) {
                opened.complete(null);
            }
        }

        @Override
        public void userEventTriggered(ChannelHandlerContext context, Object event) {
            if (event instanceof SslHandshakeCompletionEvent done && done.isSuccess()) {
                phase(tls);
            } else if (event == ClientHandshakeStateEvent.HANDSHAKE_COMPLETE) {
                phase(handshakes);
                opened.complete(null);
            }
        }

        @Override
        public void channelRead(ChannelHandlerContext context, Object message) {
            try {
                if (!awaiting) {
                    error(new IOException("a message that nobody asked for"));
                } else if (message instanceof WebSocketFrame frame) {
                    boolean kind = frame instanceof TextWebSocketFrame == settings.text;
                    replied(kind && ByteBufUtil.equals(frame.content(), expect));
                } else {
                    part((ByteBuf) message);
                }
            } finally {
                ReferenceCountUtil.release(message);
            }
        }

        private void part(ByteBuf part) {
            int more = part.readableBytes();
            boolean good = length + more <= settings.expect.length
                && ByteBufUtil.equals(part, part.readerIndex(), expect, length, more);
            length += more;
            if (!good || length == settings.expect.length) {
                length = 0;
                replied(good);
            }
        }

        @Override
        public void channelInactive(ChannelHandlerContext context) {
            exceptionCaught(context, new EOFException("the connection was closed"));
        }

        @Override
        public void exceptionCaught(ChannelHandlerContext context, Throwable cause) {
            if (!opened.isDone()) {
                opened.completeExceptionally(cause);
                context.close();
            } else if (awaiting) {
                failed(cause);
            }
        }

        private void phase(Times times) {
            long now = System.nanoTime();
            if (counts) {
                times.add(now - before);
            }
            before = now;
        }
    }
}
