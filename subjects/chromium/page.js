// Runs in the page: WebSocket as browsers have it.
"use strict";

const now = () => performance.now() * 1e6;

/** Runs a block with what Node passes: `url`, `connections`, `life`, `isText`, and in Base64 `payload` and `expect`. */
async function runInPage(settings, plan) {
  const { url, isText } = settings;
  const payload = message(settings.payload, isText);
  const expect = message(settings.expect, isText);

  function connect(events) {
    const began = now();
    const socket = new WebSocket(url);
    socket.binaryType = "arraybuffer";
    let isOpen = false;
    socket.onopen = () => {
      isOpen = true;
      events.opened({ open: now() - began });
    };
    socket.onmessage = ({ data }) => events.replied(isSame(data, expect));
    // A page does not learn why.
    socket.onerror = () => events.failed(isOpen ? "the connection broke" : "cannot connect");
    socket.onclose = () => events.closed();
    return { send: () => socket.send(payload), close: () => socket.close(1000) };
  }

  return runBlock(connect, settings, plan, now, window.moment);
}

function message(base64, isText) {
  const bytes = Uint8Array.from(atob(base64), (character) => character.charCodeAt(0));
  return isText ? new TextDecoder().decode(bytes) : bytes;
}

function isSame(data, expect) {
  if (typeof data === "string" || typeof expect === "string") return data === expect;
  const bytes = new Uint8Array(data);
  if (bytes.length !== expect.length) return false;
  for (let at = 0; at < bytes.length; at += 1) if (bytes[at] !== expect[at]) return false;
  return true;
}
