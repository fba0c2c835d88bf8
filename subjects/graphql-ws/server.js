// GraphQL over WebSocket by graphql-ws: a query `echo`, and a subscription `count` that ends. Operations named `Tenth`
// are refused if their id ends with 9.
"use strict";

const http = require("http");
const { buildSchema, GraphQLError } = require("graphql");
const { WebSocketServer } = require("ws");
const { useServer } = require("graphql-ws/use/ws");
const { host, port, backlog, messageMax, ready } = require("./node/server.js");

const schema = buildSchema(`
  type Query { echo(text: String!): String! }
  type Subscription { count(to: Int!): Int! }
`);
const roots = {
  query: { echo: ({ text }) => text },
  subscription: {
    count: async function* ({ to }) {
      for (let count = 1; count <= to; count += 1) yield { count };
    },
  },
};
// A value returned here is the answer to an operation instead of its result.
const onSubscribe = (_context, id, { operationName }) =>
  operationName === "Tenth" && id.endsWith("9") ? [new GraphQLError("every tenth is refused")] : undefined;

const server = http.createServer();
const sockets = new WebSocketServer({ server, path: "/graphql", maxPayload: messageMax });
useServer({ schema, roots, onSubscribe }, sockets);
server.listen({ host, port, backlog }, () => ready("ws", server.address().port, "/graphql"));
