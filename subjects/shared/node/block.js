// A block of a client subject: connections that each have one message in flight. It runs in Node and in a browser's
// page, and depends on neither: they provide `connect`, `now` and `moment`.
"use strict";

/**
 * Runs a block and returns what it measured.
 *
 * `connect(events)` opens a connection, calls `events.opened(phases)`, `events.replied(isRight)`,
 * `events.failed(words)` and `events.closed()`, and has `send()` and `close()`. `settings`: `connections`, and `life`,
 * the round trips of a connection (0: as many as there are). `plan`: `warm_up_ns` and one of `time_ns`, `messages`,
 * `clients`. `now` is in nanoseconds. `moment("measuring")` and `moment("measured")` are awaited.
 */
async function runBlock(connect, settings, plan, now, moment) {
  const results = { wall: 0, roundTrips: [], lives: [], phases: {}, errors: {} };
  const phase = (name, time) => (results.phases[name] ??= []).push(time);
  const error = (words) => (results.errors[words] = (results.errors[words] ?? 0) + 1);

  // The bounds of the running part of the block, and its progress.
  let bound, sent, begun, busy, allAtRest;
  const { life } = settings;
  const maySend = (time) => sent < bound.messages && (life > 0 || time < bound.end);
  const mayBegin = (time) => sent < bound.messages && begun < bound.clients && time < bound.end;

  const places = Array.from({ length: settings.connections }, () => ({}));

  function open(place) {
    const began = now();
    begun += 1;
    place.sentAt = null;
    place.left = life || Infinity;
    // Once it is lost, its later events mean nothing.
    let isLost = false;
    const events = {
      opened(phases) {
        for (const name in phases) phase(name, phases[name]);
        place.opened();
      },
      replied(isRight) {
        const time = now();
        if (isLost) return;
        if (place.sentAt === null) return error("a message that nobody asked for");
        if (isRight) results.roundTrips.push(time - place.sentAt);
        else error("wrong answer");
        place.sentAt = null;
        if (place.left === 0) results.lives.push(time - began);
        step(place, time);
      },
      failed(words) {
        if (isLost) return;
        isLost = true;
        error(words);
        place.connection = null;
        place.lost();
      },
      closed() {
        if (isLost) return;
        if (place.closedAt === undefined) return events.failed("closed by the server");
        isLost = true;
        phase("close", now() - place.closedAt);
        place.closedAt = undefined;
        place.connection = null;
        place.closed();
      },
    };
    place.connection = connect(events);
  }

  function close(place) {
    place.closedAt = now();
    place.connection.close();
  }

  function step(place, time) {
    if (place.left > 0 && maySend(time)) {
      place.left -= 1;
      sent += 1;
      place.sentAt = now();
      place.connection.send();
    } else if (life > 0) {
      close(place);
    } else {
      rest();
    }
  }

  function rest() {
    busy -= 1;
    if (busy === 0) allAtRest();
  }

  /** Keeps every place busy until `part` is over and nothing is in flight; returns how long that took. */
  async function work(part) {
    const began = now();
    bound = {
      end: part.time_ns === undefined ? Infinity : began + part.time_ns,
      messages: part.messages ?? Infinity,
      clients: part.clients ?? Infinity,
    };
    [sent, begun] = [0, 0];
    const working = life > 0 ? places : places.filter((place) => place.connection);
    busy = working.length;
    if (busy === 0) return 0;
    const over = new Promise((resolve) => (allAtRest = resolve));
    for (const place of working) {
      if (life > 0) begin(place);
      else step(place, now());
    }
    await over;
    return now() - began;
  }

  /** One life after the other in this place; after a failure it stays empty. */
  function begin(place) {
    if (!mayBegin(now())) return rest();
    place.opened = () => step(place, now());
    place.closed = () => begin(place);
    place.lost = rest;
    open(place);
  }

  function openAll() {
    return Promise.all(
      places.map(
        (place) =>
          new Promise((resolve) => {
            place.opened = () => {
              place.lost = () => place.sentAt !== null && rest();
              resolve();
            };
            place.lost = resolve;
            open(place);
          }),
      ),
    );
  }

  function closeAll() {
    const open = places.filter((place) => place.connection);
    return Promise.all(
      open.map(
        (place) =>
          new Promise((resolve) => {
            place.closed = place.lost = resolve;
            close(place);
          }),
      ),
    );
  }

  begun = 0;
  if (life === 0) await openAll();
  if (plan.warm_up_ns > 0 && plan.clients === undefined) await work({ time_ns: plan.warm_up_ns });
  [results.roundTrips, results.lives] = [[], []];
  if (life > 0) results.phases = {};
  await moment("measuring");
  results.wall = await work(plan);
  await moment("measured");
  if (life === 0) await closeAll();
  return results;
}

globalThis.runBlock = runBlock;
