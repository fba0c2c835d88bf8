import java.util.HashMap;
import java.util.Map;
import org.apache.activemq.artemis.api.core.TransportConfiguration;
import org.apache.activemq.artemis.core.config.impl.ConfigurationImpl;
import org.apache.activemq.artemis.core.remoting.impl.netty.NettyAcceptor;
import org.apache.activemq.artemis.core.remoting.impl.netty.NettyAcceptorFactory;
import org.apache.activemq.artemis.core.remoting.impl.netty.TransportConstants;
import org.apache.activemq.artemis.core.server.impl.ActiveMQServerImpl;

/**
 * Apache ActiveMQ Artemis as a broker of STOMP, over TCP and over WebSocket on one port. Chosen: no persistence, no
 * logins, the backlog that is asked for. TCP_NODELAY is its default; destinations are created on first use.
 */
public final class Broker {
    public static void main(String[] arguments) throws Exception {
        ActiveMQServerImpl broker = new ActiveMQServerImpl(new ConfigurationImpl()
            .setPersistenceEnabled(false)
            .setSecurityEnabled(false)
            .setJMXManagementEnabled(false));
        if (arguments.length > 0) {
            System.out.println(broker.getVersion().getFullVersion());
            return;
        }
        ServerSettings settings = new ServerSettings();
        Map<String, Object> options = new HashMap<>();
        options.put(TransportConstants.HOST_PROP_NAME, settings.host.getHostAddress());
        options.put(TransportConstants.PORT_PROP_NAME, settings.port);
        options.put(TransportConstants.PROTOCOLS_PROP_NAME, "STOMP");
        options.put(TransportConstants.BACKLOG_PROP_NAME, settings.backlog);
        broker.getConfiguration()
            .addAcceptorConfiguration(new TransportConfiguration(NettyAcceptorFactory.class.getName(), options, ACCEPTOR));
        Runtime.getRuntime().addShutdownHook(new Thread(() -> Runtime.getRuntime().halt(0)));
        broker.start();
        int port = ((NettyAcceptor) broker.getRemotingService().getAcceptor(ACCEPTOR)).getActualPort();
        settings.ready("tcp", port, "");
        settings.ready("ws", port, "/");
    }

    private static final String ACCEPTOR = "stomp";

    private Broker() {}
}
