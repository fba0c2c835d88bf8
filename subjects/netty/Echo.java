import io.netty.bootstrap.ServerBootstrap;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.channel.ChannelFutureListener;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.ChannelInitializer;
import io.netty.channel.ChannelOption;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.SimpleChannelInboundHandler;
import io.netty.channel.nio.NioEventLoopGroup;
import io.netty.channel.socket.SocketChannel;
import io.netty.channel.socket.nio.NioServerSocketChannel;
import io.netty.handler.codec.http.DefaultFullHttpResponse;
import io.netty.handler.codec.http.FullHttpRequest;
import io.netty.handler.codec.http.FullHttpResponse;
import io.netty.handler.codec.http.HttpHeaderNames;
import io.netty.handler.codec.http.HttpHeaderValues;
import io.netty.handler.codec.http.HttpMethod;
import io.netty.handler.codec.http.HttpObjectAggregator;
import io.netty.handler.codec.http.HttpResponseStatus;
import io.netty.handler.codec.http.HttpServerCodec;
import io.netty.handler.codec.http.HttpUtil;
import io.netty.handler.codec.http.HttpVersion;
import io.netty.handler.codec.http.websocketx.WebSocketFrame;
import io.netty.handler.codec.http.websocketx.WebSocketFrameAggregator;
import io.netty.handler.codec.http.websocketx.WebSocketServerProtocolConfig;
import io.netty.handler.codec.http.websocketx.WebSocketServerProtocolHandler;
import io.netty.handler.ssl.SslContext;
import io.netty.handler.ssl.SslContextBuilder;
import io.netty.util.Version;
import java.io.File;
import java.net.InetSocketAddress;
import java.util.function.Consumer;

/**
 * An echo server on Netty: `tcp`, `ws` and `http` (POST), and both of these inside TLS on ports of their own. The
 * pipelines are those of Netty's examples: NIO, pooled buffers, HttpServerCodec, HttpObjectAggregator,
 * WebSocketServerProtocolHandler; a received frame goes back without a copy. Chosen: TCP_NODELAY, the backlog and the
 * longest message that are asked for, WebSocketFrameAggregator, so that fragments are echoed as a message.
 */
public final class Echo {
    private final ServerSettings settings;
    private final EventLoopGroup acceptors = new NioEventLoopGroup(1);
    private final EventLoopGroup workers = new NioEventLoopGroup();

    private Echo(ServerSettings settings) {
        this.settings = settings;
    }

    public static void main(String[] arguments) throws Exception {
        if (arguments.length > 0) {
            System.out.println(Version.identify().get("netty-codec-http").artifactVersion());
            return;
        }
        ServerSettings settings = new ServerSettings();
        Echo echo = new Echo(settings);
        int web = echo.listen(settings.port, channel -> echo.web(channel));
        settings.ready("ws", web, "/");
        settings.ready("http", web, "/");
        settings.ready("tcp", echo.listen(0, channel -> channel.pipeline().addLast(echo.new Bytes())), "");
        if (settings.secure()) {
            SslContext tls = SslContextBuilder
                .forServer(new File(settings.certificate), new File(settings.key)).build();
            int secure = echo.listen(0, channel -> {
                channel.pipeline().addLast(tls.newHandler(channel.alloc()));
                echo.web(channel);
            });
            settings.ready("wss", secure, "/");
            settings.ready("https", secure, "/");
        }
    }

    private int listen(int port, Consumer<SocketChannel> pipeline) throws InterruptedException {
        InetSocketAddress bound = (InetSocketAddress) new ServerBootstrap()
            .group(acceptors, workers)
            .channel(NioServerSocketChannel.class)
            .option(ChannelOption.SO_BACKLOG, settings.backlog)
            .childOption(ChannelOption.TCP_NODELAY, true)
            .childHandler(new ChannelInitializer<SocketChannel>() {
                @Override
                protected void initChannel(SocketChannel channel) {
                    pipeline.accept(channel);
                }
            })
            .bind(settings.host, port).sync().channel().localAddress();
        return bound.getPort();
    }

    private void web(SocketChannel channel) {
        WebSocketServerProtocolConfig config = WebSocketServerProtocolConfig.newBuilder()
            .websocketPath("/").checkStartsWith(true).maxFramePayloadLength(settings.messageMax).build();
        channel.pipeline().addLast(
            new HttpServerCodec(),
            new HttpObjectAggregator(settings.messageMax),
            new Posts(),
            new WebSocketServerProtocolHandler(config),
            new WebSocketFrameAggregator(settings.messageMax),
            new Messages());
    }

    /** TCP: echoes what arrives; with a fixed reply, sends as many bytes as arrived. */
    private final class Bytes extends ChannelInboundHandlerAdapter {
        private long owed;

        @Override
        public void channelRead(ChannelHandlerContext context, Object message) {
            ByteBuf bytes = (ByteBuf) message;
            settings.work();
            if (settings.reply == null) {
                context.writeAndFlush(bytes);
                return;
            }
            owed += bytes.readableBytes();
            bytes.release();
            for (; owed >= settings.reply.length; owed -= settings.reply.length) {
                context.write(Unpooled.wrappedBuffer(settings.reply));
            }
            context.flush();
        }

        @Override
        public void exceptionCaught(ChannelHandlerContext context, Throwable cause) {
            context.close();
        }
    }

    /** HTTP: answers a POST; any other request is left to WebSocket, which nothing else comes before from then on. */
    private final class Posts extends SimpleChannelInboundHandler<FullHttpRequest> {
        @Override
        protected void channelRead0(ChannelHandlerContext context, FullHttpRequest request) {
            if (!request.method().equals(HttpMethod.POST)) {
                context.fireChannelRead(request.retain());
                context.pipeline().remove(this);
                return;
            }
            settings.work();
            ByteBuf body =
                settings.reply == null ? request.content().retain() : Unpooled.wrappedBuffer(settings.reply);
            FullHttpResponse response =
                new DefaultFullHttpResponse(HttpVersion.HTTP_1_1, HttpResponseStatus.OK, body);
            response.headers().set(HttpHeaderNames.CONTENT_TYPE, HttpHeaderValues.APPLICATION_OCTET_STREAM);
            response.headers().setInt(HttpHeaderNames.CONTENT_LENGTH, body.readableBytes());
            boolean stays = HttpUtil.isKeepAlive(request);
            HttpUtil.setKeepAlive(response, stays);
            var written = context.writeAndFlush(response);
            if (!stays) {
                written.addListener(ChannelFutureListener.CLOSE);
            }
        }

        @Override
        public void exceptionCaught(ChannelHandlerContext context, Throwable cause) {
            context.close();
        }
    }

    /** WebSocket: text and binary messages; ping and close are answered by Netty. */
    private final class Messages extends SimpleChannelInboundHandler<WebSocketFrame> {
        @Override
        protected void channelRead0(ChannelHandlerContext context, WebSocketFrame frame) {
            settings.work();
            context.writeAndFlush(settings.reply == null
                ? frame.retain()
                : frame.replace(Unpooled.wrappedBuffer(settings.reply)));
        }

        @Override
        public void exceptionCaught(ChannelHandlerContext context, Throwable cause) {
            context.close();
        }
    }
}
