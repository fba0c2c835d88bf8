import java.io.File;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Properties;
import org.apache.pekko.NotUsed;
import org.apache.pekko.stream.javadsl.Flow;
import org.apache.pekko.util.ByteString;
import play.ApplicationLoader;
import play.BuiltInComponentsFromContext;
import play.Environment;
import play.Mode;
import play.api.Play;
import play.api.http.websocket.BinaryMessage;
import play.api.http.websocket.Message;
import play.api.http.websocket.TextMessage;
import play.api.mvc.Handler;
import play.api.mvc.WebSocket;
import play.core.PlayVersion;
import play.core.server.Server;
import play.core.server.ServerConfig;
import play.core.server.ServerProvider;
import play.mvc.EssentialFilter;
import play.mvc.Http;
import play.routing.Router;
import scala.Option;
import scala.concurrent.Future;
import scala.util.Right;

/**
 * A WebSocket echo server on Play, with its Netty back end: a Pekko flow for each connection, as in Play's
 * documentation, that returns each message. It is put together by hand rather than by `Server.forRouter`,
 * which would listen on every address of the machine. Chosen (application.conf): the longest frame, the backlog,
 * TCP_NODELAY.
 */
public final class Echo extends BuiltInComponentsFromContext {
    private final ServerSettings settings;
    private final Message textReply;
    private final Message binaryReply;

    private Echo(ApplicationLoader.Context context, ServerSettings settings) {
        super(context);
        this.settings = settings;
        byte[] reply = settings.reply;
        textReply = reply == null ? null : new TextMessage(new String(reply, StandardCharsets.UTF_8));
        binaryReply = reply == null ? null : new BinaryMessage(ByteString.fromArray(reply));
    }

    public static void main(String[] arguments) throws Exception {
        if (arguments.length > 0) {
            System.out.println(PlayVersion.current());
            return;
        }
        ServerSettings settings = new ServerSettings();
        Environment environment = new Environment(new File("."), Echo.class.getClassLoader(), Mode.PROD);
        Echo echo = new Echo(ApplicationLoader.create(environment, Map.of()), settings);
        play.api.Application application = echo.application().asScala();
        Play.start(application);
        ServerConfig config = ServerConfig.apply(Echo.class.getClassLoader(), environment.rootPath(),
            Option.apply(settings.port), Option.empty(), settings.host.getHostAddress(), Mode.PROD.asScala(),
            new Properties());
        Server server = ServerProvider.defaultServerProvider().createServer(config, application);
        settings.ready("ws", server.mainAddress().getPort(), "/");
    }

    /** The same for every path. */
    @Override
    public Router router() {
        // A flow sees ping, pong and close too. Play has answered those by then.
        Flow<Message, Message, NotUsed> flow = Flow.of(Message.class)
            .filter(message -> message instanceof TextMessage || message instanceof BinaryMessage)
            .map(this::answer);
        WebSocket handler = request -> Future.successful(Right.apply(flow.asScala()));
        return new Router() {
            @Override
            public List<RouteDocumentation> documentation() {
                return List.of();
            }

            @Override
            public Optional<Handler> route(Http.RequestHeader request) {
                return Optional.of(handler);
            }

            @Override
            public Router withPrefix(String prefix) {
                return this;
            }
        };
    }

    @Override
    public List<EssentialFilter> httpFilters() {
        return List.of();
    }

    private Message answer(Message message) {
        settings.work();
        if (textReply == null) {
            return message;
        }
        return message instanceof TextMessage ? textReply : binaryReply;
    }
}
