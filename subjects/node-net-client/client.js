// A TCP client on Node's own net. Replace `Connection` with the library to measure.
'use strict';
const fs = require('fs');
const net = require('net');
const readline = require('readline');

const url = new URL(process.env.WIREBENCH_URL.replace(/^tcp:/, 'http:'));
const connections = Number(process.env.WIREBENCH_CONNECTIONS);
const roundTrips = process.env.WIREBENCH_LIFE === 'long' ? Infinity : Number(process.env.WIREBENCH_LIFE);
const payload = fs.readFileSync(process.env.WIREBENCH_PAYLOAD);
const expected = fs.readFileSync(process.env.WIREBENCH_EXPECT);
const now = () => Number(process.hrtime.bigint());
const cpu = () => {
  const { user, system } = process.cpuUsage();
  return (user + system) * 1000;
};
const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

/** The part to measure: how the library connects, sends, receives and closes. */
class Connection {
  open() {
    return new Promise((resolve, reject) => {
      this.socket = net.connect({ host: url.hostname, port: Number(url.port), noDelay: true });
      this.socket.once('connect', resolve);
      this.socket.on('error', (error) => (reject(error), this.failed?.(error)));
      this.socket.on('close', () => this.failed?.(new Error('the server closed')));
      this.socket.on('data', (data) => {
        this.reply = this.reply.length === 0 ? data : Buffer.concat([this.reply, data]);
        if (this.reply.length >= expected.length) this.arrived?.(this.reply);
      });
    });
  }

  roundTrip() {
    return new Promise((resolve, reject) => {
      this.reply = Buffer.alloc(0);
      this.arrived = resolve;
      this.failed = reject;
      this.socket.write(payload);
    });
  }

  close() {
    return new Promise((resolve) => {
      this.failed = undefined;
      this.socket.once('close', resolve);
      this.socket.end();
    });
  }
}

/** One `run`: a warm-up, a window, and its results. */
class Block {
  constructor(command) {
    const values = Object.fromEntries(command.trim().split(/\s+/).slice(1).map((word) => word.split('=')));
    const number = (name) => (name in values ? Number(values[name]) : undefined);
    this.warmUp = number('warm_up_ns') ?? 0;
    this.time = number('time_ns');
    this.messages = number('messages') ?? Infinity;
    this.clients = number('clients') ?? Infinity;
    this.times = { round_trip_ns: [], life_ns: [], connect_ns: [], close_ns: [] };
    this.errors = new Map();
  }

  async run() {
    if (this.warmUp === 0) this.begin();
    const workers = Promise.all(Array.from({ length: connections }, () => this.work()));
    if (this.warmUp > 0) {
      await Promise.race([workers, pause(this.warmUp / 1e6)]);
      this.begin();
    }
    // The window ends after its time if it has one, else with the last message or client.
    await (this.time === undefined ? workers : Promise.race([workers, pause(this.time / 1e6)]));
    this.end();
    await workers;
    this.tell();
  }

  begin() {
    fs.writeSync(1, 'measuring\n');
    this.cpu = cpu();
    this.start = now();
    this.measures = true;
  }

  end() {
    this.wall = now() - this.start;
    this.cpu = cpu() - this.cpu;
    this.measures = false;
    this.isOver = true;
    fs.writeSync(1, 'measured\n');
  }

  async work() {
    while (!this.isOver && this.clients > 0) {
      this.clients -= 1;
      try {
        await this.live();
      } catch (error) {
        this.errors.set(error.message, (this.errors.get(error.message) ?? 0) + 1);
        await pause(10);
      }
      if (roundTrips === Infinity) return;
    }
  }

  async live() {
    const isMeasured = this.measures;
    let start = now();
    const connection = new Connection();
    await connection.open();
    this.times.connect_ns.push(now() - start);
    let done = 0;
    while (!this.isOver && done < roundTrips) {
      if (this.measures) {
        if (this.messages === 0) break;
        this.messages -= 1;
      }
      const counts = this.measures;
      const sent = now();
      const reply = await connection.roundTrip();
      if (!reply.equals(expected)) throw new Error('a wrong reply');
      done += 1;
      if (counts && this.measures) this.times.round_trip_ns.push(now() - sent);
    }
    if (isMeasured && this.measures && done === roundTrips) this.times.life_ns.push(now() - start);
    start = now();
    await connection.close();
    this.times.close_ns.push(now() - start);
  }

  tell() {
    const lines = [`wall_ns ${this.wall}`, `cpu_ns ${this.cpu}`, `ok ${this.times.round_trip_ns.length}`];
    for (const [words, count] of this.errors) lines.push(`error ${count} ${words}`);
    for (const [name, times] of Object.entries(this.times)) {
      for (let at = 0; at < times.length; at += 1000) lines.push(`${name} ${times.slice(at, at + 1000).join(' ')}`);
    }
    fs.writeSync(1, `${lines.join('\n')}\ndone\n`);
  }
}

fs.writeSync(1, `ready net ${process.versions.node}\n`);
(async () => {
  for await (const line of readline.createInterface({ input: process.stdin })) await new Block(line).run();
})();
