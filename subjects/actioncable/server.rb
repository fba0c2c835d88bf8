# frozen_string_literal: true

# ActionCable on Puma, without the rest of Rails, at /cable: EchoChannel transmits what it was given, and NewsChannel
# broadcasts to all who are subscribed and refuses every tenth id of a connection.
#
# Chosen: no log, requests from any origin, the backlog that is asked for. WebSocket messages may have 64 MiB, the
# default of websocket-driver. Puma sets TCP_NODELAY by itself.

require "action_cable"
require "puma"
require "puma/server"
require "rack"

HOST = ENV.fetch("WIREBENCH_HOST", "127.0.0.1")
PORT = Integer(ENV.fetch("WIREBENCH_PORT", "0"))
BACKLOG = Integer(ENV.fetch("WIREBENCH_BACKLOG", "4096"))

class EchoChannel < ActionCable::Channel::Base
  def echo(data) = transmit(data)
end

class NewsChannel < ActionCable::Channel::Base
  def subscribed = stream_from("news")

  def say(data)
    ActionCable.server.broadcast("news", { "at" => data["at"] })
    transmit({ "said" => data["id"] })
  end

  def tenth(data)
    transmit({ (data["id"] % 10 == 9 ? "refused" : "done") => data["id"] })
  end
end

cable = ActionCable.server
cable.config.cable = { "adapter" => "async" }
cable.config.connection_class = -> { ActionCable::Connection::Base }
cable.config.disable_request_forgery_protection = true
cable.config.logger = Logger.new(nil)

app = Rack::Builder.app do
  map("/cable") { run cable }
end
Signal.trap("TERM") { exit!(0) }
puma = Puma::Server.new(app, Puma::Events.null)
socket = puma.add_tcp_listener(HOST, PORT, true, BACKLOG)
running = puma.run
puts "ready ws://#{HOST}:#{socket.addr[1]}/cable"
$stdout.flush
running.join
